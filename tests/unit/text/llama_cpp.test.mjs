// What GGUF tokenizers do as llama.cpp does. Hashes of its ids are in tests/text/llama_cpp_ids.json (tests/text/make_llama_cpp_ids.py).
// Released vocabularies are in tests/released.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { PRE_TOKENIZERS, preTokenizerOf, splitWords } from "../../../build/package/runtime/text/pre_tokenizers.js";
import { encodeChat, tokenizerFromGguf, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { byteLevelMetadata, sentencePieceMetadata, vocabularies } from "../../text/fixtures.mjs";

const hashes = JSON.parse(readFileSync(new URL("../../text/llama_cpp_ids.json", import.meta.url), "utf8"));
const texts = vocabularies.texts.filter((text) => text !== "");
const key = (name) => `tokenizer.ggml.${name}`;
const encode = (tokenizer, text, options = { special: false }) => Array.from(tokenizer.encode(text, options));

test("every pre-tokenizer of llama.cpp is known, with its ids", async () => {
  for (const [name, row] of Object.entries(hashes)) {
    assert.ok(PRE_TOKENIZERS.includes(name), name);
    const tokenizer = await tokenizerFromGguf(byteLevelMetadata(name));
    for (const [i, text] of texts.entries()) {
      const ids = JSON.stringify(encode(tokenizer, text, { special: false, parseSpecial: false }));
      const hash = createHash("sha256").update(ids).digest("hex").slice(0, 6);
      assert.equal(hash, row.slice(6 * i, 6 * i + 6), `${name}: ${JSON.stringify(text)}`);
    }
  }
});

test("classes of characters are those of Unicode 16, whatever version the engine has", () => {
  const words = (name, text) => splitWords(text, preTokenizerOf(name));
  // letters since Unicode 16, digits since 16, and letters only since 17
  assert.deepEqual(words("qwen2", "a\u1c89\ua7cb 𞗐b"), ["a\u1c89\ua7cb", " 𞗐b"]);
  assert.deepEqual(words("llama-bpe", "\u{10d40}\u{10d41}\u{10d42}\u{10d43}"), [
    "\u{10d40}\u{10d41}\u{10d42}",
    "\u{10d43}",
  ]);
  assert.deepEqual(words("qwen2", "a.\u{10940}"), ["a", ".\u{10940}"]);
  assert.deepEqual(words("gpt-2", "a\u{10940}"), ["a", "\u{10940}"]);
});

test("digits are grouped from the end, as the models' own patterns do", () => {
  const words = (name, text) => splitWords(text, preTokenizerOf(name));
  assert.deepEqual(words("afmoe", "12345678 1"), ["12", "345", "678", " ", "1"]);
  assert.deepEqual(words("superbpe", "a1234567"), ["a", "1", "234", "567"]);
  assert.deepEqual(words("tiny_aya", "1234, 1234a"), ["1", "234", ",", " ", "123", "4", "a"]);
  assert.equal(words("tiny_aya", "1".repeat(1 << 14)).length, Math.ceil((1 << 14) / 3));
});

function gguf(tokens, types, more) {
  const metadata = { [key("model")]: "gpt2", [key("pre")]: "qwen2", [key("tokens")]: tokens, [key("merges")]: [] };
  return tokenizerFromGguf({ ...metadata, [key("token_type")]: types, ...more });
}

test("of overlapping special tokens the longest is found first, wherever it is", async () => {
  const tokens = ["a", "b", "c", "d", "ab", "bcd", "<", ">"];
  const tokenizer = await gguf(tokens, [1, 1, 1, 1, 3, 4, 1, 1]);
  assert.deepEqual(encode(tokenizer, "abcd"), [0, 5]); // leftmost would be "ab"
  assert.deepEqual(encode(tokenizer, "ababcdab"), [4, 0, 5, 4]);
  assert.deepEqual(encode(tokenizer, "abbcd", { special: false, parseSpecial: false }), [0, 1, 5]);
});

test("a user-defined token with the text of a control token is a control token", async () => {
  const tokens = ["<", "|", "i", "m", "_", "e", "n", "d", ">", "<|im_end|>", "<|fim_prefix|>", "<tool>"];
  const tokenizer = await gguf(tokens, [...Array(9).fill(1), 4, 4, 4]);
  assert.deepEqual(
    [9, 10, 11].map((id) => tokenizer.isSpecial(id)),
    [true, true, false],
  );
  assert.deepEqual(encode(tokenizer, "<|im_end|>"), [9]);
  assert.deepEqual(
    encode(tokenizer, "<|im_end|>", { special: false, parseSpecial: false }),
    [0, 1, 2, 3, 4, 5, 6, 7, 1, 8],
  );
});

test("empty tokens get a name, and merges may name pieces that aren't tokens", async () => {
  const tokens = ["a", "b", "", "abc", "c"];
  const merges = ["a b", "nospace", "b c", "b c", "ab c", "c x"];
  const tokenizer = await gguf(tokens, [1, 1, 1, 1, 1], { [key("merges")]: merges });
  assert.equal(tokenizer.token(2), "[EMPTY_2]");
  assert.deepEqual(encode(tokenizer, "abc"), [3]);
  assert.deepEqual(encode(tokenizer, "abé"), [0, 1]); // "ab" is no token, and neither are the bytes of é
  // the first of two equal merges counts
  const twice = await gguf(["a", "b", "c", "ab", "bc"], [1, 1, 1, 1, 1], { [key("merges")]: ["a b", "b c", "a b"] });
  assert.deepEqual(encode(twice, "abc"), [3, 2]);
});

test("Gemma 4: merges of characters, byte tokens, and a begin token that the file can't turn off", async () => {
  const tokens = ["<bos>", "▁", "a", "b", "▁a", "\n", "\n\n", "<0xC3>", "<0xA9>", "ab"];
  const more = { [key("merges")]: ["▁ a", "a b"], [key("bos_token_id")]: 0, [key("add_bos_token")]: false };
  const types = [3, 1, 1, 1, 1, 1, 1, 6, 6, 1];
  for (const model of [{ [key("model")]: "gemma4" }, { [key("pre")]: "gemma4" }]) {
    const tokenizer = await gguf(tokens, types, { ...more, ...model });
    assert.deepEqual(encode(tokenizer, " a ab\n\né"), [4, 4, 3, 6, 7, 8]);
    assert.deepEqual(encode(tokenizer, "", {}), [0]);
    assert.equal(tokenizer.decode([4, 4, 3, 6, 7, 8]), " a ab\n\né");
  }
});

test("Phi-3's special tokens remove only ASCII whitespace", async () => {
  const tokenizer = await tokenizerFromGguf(sentencePieceMetadata({ "general.name": "phi3" }));
  const after = (text) => encode(tokenizer, `<|end|>${text}a`).length - encode(tokenizer, "<|end|>a").length;
  assert.deepEqual(
    [" \t\n\v\f\r", "\ufeff", "\u0085", "\u00a0"].map((text) => after(text) > 0),
    [false, true, true, true],
  );
});

test("a file without a tokenizer", async () => {
  for (const model of ["none", "no_vocab"])
    await assert.rejects(tokenizerFromGguf({ [key("model")]: model }), {
      code: "UNSUPPORTED_MODEL",
      field: key("model"),
    });
});

test("a chat begins with the begin token once, whether or not the template writes it", async () => {
  const begins = await tokenizerFromGguf(byteLevelMetadata("qwen2", { [key("add_bos_token")]: true }));
  const plain = await tokenizerFromGguf(byteLevelMetadata("qwen2"));
  const rope = encode(plain, "rope");
  for (const text of ["rope", "<|begin|>rope"])
    assert.deepEqual(Array.from(encodeChat(begins, text)), [begins.beginToken, ...rope]);
  assert.deepEqual(Array.from(encodeChat(plain, "rope")), rope);
  // as in transformers, tokenizer.json leaves it to the template
  const json = await tokenizerFromJson(vocabularies.byte_level.tokenizer_json, { bos_token: "<|begin|>" });
  assert.equal(json.addsBegin, true);
  assert.deepEqual(Array.from(encodeChat(json, "rope")), rope);
});
