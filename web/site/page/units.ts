// Numbers with units, and a RoPE in one line.
import type { RopeConfig } from "ropewalk";
import { shown } from "./elements.js";

/** A byte count for readers: 1.2 MiB. Powers of 1024, as llama.cpp and vLLM print memory, and as `ropewalk` does in the shell. */
export function bytesText(bytes: number): string {
  if (bytes < 2 ** 20) return `${shown(bytes / 2 ** 10, 3)} KiB`;
  return bytes < 2 ** 30 ? `${shown(bytes / 2 ** 20, 3)} MiB` : `${shown(bytes / 2 ** 30, 3)} GiB`;
}

/** Tokens per second, as text. */
export function speedText(tokens: number, milliseconds: number): string {
  const rate = (tokens * 1000) / Math.max(milliseconds, 0.001);
  return `${rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en")} tokens/s`;
}

/** A share of 1 in percent, with at most so many significant digits. Shares that are too small to matter are only said to be small. */
export function percentText(share: number, digits = 2): string {
  if (share > 0 && share < 1e-4) return "under 0.01\u00a0%";
  return `${shown(share * 100, digits)}\u00a0%`;
}

/** Names of the types of scaling for readers. */
const SCALINGS: Readonly<Record<string, string>> = {
  linear: "PI",
  ntk: "NTK-aware",
  ntk_by_parts: "NTK-by-parts",
  yarn: "YaRN",
  dynamic: "Dynamic NTK",
  dynamic_yarn: "dynamic YaRN",
  llama3: "Llama 3",
  longrope: "LongRoPE",
};

/** What a RoPE's scaling does, in two words: YaRN × 4. A scaling by 1 changes nothing, so it is plain. */
export function scalingText(rope: Readonly<RopeConfig> | null): string {
  if (rope === null) return "no RoPE";
  const { rope_type = "default", factor } = rope.rope_scaling ?? {};
  if (rope_type === "default" || factor === 1) return "plain";
  return `${SCALINGS[rope_type] ?? rope_type}${factor == null ? "" : ` × ${Number(factor.toFixed(3))}`}`;
}

/** One line about a RoPE: type, base and factor. */
export function ropeText(rope: Readonly<RopeConfig> | null): string {
  if (rope === null) return "none";
  const { rope_theta = 10000, rope_scaling } = rope;
  const base = `base ${rope_theta.toLocaleString("en", { maximumFractionDigits: 0 })}`;
  if (!rope_scaling || rope_scaling.rope_type === "default") return `plain, ${base}`;
  const { rope_type, factor } = rope_scaling;
  return `${rope_type}, ${base}${factor == null ? "" : `, factor ${Number(factor.toFixed(3))}`}`;
}
