// Formats RoPEs, sizes and speeds for people.
import { mapInWords } from "../../core/config/position_map.js";
import type { RopeConfig } from "../../index.node.js";

/** A RoPE in a line: its type, base and factor. */
export function ropeSummary(rope: Readonly<RopeConfig> | null): string {
  if (rope === null) return "none";
  const base = `base ${(rope.rope_theta ?? 10000).toLocaleString("en", { maximumFractionDigits: 0 })}`;
  const { rope_type = "default", factor } = rope.rope_scaling ?? {};
  const map = rope.position_map ? `, ${mapInWords(rope.position_map)}` : "";
  if (rope_type === "default") return `plain, ${base}${map}`;
  return `${rope_type}, ${base}${factor === undefined ? "" : `, factor ${Number(factor.toFixed(3))}`}${map}`;
}

/** A size in KiB, MiB or GiB (powers of 1024), as llama.cpp and vLLM print memory. */
export function formatBytes(bytes: number): string {
  if (bytes < 2 ** 20) return `${(bytes / 2 ** 10).toFixed(1)} KiB`;
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

/** A number with three significant digits, but with all digits before the decimal point. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 1e-3))));
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Speed of reading or generating tokens, as `--json` prints it. */
export interface Speed {
  tokens: number;
  milliseconds: number;
  /** Null if there were no tokens or the time was too short to measure. */
  tokensPerSecond: number | null;
}

/** The speed for a number of tokens and a time. */
export function speedOf(tokens: number, milliseconds: number): Speed {
  return {
    tokens,
    milliseconds,
    tokensPerSecond: tokens === 0 || milliseconds === 0 ? null : (tokens * 1000) / milliseconds,
  };
}

/** A speed in tokens/s. */
export function formatSpeed({ tokensPerSecond }: Speed): string {
  return tokensPerSecond === null ? "–" : `${formatNumber(tokensPerSecond)} tokens/s`;
}
