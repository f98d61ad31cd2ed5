// Prompts of random lengths with the weights of every format, compared with the scalar reference kernels: which kernels multiply them
// depends on the number of tokens, and in the relaxed build on the engine.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { randomNumbers } from "../../helpers/arrays.mjs";
import { rootMeanSquare } from "../../helpers/models.mjs";
import { isExact, rw } from "../../helpers/runtime.mjs";
import { logitsOf, tinyModelNames, withTinyModel } from "../../helpers/tiny_models.mjs";

const scalar = await load({ build: "scalar" });
const VOCABULARY = 64;
const LONGEST = 64;
const PROMPTS = 5;
/**
 * Relaxed multiply-adds round once instead of twice. Rarely this moves an input of a product to the next of its 255 values, and the logits,
 * whose spread is about 2, by up to a hundredth. A wrong integer would move those of every prompt.
 */
const MEDIAN_LIMIT = 2e-5;

const formats = Object.keys(rw.kernels.products);
const names = tinyModelNames().filter((name) => formats.includes(name.replace(/^llama_/, "")));

test("there is a tiny model of every format but f32", () => {
  assert.equal(names.length, formats.length - 1, names.join(" "));
});

for (const [index, name] of names.entries())
  test(`${name}: prompts of random lengths have the logits of the reference kernels`, async () => {
    const random = randomNumbers(index);
    const whole = (limit) => Math.floor(random() * limit);
    const prompts = Array.from({ length: PROMPTS }, () =>
      Array.from({ length: 1 + whole(LONGEST) }, () => whole(VOCABULARY)),
    );
    const all = (runtime) =>
      withTinyModel(runtime, `${name}/model.gguf`, async (model) => {
        const logits = [];
        for (const prompt of prompts) logits.push(...(await logitsOf(model, { prompt, steps: [] })));
        return logits;
      });
    const [actual, expected] = [await all(rw), await all(scalar)];
    if (isExact) return assert.deepEqual(actual, expected);
    const errors = actual.map((logits, i) => rootMeanSquare([logits], [expected[i]])).sort((a, b) => a - b);
    assert.ok(errors[PROMPTS >> 1] < MEDIAN_LIMIT, errors.join());
  });
