// all-MiniLM-L6-v2 as sentence-transformers saves it: config, safetensors and tokenizer.json.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { load } from "ropewalk";
import { released } from "./files.mjs";
import { ask } from "./reference.mjs";

const root = join(import.meta.dirname, "..", "..");

/** Sentences of several languages, an empty text, and paragraphs of this project's pages, some longer than the model reads. */
const TEXTS = [
  "",
  "rope",
  "How do I extend a model's context?",
  "A QUESTION IN CAPITALS, with   spaces\tand\nlines?",
  "Les câbles sont commis dans une corderie.",
  "Årets tågvirke slås på repbanan.",
  "縄を綯う場所は長い小屋です。",
  "Где вьют верёвки? 🪢",
  ..."README.md docs/rope_and_yarn_from_zero.md docs/embeddings.md CHANGELOG.md"
    .split(" ")
    .flatMap((name) => paragraphs(readFileSync(join(root, name), "utf8"))),
];

/** Some short paragraphs of a page, a longer piece of it, and one that is longer than the model reads. */
function paragraphs(page) {
  return [...page.split(/\n{2,}/).slice(1, 12), page.slice(500, 1300), page.slice(0, 6000)];
}

// f32 against f32: what torch and this package round differently. 1.7e-7 was seen.
const LIMIT = 1e-5;

test(`${TEXTS.length} vectors within 1e-5 of sentence-transformers'`, { timeout: 600_000 }, async (t) => {
  const { vectors } = await ask("minilm_vectors.py", TEXTS, released.minilm);
  const rw = await load({ threads: 1 });
  const model = await rw.model(released.minilm);
  const ours = await model.embed(TEXTS, { truncate: true }); // as sentence-transformers does without a word
  let largest = 0;
  for (const [i, vector] of vectors.entries()) {
    assert.equal(ours[i].length, vector.length);
    for (const [at, value] of vector.entries()) largest = Math.max(largest, Math.abs(value - ours[i][at]));
  }
  t.diagnostic(`largest difference: ${largest.toExponential(2)}`);
  assert.ok(largest < LIMIT, `${largest}`);
  // the same order of texts for a query
  const nearest = (rows) => rows.slice(3).map((row) => row.reduce((sum, value, at) => sum + value * rows[2][at], 0));
  const rank = (scores) => scores.map((score, i) => [score, i]).sort(([a], [b]) => b - a)[0][1];
  assert.equal(rank(nearest(ours)), rank(nearest(vectors)));
  model.dispose();
});
