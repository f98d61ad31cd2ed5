// Tiny models of every architecture and weight format (tests/golden/tiny_models), compared with transformers and
// llama.cpp.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import test from "node:test";
import { largestDifference, readExpected, rootMeanSquare, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

// f32 against f64. transformers in f32 is within 1.4e-5 for these models.
const F32_LIMIT = 1e-4;
// llama.cpp computes GELU from an f16 table, and uses f16 and bf16 activations.
const LLAMA_CPP_LIMITS = {
  gemma: 5e-3,
  gemma2: 5e-3,
  gemma3: 5e-3,
  phi: 5e-3,
  gpt_neox: 5e-3,
  gpt_neox_sequential: 5e-3,
  starcoder2: 5e-3,
  llama_f16: 1e-2,
  llama_bf16: 0.1,
};
const F32_CACHE = { kv: { dtype: "f32" }, contextLength: 256 };

const names = readdirSync(tinyModel("")).filter((name) => existsSync(tinyModel(`${name}/expected.json`)));
const isRounded = (expected) => expected.rounded_step_logits !== undefined;

/** Logits after the prompt and after each step. */
async function logitsOf(model, { prompt, steps }) {
  const session = model.session();
  await session.append(prompt);
  const logits = [session.logits()];
  for (const token of steps) {
    await session.append([token]);
    logits.push(session.logits());
  }
  session.dispose();
  return logits;
}

async function withModel(path, use) {
  const model = await rw.model(tinyModel(path), F32_CACHE);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

for (const name of names) {
  const expected = readExpected(name, "expected.json");
  const reference = [expected.prompt_logits.at(-1), ...expected.step_logits];
  const files = ["", "model.gguf"].filter((file) => existsSync(tinyModel(`${name}/${file || "model.safetensors"}`)));

  for (const file of files) {
    if (name === "mistral" && file !== "") continue; // its GGUF has no window; compared with llama.cpp below
    const kind = file === "" ? "safetensors" : "GGUF";
    if (isRounded(expected)) {
      test(`${name}, ${kind}: equal to a reference with 8-bit inputs of products, at every step`, () =>
        withModel(`${name}/${file}`, async (model) => {
          const logits = await logitsOf(model, expected);
          const rounded = [
            [expected.rounded_prompt_logits].flat(2).slice(-logits[0].length),
            ...expected.rounded_step_logits,
          ];
          // the same numbers, except where f32 and f64 round a tie differently, which moves a logit by up to 0.08
          // (their spread is 2.2)
          assert.ok(largestDifference(logits, rounded) < 0.15, `${largestDifference(logits, rounded)}`);
          assert.ok(rootMeanSquare(logits, rounded) < 0.02, `${rootMeanSquare(logits, rounded)}`);
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

  if (!existsSync(tinyModel(`${name}/expected_llama_cpp.json`))) continue;
  test(`${name}, GGUF: llama.cpp's logits`, () =>
    withModel(`${name}/model.gguf`, async (model) => {
      const theirs = readExpected(name, "expected_llama_cpp.json");
      const logits = await logitsOf(model, {
        prompt: expected.prompt,
        steps: expected.steps.slice(0, theirs.step_logits.length),
      });
      const llamaCppLogits = [[theirs.prompt_logits].flat(2).slice(-logits[0].length), ...theirs.step_logits];
      // quantized: both round activations to bytes, but in different blocks
      const limit = isRounded(expected) ? 0.5 : (LLAMA_CPP_LIMITS[name] ?? F32_LIMIT);
      assert.ok(largestDifference(logits, llamaCppLogits) < limit, `${largestDifference(logits, llamaCppLogits)}`);
    }));
}
