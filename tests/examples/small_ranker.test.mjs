// The small ranker's files, what it adds to the small encoder, and what its pages say about it.
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { load } from "ropewalk";
import { measure } from "../../examples/small_ranker/evaluate.mjs";
import {
  answersAbout,
  collectionFor,
  FACTS,
  MAX_PARAGRAPHS,
  queriesAbout,
} from "../../examples/small_encoder/paragraphs.mjs";
import { read, root } from "./guide_page.mjs";

const folder = join(root, "examples", "small_ranker/");
const SEED = 950_000_000; // neither trained nor evaluated on

/** CrossEncoder of sentence-transformers 6.2.0 with transformers 5.23.0, from the same folder, in f32. */
const EXPECTED = {
  query: "The red ball is in the cellar.",
  documents: [
    "Anna likes red. The red ball is in the hall.",
    "The blue ball is in the cellar. Ben sings.",
    "The gold key is in the attic. The red ball is in the cellar.",
    "Anna and Ben sing.",
  ],
  scores: [3.5924589610658586e-5, 6.480689080490265e-6, 0.9999614953994751, 7.988639481482096e-6],
};

test("a collection has the facts of several searches, and their answers are in their paragraphs", () => {
  const { paragraphs, facts } = collectionFor({ seed: SEED, searches: 3, length: 60 });
  assert.deepEqual([paragraphs.length, facts.length], [3 * MAX_PARAGRAPHS, 3 * MAX_PARAGRAPHS * FACTS]);
  for (const fact of facts) {
    assert.equal(answersAbout(fact).length, queriesAbout(fact).length);
    for (const answer of answersAbout(fact)) assert.ok(paragraphs[fact.paragraph].includes(answer));
  }
  // a thing is in each search, so a question has several answers, and a statement rarely has
  const [{ thing }] = facts;
  assert.equal(facts.filter((fact) => fact.thing === thing).length, 3);
});

describe("the ranker", () => {
  test("is small, and says what it is", async () => {
    const { size } = await stat(join(folder, "model.safetensors"));
    assert.ok(size < 1e6, `${size} bytes`);
    const { parameters, ranks, contextLength } = await (await load()).modelInfo(folder);
    assert.deepEqual([ranks, contextLength], [true, 128]);
    assert.match(
      await read("examples/small_ranker/README.md"),
      new RegExp(`${parameters.toLocaleString("en")} weights`),
    );
  });

  test("has the scores of sentence-transformers", async () => {
    const model = await (await load()).model(folder);
    try {
      const ranked = await model.rank(EXPECTED.query, EXPECTED.documents);
      for (const { index, score } of ranked)
        assert.ok(Math.abs(score - EXPECTED.scores[index]) < 1e-5, `${score} instead of ${EXPECTED.scores[index]}`);
    } finally {
      model.dispose();
    }
  });

  test("puts what answers a query first, and more so than the vectors", async () => {
    const { question, thing, statement } = await measure(await load(), 24, 10);
    for (const { before, after } of [question, thing]) assert.ok(after.mrr >= before.mrr - 0.05, `${after.mrr}`);
    assert.ok(statement.before.mrr < 0.5, `${statement.before.mrr}`);
    assert.ok(statement.after.mrr > 0.85, `${statement.after.mrr}`);
  });
});
