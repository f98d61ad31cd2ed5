// Tokenizers encode in steps: what they know of a text's length before its end is true, and long words take time in proportion to them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { withOrderedMarks } from "../../../build/package/runtime/text/components/canonical_order.js";
import { tokenizerFromGguf, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { byteLevelMetadata, sentencePieceMetadata, vocabularies } from "../../text/fixtures.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"));
const { tokenizers: encoders, sentence_piece: unigram } = read("text/encoder_vocabularies.json");
const { cases: pipelines } = read("golden/random/tokenizer_pipelines.json");
const filled = (file) => JSON.parse(JSON.stringify(file).replaceAll('"MAP"', JSON.stringify(unigram.charsmap)));

let state = 20261127;
const below = (limit) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % limit;
};

/** A text with few or many different characters, most of them in one word of up to `longest` pieces. */
function textOf(longest) {
  const pieces = ["a", "e", "t", "rope", "the", "yarn", "é", "縄", "\u0301", "\u0316", "▁", "#", "1", "😀", "ß", "Ω"];
  const used = pieces.slice(below(pieces.length)).slice(0, 1 + below(8));
  let text = ["", "a ", "the rope\n", "<|im_start|>"][below(4)];
  for (let left = longest >> below(6); left > 0; left--) text += used[below(used.length)];
  return text + [" end", "", "\n"][below(3)];
}

/** All steps, with their number. */
function finished(generator) {
  for (let steps = 1; ; steps++) {
    const { done, value } = generator.next();
    if (done === true) return { ...value, steps };
  }
}

/** What a tokenizer knows of a text under a limit is true. */
function checkLimits(tokenizer, text) {
  const whole = Array.from(tokenizer.encode(text, { special: false }));
  const far = 1 + below(2 * whole.length + 2);
  const refused = finished(tokenizer.encodeSteps([text], { special: false }, { tokens: far, cuts: false }));
  assert.ok(refused.least <= whole.length, `${refused.least} of ${whole.length}`);
  if (refused.isWhole) assert.deepEqual(Array.from(refused.ids), whole);
  else assert.ok(refused.least > 65_536 && refused.least > 4 * far);
  const tokens = 1 + below(whole.length + 2);
  const cut = finished(tokenizer.encodeSteps([text], { special: false }, { tokens, cuts: true }));
  assert.deepEqual(Array.from(cut.ids.slice(0, tokens)), whole.slice(0, tokens));
  assert.equal(cut.ids.length > tokens, whole.length > tokens);
}

test("limits: the number of tokens that a text has at least, and its first tokens, for drawn tokenizers and texts", async () => {
  const all = [
    ...["default", "llama-bpe", "qwen2", "gpt-4o"].map((pre) => tokenizerFromGguf(byteLevelMetadata(pre))),
    tokenizerFromGguf(sentencePieceMetadata()),
    tokenizerFromJson(vocabularies.llama_json.tokenizer_json),
    ...Object.values(encoders).map(({ json }) => tokenizerFromJson(json)),
  ];
  for (const tokenizer of await Promise.all(all)) for (let i = 0; i < 2; i++) checkLimits(tokenizer, textOf(90_000));
  let drawn = 0;
  for (const { file } of pipelines.filter((_, i) => i % 8 === 0)) {
    const tokenizer = await tokenizerFromJson(filled(file));
    const text = textOf(70_000);
    try {
      tokenizer.encode(text);
    } catch (error) {
      assert.match(error.message, /too long|no token|vocabulary/);
      continue;
    }
    checkLimits(tokenizer, text);
    drawn += 1;
  }
  assert.ok(drawn > pipelines.length / 16, `${drawn} of ${pipelines.length}`);
});

test("a text far over a limit isn't merged", async () => {
  const accents = "\u0301".repeat(1_200_000);
  for (const made of [
    tokenizerFromGguf(byteLevelMetadata("llama-bpe")),
    tokenizerFromGguf(sentencePieceMetadata()),
    tokenizerFromJson(vocabularies.byte_level.tokenizer_json),
    tokenizerFromJson(vocabularies.llama_json.tokenizer_json),
  ]) {
    const tokenizer = await made;
    const { steps, isWhole, least } = finished(
      tokenizer.encodeSteps([accents], undefined, { tokens: 1000, cuts: false }),
    );
    assert.ok(!isWhole && least > 65_536 && steps < 8, `${steps} steps, ${least}`);
  }
});

test("long runs of marks have the order of the engine's normalization", () => {
  const marks = [];
  for (let code = 0x300; code < 0x20000; code++)
    if (/\p{M}/u.test(String.fromCodePoint(code))) marks.push(String.fromCodePoint(code));
  for (let i = 0; i < 600; i++) {
    const used = i % 2 === 0 ? marks : Array.from({ length: 2 + below(12) }, () => marks[below(marks.length)]);
    let text = "a";
    for (let left = 60 + below(300); left > 0; left--)
      text += below(100) === 0 ? ["é", "가", "x"][below(3)] : used[below(used.length)];
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
      const ordered = withOrderedMarks(text, form.startsWith("NFK") ? "NFKD" : "NFD");
      assert.equal(ordered.normalize(form), text.normalize(form));
    }
  }
});
