// The number of a model's parameters by its config.json alone: the sizes of the tensors that its architecture has (map_weights.ts finds them in files).
import type { Dict } from "../../../core/base/dict.js";
import { defaultPerLayerConfig, type PerLayerConfig } from "../../../core/memory/model_fields.js";
import { ggufSourceOf } from "../../../core/config/rope_config.js";
import type { Architecture, ExpertConfig, LayerShape } from "../architectures/parts/architecture.js";
import { HIDDEN, LAYERS, QKV } from "../architectures/parts/common.js";
import type { MatrixRole, NormRole } from "../architectures/parts/tensor_names.js";
import type { ConfigReader } from "../config/config_reader.js";
import { MAX_LAYERS, MAX_VOCABULARY, MAX_WIDTH } from "../config/limits.js";
import { type AttentionShape, attentionShape, hasAttention } from "./attention_shape.js";
import { ifSupported } from "./config_ropes.js";
import { encoderOf } from "./encoder_of.js";

/** Classes of transformers 5.24 that use the embedding as head if config.json doesn't say. */
const TIES =
  /^(cohere2?|ernie4_5(_moe)?|gemma\w*|gpt2|lfm2(_moe)?|minicpm3|qwen3_vl_moe_text|smollm3|starcoder2|youtu)$/;

/** Classes whose feed-forward blocks are four times as wide as the model if config.json doesn't say. */
const FOUR_TIMES = /^(gpt2|gptj|codegen|phi)$/;

/**
 * The parameters of the language model of a config.json. Undefined for GGUF, encoders, models with recurrent layers, architectures
 * that this package doesn't have, and configs without the sizes of their layers or of their vocabulary.
 * @internal
 */
export function parameterCount(source: Dict): number | undefined {
  if (ggufSourceOf(source) !== undefined) return undefined;
  return ifSupported(source, (reader, architecture) => {
    if (encoderOf(architecture, reader) !== undefined) return undefined;
    const layers = reader.integer(LAYERS, undefined, 1, MAX_LAYERS);
    const shape = attentionShape(reader, architecture, layers);
    if (shape.own.some(({ recurrence = "none" }) => recurrence !== "none")) return undefined;
    const hidden = reader.integer(HIDDEN, undefined, 1, MAX_WIDTH);
    const vocabulary = reader.integer(["vocab_size", ""], undefined, 1, MAX_VOCABULARY);
    const sizes = { reader, architecture, shape, hidden, experts: architecture.experts?.(reader) };
    const outer = reader.source["tie_word_embeddings"]; // of multimodal models, that outside text_config counts
    const isTied =
      typeof outer === "boolean" ? outer : reader.boolean(["tie_word_embeddings", ""], TIES.test(reader.architecture));
    const perLayer = { ...defaultPerLayerConfig(), ...architecture.perLayer?.(reader) };
    const positions = architecture.positions?.(reader).count ?? 0;
    return (
      (vocabulary * (isTied ? 1 : 2) + positions) * hidden +
      normSize(sizes, hidden) +
      ofPerLayer(perLayer, layers, hidden) +
      shape.own.reduce((sum, own, layer) => sum + ofLayer(sizes, own, layer), 0)
    );
  });
}

interface Sizes {
  readonly reader: ConfigReader;
  readonly architecture: Architecture;
  readonly shape: AttentionShape;
  readonly hidden: number;
  readonly experts: ExpertConfig | undefined;
}

function ofLayer(sizes: Sizes, own: LayerShape, layer: number): number {
  const { reader, architecture, hidden, experts } = sizes;
  const hasExperts = experts?.hasExperts(layer) ?? false;
  const width = hasExperts || own.has_feed_forward === false ? 0 : (own.feed_forward_size ?? denseWidth(sizes));
  const attention = hasAttention(own) ? attentionParts(sizes, own) : {};
  const dense = { gate: architecture.isGated ? width * hidden : 0, up: width * hidden, down: hidden * width };
  const rows: Partial<Record<MatrixRole, number>> = {
    ...Object.fromEntries(Object.entries(attention).map(([role, { rows }]) => [role, rows])),
    ...(width > 0 && { gate: width, up: width, down: hidden }),
  };
  const biases = biasesOf(sizes);
  return (
    sum(Object.values(attention).map(({ rows, columns }) => rows * columns)) +
    sum(Object.values(dense)) +
    sum(biases.map((role) => rows[role] ?? 0)) +
    sum(architecture.norms(reader, layer).map((norm) => ofNorm(sizes, own, norm, width))) +
    (architecture.hasSinks === true ? sizes.shape.heads : 0) +
    (experts !== undefined && hasExperts ? ofExperts(sizes, experts) : 0)
  );
}

/** Projections that have a bias: by their architecture, or by the keys of Llama, whose row uses what a file has. */
function biasesOf({ reader, architecture }: Sizes): readonly MatrixRole[] {
  const ofRow = architecture.biases?.(reader);
  if (ofRow !== undefined) return ofRow;
  const has = (key: string): boolean => reader.boolean([key, ""], false);
  return [
    ...(has("attention_bias") ? [...QKV, "output" as const] : []),
    ...(has("mlp_bias") ? (["gate", "up", "down"] as const) : []),
  ];
}

interface Matrix {
  readonly rows: number;
  readonly columns: number;
}

function attentionParts({ reader, architecture, shape, hidden }: Sizes, own: LayerShape): Record<string, Matrix> {
  const { heads, latent } = shape;
  if (latent !== undefined) {
    const queries = heads * (latent.plain + latent.rotated);
    const up = { rows: heads * (latent.plain + latent.value), columns: latent.latent };
    return {
      ...(latent.query > 0 && { query_latent: { rows: latent.query, columns: hidden } }),
      query: { rows: queries, columns: latent.query > 0 ? latent.query : hidden },
      latent: { rows: latent.latent + latent.rotated, columns: hidden },
      key_value_up: up,
      output: { rows: hidden, columns: heads * latent.value },
    };
  }
  const { head_dim = shape.head_dim, kv_heads = shape.kv_heads, keys_of = -1, values_are_keys = false } = own;
  const keys = { rows: kv_heads * head_dim, columns: hidden };
  const queries = heads * head_dim;
  const gate = architecture.attentionGate?.(reader);
  return {
    query: { rows: queries, columns: hidden },
    ...(gate !== undefined &&
      gate !== "none" && { gate: { rows: gate === "heads" ? heads : queries, columns: hidden } }),
    ...(keys_of < 0 && { key: keys, ...(!values_are_keys && { value: keys }) }),
    output: { rows: hidden, columns: queries },
  };
}

function ofNorm(sizes: Sizes, own: LayerShape, norm: NormRole, width: number): number {
  const { architecture, reader, shape, hidden } = sizes;
  const { head_dim = shape.head_dim, kv_heads = shape.kv_heads, keys_of = -1 } = own;
  if (norm === "query_norm" || norm === "key_norm") {
    if (!hasAttention(own) || (norm === "key_norm" && keys_of >= 0)) return 0;
    const kind = architecture.queryKeyNorm?.(reader);
    const isOfHead = kind === "head" || kind === "rotated";
    return isOfHead ? head_dim : head_dim * (norm === "query_norm" ? shape.heads : kv_heads);
  }
  const inside: Partial<Record<NormRole, number>> = {
    attention_sub_norm: shape.heads * head_dim,
    feed_forward_sub_norm: width,
    latent_norm: shape.latent?.latent ?? 0,
    query_latent_norm: shape.latent?.query ?? 0,
  };
  return normSize(sizes, inside[norm] ?? hidden);
}

/** A norm, with its bias if it has one. */
function normSize({ architecture, reader }: Sizes, size: number): number {
  return architecture.norm === "layer" && (architecture.hasNormBiases?.(reader) ?? true) ? 2 * size : size;
}

/** All experts: a token uses only some of them, but each must be in memory. */
function ofExperts({ architecture, hidden }: Sizes, experts: ExpertConfig): number {
  const { experts: count, expert_size: size, shared_expert_size: shared = 0, hasSharedExpertGate } = experts;
  const matrices = architecture.isGated ? 3 : 2;
  const biases = architecture.expertLayout === "alternating" ? count * (1 + 2 * size + hidden) : 0;
  const gate = shared > 0 && hasSharedExpertGate === true ? hidden : 0;
  return count * hidden + matrices * hidden * (count * size + shared) + biases + gate;
}

function denseWidth({ reader, architecture, hidden }: Sizes): number {
  const byDefault = FOUR_TIMES.test(reader.architecture) ? 4 * hidden : undefined;
  return (
    architecture.feedForwardSize?.(reader) ??
    reader.integer([["intermediate_size", "n_inner"], ""], byDefault, 1, MAX_WIDTH)
  );
}

/** Embeddings and residual streams of each layer (Gemma 3n and 4). */
function ofPerLayer(config: PerLayerConfig, layers: number, hidden: number): number {
  const { size, vocabulary_size, streams, laurel } = config;
  const embeddings = layers * size * (vocabulary_size + hidden) + layers * 2 * size * hidden + (size > 0 ? size : 0);
  const mixed =
    streams > 0 ? 2 * (streams - 1) * hidden ** 2 + layers * streams * (hidden + (streams + 1) * streams) : 0;
  return embeddings + mixed + layers * 2 * laurel * hidden;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
