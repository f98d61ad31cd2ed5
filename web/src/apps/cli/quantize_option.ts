// The option --quantize, of commands that load a model.
import { Option } from "commander";
import { type ModelInfo, QUANTIZE_FORMATS, type QuantizeFormat } from "../../index.node.js";
import { parseName } from "./options.js";

/** Flags of {@link quantizeOption}. */
export interface QuantizeFlags {
  quantize?: QuantizeFormat;
}

/** Returns the option. */
export function quantizeOption(): Option {
  return new Option(
    "--quantize <format>",
    `format to round weights in f32, f16 or bf16 to while they are read: ${QUANTIZE_FORMATS.join(", ")} (default: none)`,
  ).argParser(parseQuantizeFormat);
}

/** Why some matrices aren't in the format that was asked for. The arguments are names of formats: asked for, in the file, and made. */
export function fallbackWarnings(
  to: QuantizeFormat | undefined,
  stored: readonly string[],
  made: readonly string[],
): string[] {
  if (to === undefined) return [];
  const isFallback = (format: string): boolean => made.includes(format) && !stored.includes(format);
  const why = (block: number, format: string): string =>
    `${to} needs rows of a multiple of ${block} elements; matrices with others are in ${format}`;
  return [
    ...(to === "q4_k" && isFallback("q5_0") ? [why(256, "q5_0")] : []),
    ...(isFallback("f16") ? [why(32, "f16")] : []),
  ];
}

/** Warns that nothing is rounded, if that is so. The arguments are bytes by format: in the file, and of the matrices in memory. */
export function unusedWarnings(
  to: QuantizeFormat | undefined,
  stored: ModelInfo["formats"],
  made: ModelInfo["loadedFormats"],
): string[] {
  const isUnused = Object.entries(made).every(
    ([format, bytes]) => bytes <= (stored[format as keyof typeof stored] ?? 0),
  );
  if (to === undefined || !isUnused) return [];
  return [`--quantize rounds weights in f32, f16 or bf16; these are in ${Object.keys(made).join(", ")} and stay so`];
}

/** Parses a format to quantize to. */
export const parseQuantizeFormat = parseName(QUANTIZE_FORMATS);
