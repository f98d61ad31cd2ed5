// Which weights the option `quantize` rounds, and to which format.
import { tensorBytes, WEIGHT_BLOCKS, type WeightFormatName } from "../../../core/quantize/weight_formats.js";
import type { QuantizeFormat } from "../../../core/quantize/quantize_formats.js";
import { LAYER_MATRICES } from "../architectures/parts/tensor_names.js";
import type { WeightMapping } from "./weight_mapping.js";

/** What a matrix is for, as far as its format depends on it. @internal */
export type MatrixUse = "head" | "key_or_value" | "router" | "other";

/** Number of experts with which llama.cpp spends more bits on keys and values: their matrices are small then. */
const EXPERTS_WITH_FINE_KEYS = 8;

/**
 * The format of a matrix when a model is quantized to `to`. It's that of llama-quantize for Q8_0 and Q4_0: the head, or the embedding of
 * a model without one, is Q6_K unless `to` is Q8_0. Rows that aren't whole blocks of 256 take a format with blocks of 32: Q5_0
 * instead of Q4_K, and Q8_0 instead of Q6_K. Rows that aren't whole blocks of 32 are f16. Q4_K is used alone, not mixed with
 * other formats by layer as in Q4_K_S and Q4_K_M.
 *
 * @param stored - format in the file
 * @internal
 */
export function quantizedFormat(
  to: QuantizeFormat,
  stored: WeightFormatName,
  columns: number,
  use: MatrixUse,
  experts: number,
): WeightFormatName {
  if (WEIGHT_BLOCKS[stored].elements !== 1 || use === "router") return stored;
  if (columns % 32 !== 0) return "f16";
  if (use === "key_or_value" && experts === EXPERTS_WITH_FINE_KEYS) return "q8_0";
  const isWhole = columns % 256 === 0;
  if (use === "head" && to !== "q8_0") return isWhole ? "q6_k" : "q8_0";
  return to === "q4_k" && !isWhole ? "q5_0" : to;
}

/** The weights of a model, with the formats that they are quantized to. @internal */
export function quantizeWeights(
  mappings: readonly WeightMapping[],
  to: QuantizeFormat,
  { experts }: { experts: number },
): WeightMapping[] {
  const hasHead = mappings.some(({ layer, slot, isVector }) => layer < 0 && slot === 1 && !isVector);
  return mappings.map((mapping) => {
    if (mapping.isVector) return mapping;
    const format = quantizedFormat(to, mapping.format, mapping.columns, useOf(mapping, hasHead), experts);
    return { ...mapping, loaded: { format, bytes: tensorBytes(format, [mapping.rows, mapping.columns])! } };
  });
}

function useOf({ layer, slot }: WeightMapping, hasHead: boolean): MatrixUse {
  if (layer < 0) return slot === 1 || !hasHead ? "head" : "other";
  const role = LAYER_MATRICES[slot];
  return role === "router" ? "router" : role === "key" || role === "value" ? "key_or_value" : "other";
}
