// Recurrent layers: their kinds, and the size of their states.
import type { RecurrenceConfig } from "../../../core/memory/model_fields.js";
import type { LayerShape, PlannedLayer } from "../architectures/parts/architecture.js";
import { hasAttention } from "./attention_shape.js";

/** What a recurrent layer computes, as the core calls it. */
type Recurrence = Exclude<PlannedLayer["recurrence"], "none">;

/** Kinds of recurrent layers, by their names in transformers; `rwkv` isn't there. */
export type RecurrentKind = "linear_attention" | "conv" | "mamba" | "rwkv";

/** The kind of a layer by what it has instead of attention. @internal */
export const RECURRENT_KINDS: Readonly<Record<Recurrence, RecurrentKind>> = {
  convolution: "conv",
  delta: "linear_attention",
  mamba2: "mamba",
  mamba: "mamba",
  rwkv7: "rwkv",
};

/** The kind of a recurrent layer; null for another one. @internal */
export function recurrentKind(shape: LayerShape): RecurrentKind | "hybrid" | null {
  const { recurrence = "none" } = shape;
  if (recurrence === "none") return null;
  return hasAttention(shape) ? "hybrid" : RECURRENT_KINDS[recurrence];
}

/**
 * Bytes of one copy of the states of these layers, in f32: the last inputs of the convolution, and the state of the scan. RWKV
 * has the last input of both blocks of a layer instead of those of a convolution.
 * @internal
 */
export function stateBytes(sizes: RecurrenceConfig, layers: readonly Pick<PlannedLayer, "recurrence">[]): number {
  const { kernel, inner, key_heads: keyHeads, key_size: keySize } = sizes;
  const matrices = inner * 4 * Math.ceil(keySize / 4);
  const heads = (kernel - 1) * (inner + 2 * keyHeads * keySize) + matrices;
  const floats = {
    none: 0,
    convolution: (kernel - 1) * inner,
    mamba: (kernel - 1) * inner + inner * keySize,
    mamba2: heads,
    delta: heads,
    rwkv7: 2 * inner + matrices,
  };
  return 4 * layers.reduce((sum, { recurrence }) => sum + floats[recurrence], 0);
}
