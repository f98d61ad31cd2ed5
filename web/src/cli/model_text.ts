import type { RopeConfig } from "../index.node.js";

/** A RoPE in a line: its type, base and factor. */
export function ropeInALine(rope: Readonly<RopeConfig> | null): string {
  if (rope === null) return "none";
  const base = `base ${(rope.rope_theta ?? 10000).toLocaleString("en", { maximumFractionDigits: 0 })}`;
  const { rope_type = "default", factor } = rope.rope_scaling ?? {};
  if (rope_type === "default") return `plain, ${base}`;
  return `${rope_type}, ${base}${factor === undefined ? "" : `, factor ${Number(factor.toFixed(3))}`}`;
}

/** A number of bytes, to be read. */
export function bytesInWords(bytes: number): string {
  if (bytes < 2 ** 20) return `${(bytes / 2 ** 10).toFixed(1)} KB`;
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MB` : `${(bytes / 2 ** 30).toFixed(2)} GB`;
}

/** A number with three digits that count, or all of a large one's whole part. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 1e-3))));
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** How many tokens went through in a time, for `--json`. */
export interface Speed {
  tokens: number;
  milliseconds: number;
  /** Null where nothing was done. */
  tokensPerSecond: number | null;
}

/** Tokens in a time. */
export function speedOf(tokens: number, milliseconds: number): Speed {
  return {
    tokens,
    milliseconds,
    tokensPerSecond: tokens === 0 || milliseconds === 0 ? null : (tokens * 1000) / milliseconds,
  };
}

/** The same, to be read. */
export function speedInWords({ tokensPerSecond }: Speed): string {
  return tokensPerSecond === null ? "nothing" : `${shortNumber(tokensPerSecond)} tokens/s`;
}
