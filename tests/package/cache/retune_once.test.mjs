// retune({ rope, positions }) rotates keys once, from the old rope and position to the new, and rounds them once.
import assert from "node:assert/strict";
import test from "node:test";
import { fromBits, randomFloats, toBits } from "../helpers/arrays.mjs";
import { isExact, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 32, pairing: "half", rope_theta: 1e4 };
const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 } };
const tokens = 40;
const positions = Float64Array.from({ length: tokens }, (_, i) => (i % 3 === 0 ? i : 1000.5 + 7 * i));
const store = {
  f32: Math.fround,
  f16: (x) => fromBits(toBits(x, "f16"), "f16"),
  bf16: (x) => fromBits(toBits(x, "bf16"), "bf16"),
};

function filled(dtype) {
  const cache = rw.kvCache({ rope: config, kvHeads: 2, maxLength: tokens, dtype, keys: "rotated" });
  cache.append({
    k: randomFloats(tokens * 64, 1),
    v: randomFloats(tokens * 64, 2),
    layout: "thd",
    shape: [tokens, 2, 32],
  });
  return cache;
}

/** One rotation by the difference of the angles, computed in f64. cos, sin and every product and sum are f32, and the result is stored once. */
function rotatedOnce(keys, dtype, from, to) {
  const result = keys.slice();
  for (let token = 0; token < tokens; token++) {
    for (let head = 0; head < 2; head++) {
      const row = (token * 2 + head) * 32;
      for (let j = 0; j < 16; j++) {
        const angle = to.inv_freq[j] * positions[token] - from.inv_freq[j] * token;
        const ratio = to.attention_factor / from.attention_factor;
        const [cos, sin] = [Math.fround(Math.cos(angle) * ratio), Math.fround(Math.sin(angle) * ratio)];
        const [x, y] = [keys[row + j], keys[row + 16 + j]];
        result[row + j] = store[dtype](Math.fround(Math.fround(x * cos) - Math.fround(y * sin)));
        result[row + 16 + j] = store[dtype](Math.fround(Math.fround(y * cos) + Math.fround(x * sin)));
      }
    }
  }
  return result;
}

const different = (a, b) => a.reduce((count, x, i) => count + (x !== b[i]), 0);

for (const dtype of ["f32", "f16", "bf16"]) {
  test(`the bits of one rotation and one rounding: ${dtype}`, { skip: !isExact && "fused multiply-add" }, () => {
    const [from, to] = [config, yarn].map((given) => withRope(rw.rope(given), (rope) => rope.plan(tokens)));
    withRope(filled(dtype), (once) =>
      withRope(filled(dtype), (twice) => {
        const before = once.read();
        once.retune({ rope: yarn, positions });
        twice.retune({ rope: yarn });
        twice.retune({ positions });
        const after = once.read();
        assert.deepEqual(after.v, before.v);
        const expected = rotatedOnce(before.k, dtype, from, to);
        // The engine's cos and sin may differ from ours by one bit of f64, which changes an f32 once in a million times.
        assert.ok(different(after.k, expected) <= 2, `${different(after.k, expected)} elements differ`);
        assert.ok(different(after.k, twice.read().k) > 100, "two rotations give other bits");
        assert.deepEqual(once.config(), yarn);
        assert.deepEqual(once.positions(), positions);
      }),
    );
  });
}

// A position may be too far for the old rope, for the new one, or only for the one in between.
test("positions are checked under the new rope only", () => {
  const fast = { ...config, rope_scaling: { rope_type: "custom", inv_freq: [1e6, ...new Array(15).fill(1)] } };
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.kvCache({ rope: fast, kvHeads: 1, maxLength: 8, keys }), (cache) => {
      cache.append({ k: randomFloats(32), v: randomFloats(32), layout: "thd", shape: [1, 1, 32] });
      assert.equal(cache.canRetune({ positions: 1e5 }).code, "INVALID_POSITION");
      cache.retune({ rope: config, positions: 1e5 });
      assert.equal(cache.canRetune({ rope: fast }).code, "INVALID_POSITION");
      cache.retune({ rope: fast, positions: 3 });
      assert.equal(cache.positions()[0], 3);
    });
  }
});
