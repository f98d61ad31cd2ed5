// What the recognizers of layouts know of a weight.
import type { Advised } from "../../../core/base/advice.js";
import type { Dict } from "../../../core/base/dict.js";
import type { PackedTensor, StoredTensor } from "../stored_tensor.js";

/** The tensors of a model, from which the recognizers of layouts take those of one weight. @internal */
export interface Packed {
  /** The tensor that a layout's weights are recognized by, and the name of the weight without its end. */
  readonly main: PackedTensor;
  readonly stem: string;
  readonly settings: Dict;
  /** Takes a tensor of the same weight; undefined if there is none. */
  readonly part: (name: string) => PackedTensor | StoredTensor | undefined;
  /** As `part`, for one that must exist. */
  readonly needed: (name: string) => PackedTensor | StoredTensor;
  /** As `needed`, for one in f32, f16 or bf16. */
  readonly floats: (name: string) => StoredTensor;
  /** Throws UNSUPPORTED_MODEL naming the main tensor. */
  readonly refuse: (problem: string, advised?: Advised) => never;
}
