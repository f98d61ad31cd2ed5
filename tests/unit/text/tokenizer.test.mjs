// Tokenizers from GGUF metadata and tokenizer.json against the reference tokenizers (tests/text/make_vocabularies.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { PRE_TOKENIZERS, preTokenizerOf, splitWords } from "../../../build/package/runtime/text/pre_tokenizers.js";
import { tokenizerFromGguf, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { byteLevelMetadata, sentencePieceMetadata, vocabularies } from "../../text/fixtures.mjs";

const { texts, byte_level, sentence_piece, llama_json } = vocabularies;
const plain = { special: false, parseSpecial: false };
const ids = (tokenizer, text, options = plain) => Array.from(tokenizer.encode(text, options));
const config = { bos_token: "<|begin|>", eos_token: { content: "<|im_end|>" } };

for (const [pre, expected] of Object.entries(byte_level.ids)) {
  test(`byte-level, ${pre}: the ids of Hugging Face's tokenizers, which decode to the text`, async () => {
    const tokenizer = await tokenizerFromGguf(byteLevelMetadata(pre));
    texts.forEach((text, i) => {
      assert.deepEqual(ids(tokenizer, text), expected[i], JSON.stringify(text));
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    });
  });
}

test("SentencePiece: the ids of sentencepiece, with and without a space before the text", async () => {
  const withPrefix = await tokenizerFromGguf(sentencePieceMetadata());
  const without = await tokenizerFromGguf(sentencePieceMetadata({ "tokenizer.ggml.add_space_prefix": false }));
  texts.forEach((text, i) => {
    assert.deepEqual(ids(withPrefix, text), sentence_piece.ids[i], JSON.stringify(text));
    assert.deepEqual(ids(without, text), sentence_piece.ids_without_prefix[i], JSON.stringify(text));
    for (const tokenizer of [withPrefix, without]) assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
  });
});

test("SentencePiece: tokens may cross the end of a word", async () => {
  const tokens = ["<unk>", "<s>", "</s>", "a", "b", "▁", "a▁b", "▁b"];
  const scores = [0, 0, 0, 0, 0, 0, -1, -2];
  const metadata = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.scores": scores,
  };
  const tokenizer = await tokenizerFromGguf({ ...metadata, "tokenizer.ggml.token_type": [2, 3, 3, 1, 1, 1, 1, 1] });
  assert.deepEqual(ids(tokenizer, "a b"), [5, 6]); // merges "▁b" first, then "a▁b"
  assert.deepEqual(ids(tokenizer, "b?"), [7, 0]); // the unknown token, as this vocabulary has no byte tokens
});

test("some pre-tokenizers look up whole words before merging", async () => {
  const tokens = ["a", "b", "c", "abc", "<", "<a>", "<a>b"];
  const metadata = { "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": [] };
  const types = { "tokenizer.ggml.token_type": [1, 1, 1, 1, 1, 3, 3] };
  const encode = async (pre, text) => {
    const tokenizer = await tokenizerFromGguf({ ...metadata, ...types, "tokenizer.ggml.pre": pre });
    return Array.from(tokenizer.encode(text));
  };
  await assert.rejects(encode("llama-bpe", ""), { code: "INVALID_FILE", field: "tokenizer.ggml.bos_token_id" });
  Object.assign(metadata, { "tokenizer.ggml.add_bos_token": false });
  assert.deepEqual(await encode("llama-bpe", "abc"), [3]);
  assert.deepEqual(await encode("qwen2", "abc"), [0, 1, 2]);
  assert.deepEqual(await encode("qwen2", "<a>bc<a>c"), [6, 2, 5, 2]); // the longest of several matching special tokens
});

test("words: \\s is Unicode White_Space, and words concatenate to the text", () => {
  const words = (name, text) => splitWords(text, preTokenizerOf(name));
  assert.deepEqual(words("qwen2", "x\u0085\u0085y\ufeff\ufeff."), ["x", "\u0085", "\u0085y", "\ufeff\ufeff."]);
  assert.deepEqual(words("falcon", "12345 a+=b!"), ["123", "45", " a", "+=", "b", "!"]);
  assert.deepEqual(words("default", "1234 a"), ["123", "4", " a"]);
  assert.deepEqual(words("viking", "ab12, c"), ["ab", "1", "2", ",", " c"]);
  const others = PRE_TOKENIZERS.filter((name) => name !== "mmbert"); // metaspace_words.test.mjs: it adds spaces
  for (const name of others) for (const text of texts) assert.equal(words(name, text).join(""), text);
});

test("tokenizer.json: ids and texts of Hugging Face's tokenizers", async () => {
  const tokenizer = await tokenizerFromJson(byte_level.tokenizer_json, config);
  texts.forEach((text, i) => {
    assert.deepEqual(ids(tokenizer, text), byte_level.ids.qwen2[i], JSON.stringify(text));
    assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
  });
  const llama = await tokenizerFromJson(llama_json.tokenizer_json, { bos_token: "<s>", eos_token: "</s>" });
  texts.forEach((text, i) => {
    assert.deepEqual(ids(llama, text, {}), llama_json.ids[i], JSON.stringify(text));
    assert.equal(llama.decode(llama_json.ids[i]), llama_json.decoded[i]);
    assert.equal(llama.decode(llama_json.ids[i], { skipSpecial: false }), llama_json.decoded_whole[i]);
  });
});

test("special tokens in a text, recognized or not", async () => {
  const fromJson = await tokenizerFromJson(byte_level.tokenizer_json, config);
  const fromGguf = await tokenizerFromGguf(byteLevelMetadata("qwen2", { "tokenizer.ggml.add_bos_token": true }));
  for (const tokenizer of [fromJson, fromGguf]) {
    assert.equal(tokenizer.addsBegin, true);
    for (const { text, ids: expected, plain: unrecognized, decoded, decoded_whole } of byte_level.marked) {
      assert.deepEqual(ids(tokenizer, text, {}), expected, text);
      assert.deepEqual(ids(tokenizer, text), unrecognized, text);
      assert.equal(tokenizer.decode(expected), decoded);
      assert.equal(tokenizer.decode(expected, { skipSpecial: false }), decoded_whole);
    }
  }
});

test("SentencePiece: special tokens, each followed by an added space", async () => {
  const tokenizer = await tokenizerFromGguf(sentencePieceMetadata());
  const text = "rope</s>yarn<|end|> strand";
  const tokens = tokenizer.encode(text);
  assert.equal(tokens[0], 1);
  assert.ok(tokens.includes(2) && tokens.includes(tokenizer.idOf("<|end|>")));
  assert.equal(tokenizer.decode(tokens.subarray(1), { skipSpecial: false }), text);
  assert.equal(tokenizer.decode(tokens), "ropeyarn strand");
  assert.equal(tokenizer.decode(tokenizer.encode("rope", { special: false }), { continues: true }), " rope");
});

test("properties of a tokenizer", async () => {
  const fromGguf = await tokenizerFromGguf(byteLevelMetadata("qwen2"));
  const fromJson = await tokenizerFromJson(byte_level.tokenizer_json, config, { eos_token_id: [1, 2] });
  for (const tokenizer of [fromGguf, fromJson]) {
    const end = tokenizer.idOf("<|im_end|>");
    assert.equal(tokenizer.vocabularySize, byteLevelMetadata("qwen2")["tokenizer.ggml.tokens"].length);
    assert.equal(tokenizer.beginToken, tokenizer.idOf("<|begin|>"));
    assert.equal(tokenizer.token(end), "<|im_end|>");
    assert.deepEqual(
      [end, tokenizer.idOf("<tool>"), tokenizer.idOf("a")].map((id) => tokenizer.isSpecial(id)),
      [true, false, false],
    );
    assert.equal(tokenizer.idOf("no such token"), undefined);
  }
  assert.deepEqual(fromGguf.endTokens, [fromGguf.idOf("<|im_end|>")]);
  assert.deepEqual(fromJson.endTokens, [1, 2]);
  assert.equal(fromGguf.addsBegin, false);
});

test("tokens that end a generation are found by their text, except <|end|> where it ends only a message", async () => {
  const tokens = ["<unk>", "<s>", "</s>", "a", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<EOT>"];
  const metadata = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.scores": tokens.map(() => 0),
    "tokenizer.ggml.token_type": [2, 3, 3, 1, 4, 3, 1, 1, 1],
  };
  assert.deepEqual((await tokenizerFromGguf(metadata)).endTokens, [2, 4, 5]); // "<EOT>" as a normal token is text
  const harmony = { ...metadata, "tokenizer.ggml.token_type": [2, 3, 3, 1, 3, 3, 3, 3, 3] };
  assert.deepEqual((await tokenizerFromGguf(harmony)).endTokens, [2, 4, 6, 7, 8]);
  const named = {
    ...metadata,
    "tokenizer.ggml.eos_token_id": 5,
    "tokenizer.ggml.eot_token_id": 4n,
    "tokenizer.ggml.eom_token_id": 3,
  };
  assert.deepEqual((await tokenizerFromGguf(named)).endTokens, [5, 4, 3, 2]);
});

test("BOS and EOS tokens are added as the file says", async () => {
  const tokenizer = await tokenizerFromGguf(byteLevelMetadata("llama-bpe", { "tokenizer.ggml.add_eos_token": true }));
  const [begin, end] = [tokenizer.beginToken, tokenizer.endTokens[0]];
  assert.deepEqual(ids(tokenizer, "", {}), [begin, end]);
  const none = await tokenizerFromGguf(byteLevelMetadata("llama-bpe", { "tokenizer.ggml.add_bos_token": false }));
  assert.deepEqual(ids(none, "", {}), []);
});

test("only tokenizer.json decides which tokens are added, as in transformers 5.24", async () => {
  const begin = byte_level.tokenizer_json.added_tokens.find(({ content }) => content === "<|begin|>").id;
  for (const more of [{}, { add_bos_token: false }, { add_eos_token: true }]) {
    assert.deepEqual(ids(await tokenizerFromJson(byte_level.tokenizer_json, { ...config, ...more }), "", {}), [begin]);
  }
});

test("Phi-3's special tokens remove the whitespace after them", async () => {
  const tokenizer = await tokenizerFromGguf(byteLevelMetadata("qwen2", { "general.name": "Phi-3 mini" }));
  assert.deepEqual(ids(tokenizer, "<|im_end|>\n a", {}), ids(tokenizer, "<|im_end|>a", {}));
});

test("lone surrogates become U+FFFD, and a byte order mark is kept", async () => {
  for (const tokenizer of [
    await tokenizerFromGguf(byteLevelMetadata("qwen2")),
    await tokenizerFromGguf(sentencePieceMetadata()),
  ]) {
    assert.equal(tokenizer.decode(tokenizer.encode("a\ud800b\udc00")), "a\ufffdb\ufffd");
    assert.equal(tokenizer.decode(tokenizer.encode("\ufeffa\ufeff\0")), "\ufeffa\ufeff\0");
  }
});

test("invalid texts and tokens are rejected", async () => {
  const tokenizer = await tokenizerFromGguf(byteLevelMetadata("qwen2"));
  for (const text of [7, undefined, "漢".repeat(5e6)]) {
    assert.throws(() => tokenizer.encode(text), { code: "INVALID_ARGUMENT", field: "text" });
  }
  for (const id of [-1, 1.5, tokenizer.vocabularySize, NaN, "a"]) {
    assert.throws(() => tokenizer.decode([id]), { code: "INVALID_ARGUMENT", field: "tokens" });
    assert.throws(() => tokenizer.token(id), { code: "INVALID_ARGUMENT", field: "tokens" });
  }
});

const added = JSON.parse(readFileSync(new URL("../../text/added_tokens.json", import.meta.url), "utf8"));
for (const [name, golden] of Object.entries(added.tokenizers)) {
  test(`added tokens of a tokenizer.json, ${name}: ids and texts of Hugging Face's tokenizers`, async () => {
    const tokenizer = await tokenizerFromJson(golden.json);
    added.texts.forEach((text, i) => {
      const shown = JSON.stringify(text);
      assert.deepEqual(ids(tokenizer, text, { special: false }), golden.ids[i], shown);
      assert.deepEqual(ids(tokenizer, text), golden.plain[i], `${shown} as plain text`);
      assert.equal(tokenizer.decode(golden.ids[i]), golden.decoded[i], shown);
      assert.equal(tokenizer.decode(golden.ids[i], { skipSpecial: false }), golden.decoded_whole[i], shown);
    });
  });
}

test("tokenizer.json: a Split that merges its matches with what is before them", async () => {
  const split = { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  const tokenizer = await tokenizerFromJson({
    pre_tokenizer: { type: "Sequence", pretokenizers: [split, bytes] },
    model: { type: "BPE", vocab: { Ġ: 0, a: 1, aĠ: 2 }, merges: ["a Ġ"] },
  });
  assert.deepEqual(ids(tokenizer, "a a"), [2, 1]); // tokenizers 0.23.3
});
