// What can differ between the supported architectures: the type of a row of the table (table.ts).
import type { ConfigReader } from "../../config/config_reader.js";
import type {
  LayerConfig,
  LatentConfig,
  ModelConfig,
  PerLayerConfig,
  RecurrenceConfig,
  Routing,
} from "../../../../core/memory/model_fields.js";
import type { LayerNames, MatrixRole, NormRole, TensorNames } from "./tensor_names.js";

/** @internal */
export type ActivationName = "silu" | "gelu" | "gelu_tanh" | "relu2" | "xielu" | "clamped_silu" | "relu" | "tanh";

/** Numbers in which architectures differ. @internal */
export type Factors = Pick<
  ModelConfig,
  | "attention_scale"
  | "attention_soft_cap"
  | "embedding_scale"
  | "residual_scale"
  | "logit_scale"
  | "logit_soft_cap"
  | "gate_slope"
  | "gate_limit"
  | "normalizes_values"
  | "multipliers"
>;

/** What an encoder has that a decoder doesn't: it reads a text whole, and each token attends to all of it. @internal */
export interface EncoderConfig {
  /** Whether norms come after the residual, and there is no final norm. */
  normalizesResidual?: boolean;
  /** Learned embeddings of types of tokens. */
  tokenTypes?: number;
}

/** Learned embeddings of positions, of which the file stores `unused` before the first. @internal */
export interface LearnedPositions {
  count: number;
  unused: number;
}

/** A head that scores pairs of texts: its layers after pooling, by the names of their tensors. @internal */
export interface RankingHead {
  pooling: "mean" | "first";
  layers: readonly DenseLayer[];
}

/** A linear map after pooling. @internal */
export interface DenseLayer {
  /** Whole name of its weight. */
  weight: string;
  /** Whole name of its bias, if there is one. */
  bias?: string;
  /** Rows of the weight. */
  size: number;
  activation?: ActivationName;
  /** Name of the norm of its output, without `.weight`. */
  norm?: string;
}

/** In the order of the core's AttentionGate. @internal */
export const ATTENTION_GATES = ["none", "elements", "heads"] as const;
type AttentionGate = (typeof ATTENTION_GATES)[number];

/** What a layer has instead of attention or beside it, in the order of the core's Recurrence. @internal */
export const RECURRENCES = ["none", "convolution", "delta", "mamba2", "mamba", "rwkv7"] as const;

/** A layer's shape. A window of 0 is none. @internal */
export type PlannedLayer = Omit<LayerConfig, "recurrence"> & { recurrence: (typeof RECURRENCES)[number] };

/** What is different in a layer; the rest is that of the model. A recurrent layer has attention only if it says so. @internal */
export type LayerShape = Partial<Omit<PlannedLayer, "window" | "has_experts">>;

/**
 * Tensors of all experts, with gate and up in one of them. `rows`: a matrix [rows][columns] for each expert, the rows of gate before those of up.
 * `transposed`: [columns][rows]. `by_shape`: as `rows` if that is the shape, and otherwise as `transposed`. `alternating`: as `transposed`, but columns of gate and up alternate, and so do biases.
 * @internal
 */
export type ExpertLayout = "rows" | "transposed" | "by_shape" | "alternating";

/** How experts are chosen and weighted; the rest is the core's default. @internal */
export type ExpertRouting = Partial<Omit<Routing, "weight">> &
  Pick<Routing, "used" | "normalizes"> & {
    /** How scores become weights; softmax by default. */
    weight?: "softmax" | "sigmoid";
  };

/** Mixture of experts. Numbers have the names of the core. @internal */
export interface ExpertConfig {
  experts: number;
  routing: ExpertRouting;
  /** Inner size of one expert. */
  expert_size: number;
  /** Inner size of the expert that every token uses; 0 or absent for none. */
  shared_expert_size?: number;
  /** Whether the output of that expert is multiplied by the sigmoid of a score. */
  hasSharedExpertGate?: boolean;
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
  /** Whether layer norms have a bias; true by default. */
  readonly hasNormBiases?: (reader: ConfigReader) => boolean;
  readonly activation: ActivationName | ((reader: ConfigReader) => ActivationName);
  readonly isGated: boolean;
  /** Undefined for a decoder, of an architecture that may be one. */
  readonly encoder?: (reader: ConfigReader) => EncoderConfig | undefined;
  /** Positions that are added to the embeddings of tokens. */
  readonly positions?: (reader: ConfigReader) => LearnedPositions;
  /** Rows of a table of biases by distance, and the distance from which all are the same. The scores of all layers have them. */
  readonly relativePositions?: (reader: ConfigReader) => { buckets: number; maxDistance: number };
  /** The linear map of each token of an encoder after its final norm. */
  readonly projection?: (reader: ConfigReader, nameOf: (name: string) => string) => DenseLayer;
  /** The head of a cross-encoder, if the file has one. */
  readonly rankingHead?: (reader: ConfigReader, prefix: string) => RankingHead | undefined;
  /** Whether no layer has RoPE. */
  readonly hasNoRope?: boolean;
  /** Norms of each layer. All of them are required. */
  readonly norms: (reader: ConfigReader, layer: number) => readonly NormRole[];
  readonly queryKeyNorm?: (reader: ConfigReader) => "none" | "head" | "each_head" | "all_heads" | "rotated";
  /** Whether attention and feed-forward read the same input. */
  readonly isParallel?: (reader: ConfigReader) => boolean;
  /** Projections that must have a bias. Biases of other projections are used if the file has them. */
  readonly biases?: (reader: ConfigReader) => readonly MatrixRole[];
  /** Whether files in transformers format store norm weights minus 1. */
  readonly normsLessOne?: boolean;
  readonly factors?: (reader: ConfigReader) => Partial<Factors>;
  /** Sliding window of each layer in tokens; 0 for full attention. */
  readonly window?: (reader: ConfigReader) => (layer: number) => number;
  /** Whether layers with a sliding window have a different RoPE, or are the only ones with one. */
  readonly hasTwoRopes?: boolean;
  /** Whether the class cuts rotated elements by its own count, so that an odd one takes elements twice or stops. */
  readonly rotatesEvenWidths?: boolean;
  /** Whether sliding layers have a RoPE of their own in a GGUF file with `rope.freq_base_swa`. */
  readonly readsSlidingBase?: boolean;
  /** Epsilon of norms that a class has instead of a key. */
  readonly epsilon?: number;
  /** Epsilon of norms for a file without the key of their kind; 1e-5 by default. */
  readonly ggufEpsilon?: (reader: ConfigReader) => number;
  /** Undefined for a model without experts, of an architecture that may have them. */
  readonly experts?: (reader: ConfigReader) => ExpertConfig | undefined;
  /** Whether heads have sinks: logits that count in the softmax sum. */
  readonly hasSinks?: boolean;
  /** Multi-head latent attention. */
  readonly latent?: (reader: ConfigReader) => LatentConfig;
  readonly perLayer?: (reader: ConfigReader) => PerLayerConfig | undefined;
  /** Whether no layer has attention, and the config no heads. */
  readonly hasNoAttention?: boolean;
  /** Inner size of feed-forward blocks, if the config's usual key isn't it. */
  readonly feedForwardSize?: (reader: ConfigReader) => number | undefined;
  /** Sizes of the layers whose shape has a `recurrence`. */
  readonly recurrence?: (reader: ConfigReader) => Partial<RecurrenceConfig>;
  /**
   * What multiplies the output of a head, by its sigmoid. `elements`: a gate of the size of a query, which the query tensor has after the query of
   * each head. `heads`: a number for each head, of a tensor of its own.
   */
  readonly attentionGate?: (reader: ConfigReader) => AttentionGate;
  /** Whether `per_layer_config` of config.json is read. */
  readonly readsLayerConfig?: boolean;
  readonly layer?: (reader: ConfigReader) => (layer: number) => LayerShape;
  /** Layers whose queries have the temperature of the config: none by default, those without RoPE, or all. */
  readonly temperature?: "without_rope" | "all";
  /** How experts are stored in transformers format, if it isn't in tensors whose names end in `.weight`. */
  readonly expertLayout?: ExpertLayout;
  /** Throws UNSUPPORTED_MODEL for options that this package doesn't have. */
  readonly check?: (reader: ConfigReader) => void;
  /** Tensor names in transformers format. */
  readonly names: TensorNames;
  /** Names of a layer's tensors in GGUF that aren't those of other architectures. */
  readonly ggufNames?: LayerNames;
  /** The same for the final norm. */
  readonly ggufFinalNorm?: string;
  /** Whether files in transformers format store the matrices of layers transposed, as [columns][rows]. */
  readonly isTransposed?: boolean;
  /**
   * The order of a fused qkv tensor in transformers format, if it isn't all of q, then k, then v. `head`: q, k, v of
   * head 0, then of head 1, …. `group`: the queries, the key and the value of key head 0, then of key head 1, ….
   */
  readonly fusedBy?: "head" | "group";
}
