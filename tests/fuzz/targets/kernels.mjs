// The builds compared on random shapes: simd has the bits of scalar, and relaxed differs by the rounding of fused products.
import assert from "node:assert/strict";
import { load } from "ropewalk";

export const name = "kernels";

let scalar, simd, relaxed;

export async function setUp() {
  [scalar, simd] = [await load({ build: "scalar" }), await load({ build: "simd" })];
  relaxed = await load({ build: "relaxed" }).catch((error) => {
    if (error.code !== "UNSUPPORTED_ENGINE") throw error;
  });
}

// A fused multiply-add saves one rounding, 2^-24 of a sum: rotations are sums below 4, scores sums up to about 2^5, and outputs are averages
// of values below 2 (tests/browser/same_bytes.test.mjs). A stored element may be rounded the other way.
const TOLERANCE = { rotate: 2 ** -22, attention: 2 ** -16 };
const STORED_TOLERANCE = { f32: 2 ** -16, f16: 2 ** -9, bf16: 2 ** -6, q8_0: 2 ** -5 };

export function run(random) {
  const { compute, tolerance } = random.pick([rotation, attention, cache])(random);
  const expected = compute(scalar);
  assert.deepEqual(compute(simd), expected, "simd differs from scalar");
  if (relaxed === undefined) return "without relaxed";
  const actual = compute(relaxed);
  expected.forEach((value, i) => {
    assert.ok(Math.abs(actual[i] - value) <= tolerance, `relaxed: ${actual[i]} for ${value}, element ${i}`);
  });
  return "with relaxed";
}

const sizeOf = (shape) => shape.reduce((count, extent) => count * extent, 1);

function shapeOf(layout, [tokens, heads, head_dim], batches) {
  return [...layout].map((name) => ({ b: batches, t: tokens, h: heads, d: head_dim })[name]);
}

function randomRope(random, head_dim) {
  const rotary_dim = 2 * random.between(1, Math.floor(head_dim / 2));
  return {
    head_dim,
    rotary_dim,
    rotary_offset: random.int(head_dim - rotary_dim + 1),
    pairing: random.pick(["half", "interleaved", "interleaved_to_half"]),
    rope_theta: random.pick([100, 1e4, 1e6]),
  };
}

function rotation(random) {
  const head_dim = random.chance(0.8) ? random.between(2, 70) : random.between(2, 600);
  const layout = random.pick(["bthd", "bhtd", "thd"]);
  const shape = shapeOf(layout, [random.between(1, 20), random.between(1, 5), head_dim], random.between(1, 3));
  const config = randomRope(random, head_dim);
  const x = random.floats(sizeOf(shape));
  const options = { layout, shape, positions: random.between(-1000, 1e6), inverse: random.chance(0.3) };
  const compute = (rw) => {
    const rope = rw.rope(config);
    try {
      return rope.rotate(x.slice(), options);
    } finally {
      rope.dispose();
    }
  };
  return { compute, tolerance: TOLERANCE.rotate };
}

function attention(random) {
  const head_dim = random.between(2, 100);
  const [kvHeads, tokens] = [random.between(1, 3), random.between(1, 12)];
  const kvTokens = tokens + random.int(80);
  const heads = kvHeads * random.between(1, 3);
  const layout = random.pick(["bthd", "bhtd", "thd"]);
  const batches = random.between(1, 2);
  const shape = shapeOf(layout, [tokens, heads, head_dim], batches);
  const kvShape = shapeOf(layout, [kvTokens, kvHeads, head_dim], batches);
  const [q, k, v] = [random.floats(sizeOf(shape)), random.floats(sizeOf(kvShape)), random.floats(sizeOf(kvShape))];
  const options = { layout, shape, kvShape, causal: random.chance(0.7) };
  if (random.chance(0.4)) options.window = random.between(1, 60);
  if (random.chance(0.3)) options.softCap = random.between(1, 50);
  return { compute: (rw) => rw.attention(q, k, v, options), tolerance: TOLERANCE.attention };
}

function cache(random) {
  const head_dim = 2 * random.between(1, 50);
  const [kvHeads, tokens] = [random.between(1, 3), random.between(1, 70)];
  const [dtype, keys] = [random.pick(["f32", "f16", "bf16", "q8_0"]), random.pick(["rotated", "raw"])];
  const rope = randomRope(random, head_dim);
  const [k, v] = [random.floats(tokens * kvHeads * head_dim), random.floats(tokens * kvHeads * head_dim)];
  const q = random.floats(2 * kvHeads * head_dim);
  const discard = random.int(tokens);
  const compute = (rw) => {
    const created = rw.kvCache({ rope, kvHeads, maxLength: 80, dtype, keys });
    try {
      created.append({ k, v, layout: "thd", shape: [tokens, kvHeads, head_dim] });
      if (discard > 0) created.shift({ keep: 0, discard });
      return created.attend(q.slice(), { layout: "thd", shape: [1, 2 * kvHeads, head_dim] });
    } finally {
      created.dispose();
    }
  };
  return { compute, tolerance: STORED_TOLERANCE[dtype] };
}
