// Perplexity with a different RoPE, without loading the model again.
import assert from "node:assert/strict";
import test from "node:test";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const yarn = { rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 } };
const linear = { rope_scaling: { rope_type: "linear", factor: 2, replace: true } };

async function withModel(name, options, use) {
  const model = await rw.model(tinyModel(name), options);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

const measured = async (name, options, perplexityOptions) =>
  withModel(
    name,
    options,
    async (model) =>
      (await model.perplexity(readExpected(name.split("/")[0], "expected.json").prompt, perplexityOptions)).losses,
  );

for (const [name, rope] of [
  ["llama", yarn], // all layers have the same RoPE
  ["llama/model.gguf", yarn],
  ["smollm3", linear], // one layer without RoPE
  ["gemma3", linear], // for the full-attention layers
  ["gemma3", { sliding_attention: { rope_theta: 500 }, full_attention: linear }],
  ["phi3", linear], // replaces two lists of factors
]) {
  test(`${name}: losses under ${JSON.stringify(rope)} equal those of a model opened with it, and the model is unchanged`, () =>
    withModel(name, {}, async (model) => {
      const { prompt } = readExpected(name.split("/")[0], "expected.json");
      const own = (await model.perplexity(prompt)).losses;
      const retuned = (await model.perplexity(prompt, { rope })).losses;
      assert.deepEqual(retuned, await measured(name, { rope }));
      assert.notDeepEqual(retuned, own);
      assert.deepEqual((await model.perplexity(prompt)).losses, own);
    }));
}

test("an invalid RoPE is rejected before anything is read", () =>
  withModel("llama", {}, async (model) => {
    const rope = { rope_scaling: { rope_type: "linear", factor: -1 } };
    let calls = 0;
    await rejects(
      model.perplexity([1, 2, 3], { rope, onProgress: () => calls++ }),
      "INVALID_CONFIG",
      "rope.rope_scaling.factor",
    );
    assert.equal(calls, 0);
  }));
