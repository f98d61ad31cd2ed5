// Custom frequencies in models: for some kinds of layers, as functions, and per layer in a KV cache.
import assert from "node:assert/strict";
import test from "node:test";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const { prompt } = readExpected("gemma3", "expected.json");

async function logits(rope) {
  const model = await rw.model(tinyModel("gemma3"), { kv: { dtype: "f32" }, contextLength: 64, ...(rope && { rope }) });
  const session = model.session();
  await session.append(prompt);
  const values = session.logits();
  session.dispose();
  model.dispose();
  return values;
}

const custom = (inv_freq, more) => ({ rope_scaling: { rope_type: "custom", inv_freq, replace: true, ...more } });
const plain = (pair, { rotary_dim, rope_theta }) => rope_theta ** ((-2 * pair) / rotary_dim);

test("custom frequencies for one kind of layer leave the other kind as it was", async () => {
  const own = await logits();
  const sliding = await logits({ sliding_attention: custom(plain) });
  assert.ok(largestDifference([own], [sliding]) < 1e-6, "the sliding layers are plain RoPE");
  const divided = await logits({ sliding_attention: custom((pair, model) => plain(pair, model) / 8) });
  assert.ok(largestDifference([own], [divided]) > 1e-3);
  const scaled = await logits({ sliding_attention: custom(plain, { attention_factor: 1.5 }) });
  assert.ok(largestDifference([own], [scaled]) > 1e-3);
});

test("each layer of a KV cache may have its own custom rope", () => {
  const config = (divisor) => ({
    head_dim: 8,
    pairing: "half",
    rope_scaling: { rope_type: "custom", inv_freq: (pair) => 1 / divisor / (pair + 1) },
  });
  const cache = rw.kvCache({
    layers: [1, 2, 4].map((d) => ({ rope: config(d) })),
    kvHeads: 1,
    maxLength: 4,
    keys: "rotated",
  });
  const x = Float32Array.from({ length: 8 }, (_, i) => i + 1);
  for (const layer of [0, 1, 2]) cache.append({ k: x, v: x, layer, layout: "thd", shape: [1, 1, 8], positions: 3 });
  for (const [layer, divisor] of [1, 2, 4].entries()) {
    const { k } = cache.read({ layer });
    for (let pair = 0; pair < 4; pair++) {
      const angle = 3 / divisor / (pair + 1);
      const expected = x[pair] * Math.cos(angle) - x[pair + 4] * Math.sin(angle);
      assert.ok(Math.abs(k[pair] - expected) < 1e-5, `layer ${layer}, pair ${pair}`);
    }
  }
  cache.dispose();
});
