// What can differ between the supported architectures: the type of a row of the table (table.ts).
import type { ConfigReader } from "../config_reader.js";
import type { MatrixRole, NormRole, TensorNames } from "../tensor_names.js";

/** Numbers in which architectures differ, under the names of the core (src/transformer/model_config.h). @internal */
export interface Factors {
  /** Factor on q · k. NaN stands for the softmax scale of the rope, or 1/√head_dim without RoPE. */
  attention_scale: number;
  attention_soft_cap: number;
  embedding_scale: number;
  residual_scale: number;
  logit_scale: number;
  logit_soft_cap: number;
}

/** Mixture of experts. @internal */
export interface ExpertConfig {
  experts: number;
  experts_used: number;
  normalizes_experts: boolean;
  /** Inner size of one expert. */
  feed_forward_size: number;
  /** Whether a layer has experts instead of a dense feed-forward block. */
  hasExperts: (layer: number) => boolean;
}

/**
 * Describes an architecture. One forward pass (src/transformer/forward.cpp) serves all of them, so an architecture
 * without new operations needs only a row in the table (table.ts).
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
  /** Norms of each layer. All of them are required. */
  readonly norms: (reader: ConfigReader) => readonly NormRole[];
  readonly queryKeyNorm?: (reader: ConfigReader) => "none" | "head" | "each_head" | "all_heads";
  /** Whether attention and feed-forward read the same input. */
  readonly isParallel?: (reader: ConfigReader) => boolean;
  /** Projections that must have a bias. Biases of other projections are used if the file has them. */
  readonly biases?: (reader: ConfigReader) => readonly MatrixRole[];
  /** Whether files in transformers format store norm weights minus 1. */
  readonly normsLessOne?: boolean;
  readonly factors?: (reader: ConfigReader) => Partial<Factors>;
  /** Sliding window of each layer in tokens; 0 for full attention. */
  readonly window?: (reader: ConfigReader) => (layer: number) => number;
  /** Whether layers with a sliding window have a different RoPE. */
  readonly hasTwoRopes?: boolean;
  readonly experts?: (reader: ConfigReader) => ExpertConfig;
  /** Tensor names in transformers format. */
  readonly names: TensorNames;
  /**
   * Whether a fused qkv tensor in transformers format stores q, k, v of head 0, then of head 1, …, rather than all of
   * q, then k, then v.
   */
  readonly fusedByHead?: boolean;
}
