// Reference implementation of RoPE, in f64 and one element at a time.

/** Index of element d of head h of token t of batch row b. */
function indexer(layout, shape) {
  const strides = {};
  let stride = 1;
  for (let i = layout.length - 1; i >= 0; i--) {
    strides[layout[i]] = stride;
    stride *= shape[i];
  }
  return (b, t, h) => b * (strides.b ?? 0) + t * strides.t + h * strides.h;
}

/** The indices of pair j in the rotary span, in the source and in the result. */
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
 * Rotates each pair (x, y) to a·(x cos φ − y sin φ, y cos φ + x sin φ), with φ = position · inv_freq and attention factor a, or undoes that.
 * @param plan - the result of rope.plan().
 * @param position - (batch, token, axis) → position.
 * @returns the rotated elements and, for tolerances, the length of the pair of each element (0 for elements that aren't rotated), both f64.
 */
export function referenceRotate(x, plan, { layout, shape, position, inverse = false, scale = plan.attention_factor }) {
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
 * Tolerance of an f32 rotation, for a pair of length r: 4 · 2^-24 · r. The errors of cos and sin are 2^-24 (times r·√2 at most). Each of two products
 * and their sum rounds by half an ulp, 2^-24 of its value (together 2.42 r at most).
 */
export const rounding = (radius) => (i) => 4 * 2 ** -24 * radius[i];
