// Memory of a model's weights in the formats that people load them in: parameters × bits.
import { parameterCount } from "../../runtime/model/plan/parameter_count.js";
import type { WeightMemory } from "./diagnosis.js";
import type { Opened } from "./open.js";

/**
 * Bits of a weight by format. The mixes of llama.cpp keep some tensors in more bits: theirs are the bits that its quantize tool
 * reports for Llama 3.1 8B, and a model with a large vocabulary has more.
 */
const FORMATS: readonly (readonly [name: string, bits: number])[] = [
  ["F16, BF16", 16],
  ["Q8_0", 8.5],
  ["Q6_K", 6.56],
  ["Q5_K_M", 5.7],
  ["Q4_K_M", 4.89],
  ["Q3_K_M", 4.02],
];

/** Null if the file doesn't show its parameters. */
export function weightMemory({ source, stored }: Pick<Opened, "source" | "stored">): WeightMemory | null {
  const parameters = stored?.parameters ?? parameterCount(source);
  if (parameters === undefined || !Number.isSafeInteger(parameters)) return null;
  const own = stored === undefined ? [] : [{ name: "this file", bits: (8 * stored.bytes) / parameters, ...stored }];
  const formats = FORMATS.map(([name, bits]) => ({ name, bits, bytes: Math.round((parameters * bits) / 8) }));
  return { parameters, formats: [...own.map(({ name, bits, bytes }) => ({ name, bits, bytes })), ...formats] };
}
