import type { Facts } from "./facts.js";
import type { MatrixRole, NormRole, TensorNames } from "./roles.js";

/** What differs between architectures in numbers; the names are the core's (src/transformer/model_config.h). @internal */
export interface Factors {
  /** Of q · k; NaN: the rope's own, or 1/√head_dim. */
  attention_scale: number;
  attention_soft_cap: number;
  embedding_scale: number;
  residual_scale: number;
  logit_scale: number;
  logit_soft_cap: number;
}

/** Experts of a mixture. @internal */
export interface ExpertFacts {
  experts: number;
  experts_used: number;
  normalizes_experts: boolean;
  /** Inner size of one. */
  feed_forward_size: number;
  /** Whether a layer has experts. */
  isIn: (layer: number) => boolean;
}

/**
 * What an architecture does. The forward pass is written once (src/transformer/forward.cpp); a line of the table in architectures.ts is all that
 * a new architecture takes where it does nothing new.
 * @internal
 */
export interface Architecture {
  /** `model_type` in config.json. */
  readonly huggingFace: readonly string[];
  /** `general.architecture` in GGUF. */
  readonly gguf: readonly string[];
  readonly norm: "rms" | "layer";
  readonly activation: "silu" | "gelu" | "gelu_tanh";
  readonly isGated: boolean;
  /** Norms that each layer has, and must have. */
  readonly norms: (facts: Facts) => readonly NormRole[];
  readonly queryKeyNorm?: (facts: Facts) => "none" | "head" | "each_head" | "all_heads";
  /** Attention and feed-forward read the same input. */
  readonly isParallel?: (facts: Facts) => boolean;
  /** Projections that have a bias, and must have one; another's is used where the file has it. */
  readonly biases?: (facts: Facts) => readonly MatrixRole[];
  /** The files of transformers hold norm weights less 1. */
  readonly normsLessOne?: boolean;
  readonly factors?: (facts: Facts) => Partial<Factors>;
  /** Tokens in sight of a layer, 0 for all. */
  readonly window?: (facts: Facts) => (layer: number) => number;
  /** Sliding layers have a RoPE of their own. */
  readonly hasTwoRopes?: boolean;
  readonly experts?: (facts: Facts) => ExpertFacts;
  /** Names in the files of transformers. */
  readonly names: TensorNames;
  /** How rows of q, k and v lie in a fused tensor of transformers: one after the other, or head by head. */
  readonly fusedByHead?: boolean;
}
