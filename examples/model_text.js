// Formatting shared by the examples that run models.

/** One line about a RoPE: type, base and factor. */
export function describeRope(rope) {
  if (rope === null) return "none";
  const { rope_theta, rope_scaling } = rope;
  const base = `base ${rope_theta.toLocaleString("en", { maximumFractionDigits: 0 })}`;
  if (rope_scaling === undefined || rope_scaling.rope_type === "default") return `plain, ${base}`;
  const { rope_type, factor } = rope_scaling;
  return `${rope_type}, ${base}${factor === undefined ? "" : `, factor ${Number(factor.toFixed(3))}`}`;
}

/** A byte count for people. */
export function size(bytes) {
  if (bytes < 2 ** 20) return `${(bytes / 1024).toFixed(1)} KB`;
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MB` : `${(bytes / 2 ** 30).toFixed(2)} GB`;
}

/** Tokens per second, as text. */
export function speed(tokens, milliseconds) {
  const rate = (tokens * 1000) / Math.max(milliseconds, 0.001);
  return `${rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en")} tokens/s`;
}
