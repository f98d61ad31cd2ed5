// RoPE by its definition, in f64 and one element at a time: what the package's kernels are compared with.

/** Where element d of a head of token t of batch b lies. */
function indexer(layout, shape) {
  const strides = {};
  let stride = 1;
  for (let i = layout.length - 1; i >= 0; i--) {
    strides[layout[i]] = stride;
    stride *= shape[i];
  }
  return (b, t, h) => b * (strides.b ?? 0) + t * strides.t + h * strides.h;
}

/** The places of pair j in the rotated span, as read and as written. */
const places = {
  half: (j, pairs) => [
    [j, j + pairs],
    [j, j + pairs],
  ],
  interleaved: (j) => [
    [2 * j, 2 * j + 1],
    [2 * j, 2 * j + 1],
  ],
  interleaved_to_half: (j, pairs) => [
    [2 * j, 2 * j + 1],
    [j, j + pairs],
  ],
};

/**
 * Pair (x, y) becomes a·(x cos φ − y sin φ, y cos φ + x sin φ) with φ = position · inv_freq, a the attention factor; the inverse undoes it.
 * @param plan - what rope.plan() returns.
 * @param position - (batch, token, axis) → position.
 * @returns the rotated elements and, for tolerances, the length of the pair that each belongs to (0 where nothing turns), both f64.
 */
export function rotateByDefinition(
  x,
  plan,
  { layout, shape, position, inverse = false, scale = plan.attention_factor },
) {
  const extent = (name) => (layout.includes(name) ? shape[layout.indexOf(name)] : 1);
  const at = indexer(layout, shape);
  const rotated = Float64Array.from(x);
  const radius = new Float64Array(x.length);
  const pairs = plan.inv_freq.length;
  for (let b = 0; b < extent("b"); b++) {
    for (let t = 0; t < extent("t"); t++) {
      for (let h = 0; h < extent("h"); h++) {
        const first = at(b, t, h) + plan.rotary_offset;
        for (let j = 0; j < pairs; j++) {
          const angle = position(b, t, plan.axis_of_pair[j]) * plan.inv_freq[j];
          const [c, s] = [Math.cos(angle), inverse ? -Math.sin(angle) : Math.sin(angle)];
          const factor = inverse ? 1 / scale : scale;
          const [read, write] = inverse ? places[plan.pairing](j, pairs).toReversed() : places[plan.pairing](j, pairs);
          const [u, v] = read.map((place) => x[first + place]);
          rotated[first + write[0]] = factor * (u * c - v * s);
          rotated[first + write[1]] = factor * (v * c + u * s);
          radius[first + write[0]] = radius[first + write[1]] = factor * Math.hypot(u, v);
        }
      }
    }
  }
  return { rotated, radius };
}

/**
 * How far an f32 rotation may be from the exact one, for a pair of length r: cos and sin are within 2^-24 (times r·√2 at most), each of two
 * products and their sum rounds by half an ulp, 2^-24 of what it holds (together 2.42 r at most): 4 · 2^-24 · r.
 */
export const rounding = (radius) => (i) => 4 * 2 ** -24 * radius[i];
