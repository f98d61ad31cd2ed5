// Embeddings and scores of tiny encoders (tests/golden/tiny_models), compared with transformers, sentence-transformers
// and llama.cpp.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";
import { load } from "ropewalk";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";
import { has } from "../helpers/tiny_models.mjs";

// f32 against f64
const LIMIT = 1e-4;
// llama.cpp computes GELU from an f16 table.
const LLAMA_CPP_LIMITS = {
  bert: 5e-3,
  xlm_roberta: 5e-3,
  modernbert: 5e-3,
  jina_embeddings_v3: 5e-3,
  gemma_embedding: 5e-3,
};
const names = readdirSync(tinyModel("")).filter((name) => has(name, "expected_embeddings.json"));
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

async function withModel(path, use, runtime = rw) {
  const model = await runtime.model(tinyModel(path), { contextLength: 90 });
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

function assertClose(rows, expected, what, limit = LIMIT) {
  const difference = largestDifference(rows, expected);
  assert.ok(difference < limit, `${what}: ${difference}`);
  rows.forEach((row, i) =>
    assert.ok(cosine(row, expected[i]) > 1 - LIMIT, `${what}: cosine ${cosine(row, expected[i])}`),
  );
}

for (const name of names) {
  const expected = readExpected(name, "expected_embeddings.json");
  const files = ["", "model.gguf"].filter((file) => has(name, file || "model.safetensors"));
  for (const file of files) {
    const kind = file === "" ? "safetensors" : "GGUF";
    if (expected.logits !== undefined) {
      test(`${name}, ${kind}: transformers' scores of pairs`, () =>
        withModel(`${name}/${file}`, async (model) => {
          assert.equal(model.info.ranks, true);
          const ranked = await model.rank(expected.query, expected.documents);
          const scores = expected.logits.map(sigmoid);
          assert.deepEqual(
            ranked.map(({ index }) => index),
            scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a]),
          );
          assertClose([ranked.map(({ score }) => score)], [ranked.map(({ index }) => scores[index])], "scores");
        }));
      continue;
    }
    test(`${name}, ${kind}: transformers' hidden states, pooled in each way, in a list and one by one`, () =>
      withModel(`${name}/${file}`, async (model) => {
        if (model.info.embedding.dimensions !== expected.mean[0].length) return;
        for (const pooling of ["mean", "cls", "last", "max"]) {
          const options = { pooling, normalize: false };
          const together = await model.embed(expected.texts, options);
          if (name !== "gemma_embedding") assertClose(together, expected[pooling], pooling);
          for (const [i, tokens] of expected.texts.entries())
            assert.deepEqual(await model.embed(tokens, options), together[i]);
        }
      }));
  }
  if (has(name, "expected_llama_cpp_embeddings.json")) {
    test(`${name}, GGUF: llama.cpp's embeddings`, () =>
      withModel(`${name}/model.gguf`, async (model) => {
        const { tokens, vectors } = readExpected(name, "expected_llama_cpp_embeddings.json");
        assert.deepEqual(
          [model.info.generates, model.info.embedding.pooling, model.info.memory.cache],
          [false, "mean", 0],
        );
        assertClose(await model.embed(tokens, { normalize: false }), vectors, "llama.cpp", LLAMA_CPP_LIMITS[name]);
      }));
  }
  if (expected.sentences === undefined) continue;
  test(`${name}: the vectors of sentence-transformers, with its prompts`, () =>
    withModel(name, async (model) => {
      assertClose(await model.embed(expected.sentences), expected.vectors_default, "default");
      const { prompts } = model.info.embedding;
      for (const prompt of Object.keys(prompts).filter((key) => prompts[key] !== ""))
        assertClose(await model.embed(expected.sentences, { prompt }), expected[`vectors_${prompt}`], prompt);
    }));
}

test("every encoder without SIMD", async () => {
  const scalar = await load({ build: "scalar", threads: 1 });
  for (const name of names) {
    const expected = readExpected(name, "expected_embeddings.json");
    const read = async (model) =>
      expected.logits === undefined
        ? model.embed(expected.texts)
        : [(await model.rank(expected.query, expected.documents)).map(({ score }) => score)];
    assertClose(await withModel(name, read, scalar), await withModel(name, read), name);
  }
});
