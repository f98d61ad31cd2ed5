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

/** One line about a RoPE: type, base and factor. */
export function ropeText(rope: Readonly<RopeConfig> | null): string {
  if (rope === null) return "none";
  const { rope_theta = 10000, rope_scaling } = rope;
  const base = `base ${rope_theta.toLocaleString("en", { maximumFractionDigits: 0 })}`;
  if (!rope_scaling || rope_scaling.rope_type === "default") return `plain, ${base}`;
  const { rope_type, factor } = rope_scaling;
  return `${rope_type}, ${base}${factor == null ? "" : `, factor ${Number(factor.toFixed(3))}`}`;
}
