// Tiny models of every architecture and weight format (tests/golden/tiny_models), compared with transformers and
// llama.cpp.
import assert from "node:assert/strict";
import test from "node:test";
import { largestDifference, readExpected, rootMeanSquare } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";
import {
  filesOf,
  has,
  isRounded,
  lacksWindowInGguf,
  logitsOf,
  referenceLogits,
  tinyModelNames,
  withTinyModel,
} from "../helpers/tiny_models.mjs";

// f32 against f64. transformers in f32 is within 1.4e-5 for these models.
const F32_LIMIT = 1e-4;
// llama.cpp computes GELU from an f16 table, and uses f16 and bf16 activations.
const LLAMA_CPP_LIMITS = {
  gemma: 5e-3,
  gemma2: 5e-3,
  gemma3: 5e-3,
  phi: 5e-3,
  gpt2: 5e-3,
  gpt_neox: 5e-3,
  gpt_neox_sequential: 5e-3,
  starcoder2: 5e-3,
  gemma4: 5e-3,
  gemma4_dense: 5e-3,
  gemma4_moe: 5e-3,
  llama_f16: 1e-2,
  llama_bf16: 0.1,
};
const withModel = (path, use) => withTinyModel(rw, path, use);

for (const name of tinyModelNames()) {
  const expected = readExpected(name, "expected.json");
  const reference = referenceLogits(expected);

  for (const file of filesOf(name)) {
    if (lacksWindowInGguf(name) && file !== "") continue; // compared with llama.cpp below
    const kind = file === "" ? "safetensors" : "GGUF";
    if (isRounded(expected)) {
      test(`${name}, ${kind}: equal to a reference with 8-bit inputs of products, at every step`, () =>
        withModel(`${name}/${file}`, async (model) => {
          const logits = await logitsOf(model, expected);
          // the same numbers, except where f32 and f64 round a tie differently, which moves a logit by up to 0.08
          // (their spread is 2.2)
          assert.ok(largestDifference(logits, reference) < 0.15, `${largestDifference(logits, reference)}`);
          assert.ok(rootMeanSquare(logits, reference) < 0.02, `${rootMeanSquare(logits, reference)}`);
        }));
      continue;
    }
    test(`${name}, ${kind}: transformers' logits, hidden state and losses, at the prompt and 32 cached steps`, () =>
      withModel(`${name}/${file}`, async (model) => {
        const difference = largestDifference(await logitsOf(model, expected), reference);
        assert.ok(difference < F32_LIMIT, `${difference}`);
        const hidden = await model.embed(expected.prompt);
        assert.ok(largestDifference([hidden], [expected.prompt_hidden]) < F32_LIMIT);
        const { losses, perplexity } = await model.perplexity(expected.prompt);
        assert.ok(Number.isNaN(losses[0]));
        assert.ok(largestDifference([losses.slice(1)], [expected.prompt_losses]) < F32_LIMIT);
        const mean = expected.prompt_losses.reduce((sum, loss) => sum + loss, 0) / expected.prompt_losses.length;
        assert.ok(Math.abs(perplexity / Math.exp(mean) - 1) < F32_LIMIT);
      }));
  }

  if (!has(name, "expected_llama_cpp.json")) continue;
  test(`${name}, GGUF: llama.cpp's logits`, () =>
    withModel(`${name}/model.gguf`, async (model) => {
      const theirs = readExpected(name, "expected_llama_cpp.json");
      const logits = await logitsOf(model, {
        prompt: expected.prompt,
        steps: expected.steps.slice(0, theirs.step_logits.length),
      });
      const llamaCppLogits = referenceLogits(theirs);
      // quantized: both round activations to bytes, but in different blocks
      const limit = isRounded(expected) ? 0.5 : (LLAMA_CPP_LIMITS[name] ?? F32_LIMIT);
      assert.ok(largestDifference(logits, llamaCppLogits) < limit, `${largestDifference(logits, llamaCppLogits)}`);
    }));
}
