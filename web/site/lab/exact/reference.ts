// What the panel "How exact" measures against: models of other arithmetic, not how this package computes.

/**
 * The angles of a position as ggml computes them on a CPU: from pair to pair, an f32 product with an f32 step.
 *
 * @param step - the factor from one frequency to the next, base^(−2/d)
 */
export function ggmlAngles(step: number, pairs: number, position: number): number[] {
  const rounded = Math.fround(step);
  const angles = [Math.fround(position)];
  while (angles.length < pairs) angles.push(Math.fround(angles.at(-1)! * rounded));
  return angles;
}

/** Angles in f64. Up to position 2^24 they are off by less than 6e-9, a fifth of the rounding of an f32 cosine. */
export function exactAngles(frequencies: Float64Array, position: number): number[] {
  return Array.from(frequencies, (frequency) => frequency * position);
}
