// The small encoder's files, and what its pages say about them.
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { load } from "ropewalk";
import { MAX_PARAGRAPHS, paragraphsFor, questionAbout } from "../../examples/small_encoder/paragraphs.mjs";
import { words } from "../../examples/small_model/stories.mjs";
import { read, root } from "./guide_page.mjs";

const folder = join(root, "examples", "small_encoder/");
const SEED = 950_000_000; // neither trained nor evaluated on

describe("paragraphs", () => {
  test("a seed always gives the same, of the wanted length", () => {
    const options = { seed: SEED, count: 8, length: 100 };
    const { paragraphs } = paragraphsFor(options);
    assert.deepEqual(paragraphsFor(options).paragraphs, paragraphs);
    for (const text of paragraphs) {
      const count = words(text).length;
      assert.ok(count >= 100 && count <= 108, `${count} words`);
    }
  });

  test("a fact is in its paragraph and in no other", () => {
    const { paragraphs, facts } = paragraphsFor({ seed: SEED, count: MAX_PARAGRAPHS, length: 60 });
    for (const { thing, place, paragraph } of facts) {
      const stating = paragraphs.flatMap((text, i) => (text.includes(`The ${thing} is in the ${place}.`) ? [i] : []));
      assert.deepEqual(stating, [paragraph]);
    }
  });
});

describe("the encoder", () => {
  let model;
  before(async () => (model = await (await load()).model(folder)));
  after(() => model?.dispose());

  test("is small, and says how it is used", async () => {
    const { size } = await stat(join(folder, "model.safetensors"));
    assert.ok(size < 1e6, `${size} bytes`);
    const { parameters, contextLength, embedding } = model.info;
    assert.match(
      await read("examples/small_encoder/README.md"),
      new RegExp(`${parameters.toLocaleString("en")} weights`),
    );
    assert.equal(contextLength, 128);
    assert.deepEqual([embedding.pooling, embedding.normalize], ["mean", true]);
  });

  test("each word of the paragraphs is one token", () => {
    const { paragraphs } = paragraphsFor({ seed: SEED, count: 20, length: 110 });
    for (const text of paragraphs) {
      const tokens = model.tokenizer.encode(text);
      assert.equal(tokens.length, words(text).length + 1);
    }
  });

  test("has the vectors of sentence-transformers", async () => {
    // sentence-transformers with transformers 5.23.0, from the same folder, in f32
    const [first, cosine] = [[-0.0768949, -0.0224751, 0.030246, 0.0042861], 0.9761687];
    const [query, text] = await model.embed([
      "Where is the red ball?",
      "The red ball is in the cellar. Anna likes green.",
    ]);
    first.forEach((expected, i) =>
      assert.ok(Math.abs(query[i] - expected) < 1e-5, `${query[i]} instead of ${expected}`),
    );
    const actual = query.reduce((sum, x, i) => sum + x * text[i], 0);
    assert.ok(Math.abs(actual - cosine) < 1e-5, `${actual} instead of ${cosine}`);
  });

  test("finds the paragraph that answers a question", async () => {
    const { paragraphs, facts } = paragraphsFor({ seed: SEED, count: 32, length: 110 });
    const vectors = await model.embed(paragraphs);
    const queries = await model.embed(facts.map(questionAbout));
    const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
    const right = facts.filter(({ paragraph }, i) => {
      const scores = vectors.map((vector) => dot(vector, queries[i]));
      return scores[paragraph] === Math.max(...scores);
    });
    assert.ok(right.length >= 0.9 * facts.length, `${right.length} of ${facts.length}`);
  });
});
