// Classes of characters that ignore case, as Oniguruma reads them. The words are those of Hugging Face's tokenizers 0.23.
import assert from "node:assert/strict";
import test from "node:test";
import { tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";

/** The words of a Split that isolates the matches of a pattern. */
async function wordsOf(pattern, text, words) {
  const vocab = Object.fromEntries(["<unk>", ...new Set(words)].map((word, id) => [word, id]));
  const tokenizer = await tokenizerFromJson({
    version: "1.0",
    added_tokens: [],
    pre_tokenizer: { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
    model: { type: "WordLevel", vocab, unk_token: "<unk>" },
  });
  return Array.from(tokenizer.encode(text), (id) => Object.keys(vocab)[id]);
}

for (const [pattern, text, ...words] of [
  // one character is tried before several that are the same
  ["(?i:[k-sß])", "SS", "S", "S"],
  ["(?i:[ß])", "SS", "SS"],
  ["(?i:[sß])x", "ssx", "ssx"],
  // several characters may be the same as one of a name or of an inner class
  ["(?i:[[ß]])", "SS", "SS"],
  ["(?i:[\\P{ASCII}])", "axfi", "ax", "fi"],
  ["(?i:\\P{ASCII})", "axfi", "axfi"],
  ["(?i:[\\p{Ll}&&[^a-z]])", "SS", "S", "S"],
  // case is ignored once, of the whole class, before it is negated
  ["(?i:[\\p{L}&&[^e]])", "e-E", "e", "-", "E"],
  ["(?i:[^[^e]])", "eEx", "eEx"],
  ["(?i:[^e])", "eEx", "eE", "x"],
  // all that are the same as several characters are the same as each other
  ["(?i:[\u1fd3])", "x\u0390x", "x", "\u0390", "x"],
  ["(?i:\ufb05)", "x\ufb06x", "x", "\ufb06", "x"],
])
  test(`${pattern} in ${text}`, async () => {
    assert.deepEqual(await wordsOf(pattern, text, words), words);
  });
