// Recurrent layers: their kinds, and the size of their states.
import type { WasmLayerConfig } from "../memory/wasm_model_functions.js";
import type { LayerShape, RecurrenceSizes } from "./architectures/architecture.js";
import { hasAttention } from "./attention_shape.js";

/** What a recurrent layer computes, as the core calls it. */
type Recurrence = Exclude<WasmLayerConfig["recurrence"], "none">;

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

/** The sizes of a model without recurrent layers. @internal */
export const NO_RECURRENCE: RecurrenceSizes = {
  recurrence_kernel: 0,
  recurrence_inner: 0,
  recurrence_heads: 1,
  recurrence_key_heads: 1,
  recurrence_key_size: 0,
  recurrence_step_rank: 0,
  recurrence_norm_groups: 1,
  recurrence_is_tiled: false,
  recurrence_least_step: 0,
  recurrence_largest_step: Infinity,
  recurrence_select_epsilon: 0,
  recurrence_has_norm: true,
  recurrence_norms_before_gate: false,
  recurrence_decay_rank: 0,
  recurrence_rate_rank: 0,
  recurrence_share_rank: 0,
  recurrence_gate_rank: 0,
  recurrence_removal_epsilon: 0,
  recurrence_head_epsilon: 0,
};

/**
 * Bytes of one copy of the states of these layers, in f32: the last inputs of the convolution, and the state of the scan. RWKV
 * has the last input of both blocks of a layer instead of those of a convolution.
 * @internal
 */
export function stateBytes(sizes: RecurrenceSizes, layers: readonly Pick<WasmLayerConfig, "recurrence">[]): number {
  const { recurrence_kernel: kernel, recurrence_inner: inner, recurrence_key_heads: keyHeads } = sizes;
  const keySize = sizes.recurrence_key_size;
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
