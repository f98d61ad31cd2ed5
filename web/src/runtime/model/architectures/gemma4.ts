// Gemma 3n, Gemma 4 and EmbeddingGemma 2: shared keys and values, and embeddings of each layer.
import { isDict } from "../../../core/base/dict.js";
import { layerEntry } from "../../../core/config/values.js";
import { defaultPerLayerConfig, type PerLayerConfig } from "../../../core/memory/model_fields.js";
import type { ConfigKey, ConfigReader } from "../config/config_reader.js";
import { MAX_HEAD_DIM, MAX_VOCABULARY, MAX_WIDTH } from "../config/limits.js";
import { allButEvery, bothSides, byPeriod, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { Architecture, ExpertConfig, LayerShape } from "./parts/architecture.js";
import {
  biasesIf,
  HEADS,
  HIDDEN,
  hiddenActivation,
  LAYERS,
  llama,
  POST_NORMS,
  PRE_NORMS,
  QK_NORMS,
  QKV,
} from "./parts/common.js";
import { readExperts, withRouting } from "./parts/experts.js";

const GLOBAL_HEAD_DIM = 512;
const PER_LAYER: ConfigKey = ["per_layer_config", ""];

const gemma4: Architecture = {
  ...llama,
  huggingFace: ["gemma4_text", "gemma4"],
  gguf: ["gemma4"],
  activation: hiddenActivation("gelu_tanh", "gelu_tanh", ["hidden_activation"]),
  norms: (reader) => [
    ...[...PRE_NORMS, ...POST_NORMS, ...QK_NORMS],
    ...(perLayerSize(reader) > 0 ? PER_LAYER_NORM : []),
    ...(hasExperts(reader) ? EXPERT_NORMS : []),
  ],
  queryKeyNorm: () => "head",
  window: slidingWindows({ tokens: 512, slides: allButEvery(6), lastIsFull: true }, { slides: allButEvery(6) }),
  hasTwoRopes: true,
  factors: (reader) => ({
    attention_scale: 1,
    embedding_scale: Math.sqrt(reader.integer(HIDDEN)),
    logit_soft_cap: reader.number(["final_logit_softcapping", "final_logit_softcapping"], reader.isGguf ? 30 : 0),
    normalizes_values: true,
  }),
  perLayer: gemma4PerLayer,
  layer: gemma4Layer,
  readsLayerConfig: true,
  experts: gemma4Experts,
  expertLayout: "rows",
  check: refuseBothDirections,
  names: llamaNames(
    {
      attention_post_norm: "post_attention_layernorm",
      feed_forward_norm: "pre_feedforward_layernorm",
      feed_forward_post_norm: "post_feedforward_layernorm",
      per_layer_gate: "per_layer_input_gate",
      per_layer_output: "per_layer_projection",
      per_layer_norm: "post_per_layer_input_norm",
      layer_scale: "layer_scalar",
      router: "router.proj",
      router_norm: "router.scale",
      expert_scales: "router.per_expert_scale",
      expert_gate_up: "experts.gate_up_proj",
      expert_down: "experts.down_proj",
      expert_norm: "pre_feedforward_layernorm_2",
      expert_post_norm: "post_feedforward_layernorm_2",
      shared_expert_post_norm: "post_feedforward_layernorm_1",
      shared_gate: "mlp.gate_proj",
      shared_up: "mlp.up_proj",
      shared_down: "mlp.down_proj",
      laurel_down: "laurel.linear_left",
      laurel_up: "laurel.linear_right",
      laurel_norm: "laurel.post_laurel_norm",
      stream_router: "altup.modality_router",
      stream_norm: "altup.router_norm",
      stream_prediction: "altup.prediction_coefs",
      stream_correction: "altup.correction_coefs",
      stream_scale: "altup.correct_output_scale",
    },
    {
      per_layer_embedding: "model.embed_tokens_per_layer",
      per_layer_projection: "model.per_layer_model_projection",
      per_layer_projection_norm: "model.per_layer_projection_norm",
      streams_in: "model.altup_projections.{s}",
      streams_out: "model.altup_unembed_projections.{s}",
    },
  ),
  ggufNames: {
    router_norm: "ffn_gate_inp.scale",
    expert_scales: "ffn_down_exps.scale",
    expert_norm: "pre_ffw_norm_2",
    expert_post_norm: "post_ffw_norm_2",
    shared_expert_post_norm: "post_ffw_norm_1",
    shared_gate: "ffn_gate",
    shared_up: "ffn_up",
    shared_down: "ffn_down",
  },
};
const PER_LAYER_NORM = ["per_layer_norm"] as const;
const EXPERT_NORMS = ["expert_norm", "expert_post_norm", "shared_expert_post_norm"] as const;

const gemma3nWindows = slidingWindows({ tokens: 512, slides: allButEvery(5) }, { slides: allButEvery(5) });

/** Gemma 4 and 3n, and EmbeddingGemma 2. @internal */
export const GEMMA4_ROWS: readonly Architecture[] = [
  gemma4,
  {
    ...gemma4,
    huggingFace: ["gemma3n_text", "gemma3n"],
    gguf: ["gemma3n"],
    norms: () => [...PRE_NORMS, ...POST_NORMS, ...QK_NORMS, ...PER_LAYER_NORM, "laurel_norm", "stream_norm"],
    window: gemma3nWindows,
    factors: (reader) => ({
      ...gemma4.factors!(reader),
      logit_soft_cap: reader.number(["final_logit_softcapping", "final_logit_softcapping"], 30),
    }),
    perLayer: (reader) => ({
      ...gemma4PerLayer(reader)!,
      streams: reader.integer(["altup_num_inputs", "altup.num_inputs"], 4, 1, 64),
      active_stream: reader.integer(["altup_active_idx", "altup.active_idx"], 0, 0, 63),
      laurel: reader.isGguf
        ? reader.rowsOf(/^blk\.0\.laurel_l\.weight$/)
        : reader.integer(["laurel_rank", ""], undefined, 1, MAX_WIDTH),
    }),
    layer: gemma3nLayer,
    readsLayerConfig: false,
    experts: () => undefined,
  },
  {
    ...gemma4,
    huggingFace: ["embedding_gemma2_text", "embedding_gemma2"],
    gguf: ["gemma-embedding2"],
    norms: () => [...PRE_NORMS, ...POST_NORMS, ...QK_NORMS, ...PER_LAYER_NORM],
    biases: biasesIf("attention_bias", [...QKV, "output"]),
    encoder: () => ({}),
    window: embeddingWindows,
    factors: (reader) => ({ ...gemma4.factors!(reader), logit_soft_cap: 0 }),
    perLayer: (reader) => ({
      ...defaultPerLayerConfig(),
      size: reader.integer(
        ["hidden_size_per_layer_input", "embedding_length_per_layer_input"],
        reader.isGguf ? undefined : 512,
        1,
        MAX_WIDTH,
      ),
    }),
    layer: embeddingLayer,
    projection: (reader, nameOf) => {
      const weight = `${nameOf(reader.isGguf ? "output" : "model.embedding_projection")}.weight`;
      return { weight, size: reader.rowsOfTensor(weight) };
    },
    experts: () => undefined,
    check: () => undefined,
    names: {
      ...gemma4.names,
      head: "",
      per_layer_projection: "model.ple.per_layer_model_projection",
      per_layer_projection_norm: "model.ple.per_layer_projection_norm",
      layers: {
        ...gemma4.names.layers,
        per_layer_gate: "ple_block.per_layer_input_gate",
        per_layer_output: "ple_block.per_layer_projection",
        per_layer_norm: "ple_block.post_per_layer_input_norm",
      },
    },
  },
];

/** A config.json has the distance that a token still sees, a GGUF file both sides. */
function embeddingWindows(reader: ConfigReader): (layer: number) => number {
  const windowOf = slidingWindows(
    { tokens: 512, slides: byPeriod(6), lastIsFull: true, isDistance: true },
    { slides: allButEvery(6) },
  )(reader);
  return (layer) => {
    const window = windowOf(layer);
    return reader.isGguf && window > 0 ? bothSides(window) : window;
  };
}

function embeddingLayer(reader: ConfigReader): (layer: number) => LayerShape {
  const window = embeddingWindows(reader);
  const heads = reader.integer(HEADS);
  const size = (config: string, gguf: string, fallback?: number): number =>
    reader.integer([config, gguf], fallback, 1, MAX_HEAD_DIM);
  if (reader.isGguf)
    return (layer) => ({
      head_dim:
        window(layer) > 0
          ? size("", "attention.key_length_swa", size("", "attention.key_length"))
          : size("", "attention.key_length"),
      kv_heads:
        ofLayer(reader, "", "attention.head_count_kv", layer) ??
        reader.integer(["", "attention.head_count_kv"], heads, 1, heads),
    });
  const kvHeads = (key: string, byDefault: number): number => reader.integer([key, ""], byDefault, 1, heads);
  const isListed = reader.has(PER_LAYER);
  return (layer) => {
    const isFull = window(layer) === 0 && !isListed;
    const own = overridden(reader, layer);
    return {
      head_dim: own.head_dim ?? (isFull ? size("global_head_dim", "", GLOBAL_HEAD_DIM) : size("head_dim", "", 256)),
      kv_heads:
        own.num_key_value_heads ??
        (isFull ? kvHeads("num_global_key_value_heads", 1) : kvHeads("num_key_value_heads", heads)),
    };
  };
}

/** "vision" is about the tokens of images. */
function refuseBothDirections(reader: ConfigReader): void {
  const { value, path } = reader.find(["use_bidirectional_attention", ""]);
  if (!reader.isGguf && value === "all")
    reader.refuse("UNSUPPORTED_MODEL", path, 'is "all": Gemma 4 that reads a whole text at once is not supported');
}

function hasExperts(reader: ConfigReader): boolean {
  return reader.isGguf
    ? reader.hasTensor("blk.0.ffn_gate_inp.weight")
    : reader.boolean(["enable_moe_block", ""], false);
}

/** Each layer has a dense block beside its experts, which here is the expert that every token uses. */
function gemma4Experts(reader: ConfigReader): ExpertConfig | undefined {
  if (!hasExperts(reader)) return undefined;
  const inner = reader.integer(["intermediate_size", "feed_forward_length"], undefined, 1, MAX_WIDTH);
  const experts = readExperts(reader, {
    experts: ["num_experts"],
    used: ["top_k_experts"],
    size: ["moe_intermediate_size"],
    normalizes: [true, true],
  });
  return {
    ...withRouting(experts, { score_scale: 1 / Math.sqrt(reader.integer(HIDDEN)) }),
    shared_expert_size: inner,
  };
}

function perLayerSize(reader: ConfigReader): number {
  return reader.integer(["hidden_size_per_layer_input", "embedding_length_per_layer_input"], 256, 0, MAX_WIDTH);
}

function gemma4PerLayer(reader: ConfigReader): PerLayerConfig | undefined {
  const size = perLayerSize(reader);
  if (size === 0) return undefined;
  const vocabulary_size = reader.isGguf
    ? reader.rowsOf(/^per_layer_token_embd\.weight$/)
    : reader.integer(["vocab_size_per_layer_input", ""], undefined, 1, MAX_VOCABULARY);
  return { ...defaultPerLayerConfig(), size, vocabulary_size };
}

/** The layer whose keys and values a layer reads: the last one of its kind before the shared layers; −1 for its own. */
function sharedKeys(
  reader: ConfigReader,
  isSliding: (layer: number) => boolean,
  byDefault: number,
): (layer: number) => number {
  const layers = reader.integer(LAYERS);
  const first =
    layers - reader.integer(["num_kv_shared_layers", "attention.shared_kv_layers"], byDefault, 0, layers - 1);
  const owners = Array.from({ length: first }, (_, index) => first - 1 - index); // the last one first
  return (layer) => {
    if (layer < first) return -1;
    const owner = owners.find((index) => isSliding(index) === isSliding(layer));
    return (
      owner ??
      reader.refuse("INVALID_FILE", "num_kv_shared_layers", `leaves no layer whose keys layer ${layer} can read`)
    );
  };
}

/** A number of each layer, if the file has a list of them. */
function ofLayer(reader: ConfigReader, config: string, gguf: string, layer: number): number | undefined {
  const value = reader.list([config, gguf])?.[layer];
  if (value === undefined) return undefined;
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > MAX_WIDTH)
    reader.refuse("INVALID_FILE", reader.find([config, gguf]).path, "must be positive integers");
  return value as number;
}

function gemma4Layer(reader: ConfigReader): (layer: number) => LayerShape {
  const window = gemma4.window!(reader);
  const isSliding = (layer: number): boolean => window(layer) > 0;
  const keysOf = sharedKeys(reader, isSliding, 0);
  const heads = reader.integer(HEADS);
  const isWide = reader.boolean(["use_double_wide_mlp", ""], false);
  const equalsKeys = reader.boolean(["attention_k_eq_v", ""], false);
  const size = (config: string, gguf: string, fallback?: number): number =>
    reader.integer([config, gguf], fallback, 1, MAX_HEAD_DIM);
  // beside that key, even an empty one, the class doesn't read those of layers with full attention
  const isListed = reader.has(PER_LAYER);
  return (layer) => {
    const keys_of = keysOf(layer);
    const sliding = isSliding(layer) || isListed;
    if (isWide && keys_of >= 0 && hasExperts(reader))
      reader.refuse("UNSUPPORTED_MODEL", "use_double_wide_mlp", "isn't supported in a model with experts");
    const own = overridden(reader, layer);
    const listed = ofLayer(reader, "", "attention.head_count_kv", layer);
    const kv_heads = listed ?? reader.integer(["num_key_value_heads", "attention.head_count_kv"], heads, 1, heads);
    const global = equalsKeys ? reader.integer(["num_global_key_value_heads", ""], kv_heads, 1, heads) : kv_heads;
    const inner = ofLayer(reader, "", "feed_forward_length", layer);
    return {
      keys_of,
      head_dim:
        own.head_dim ??
        (sliding
          ? size("head_dim", "attention.key_length_swa", 256)
          : size("global_head_dim", "attention.key_length", GLOBAL_HEAD_DIM)),
      kv_heads: own.num_key_value_heads ?? (sliding ? kv_heads : global),
      values_are_keys: reader.isGguf
        ? keys_of < 0 &&
          !reader.hasTensor(`blk.${layer}.attn_v.weight`) &&
          !reader.hasTensor(`blk.${layer}.attn_qkv.weight`)
        : equalsKeys && !isSliding(layer),
      feed_forward_size:
        inner ??
        reader.integer(["intermediate_size", "feed_forward_length"], undefined, 1, MAX_WIDTH) *
          (isWide && keys_of >= 0 ? 2 : 1),
    };
  };
}

/** What transformers 5 writes for a layer that differs from the others. */
function overridden(reader: ConfigReader, layer: number): { head_dim?: number; num_key_value_heads?: number } {
  const { value, path } = reader.find(PER_LAYER);
  if (reader.isGguf || !isDict(value)) return {};
  const own = layerEntry(value, layer);
  const read = (key: string): number | undefined => {
    const found = typeof own === "object" && own !== null ? (own as Record<string, unknown>)[key] : undefined;
    if (found === undefined || found === null) return undefined;
    if (!Number.isInteger(found) || (found as number) < 1 || (found as number) > MAX_HEAD_DIM)
      reader.refuse("INVALID_FILE", path, `must have an integer from 1 to ${MAX_HEAD_DIM} as ${key}`);
    return found as number;
  };
  const others = Object.keys(own ?? {}).filter((key) => key !== "head_dim" && key !== "num_key_value_heads");
  if (others.length > 0)
    reader.refuse("UNSUPPORTED_MODEL", `${path}.${layer}.${others[0]!}`, "isn't supported as a key of one layer");
  const [head_dim, num_key_value_heads] = [read("head_dim"), read("num_key_value_heads")];
  return {
    ...(head_dim !== undefined && { head_dim }),
    ...(num_key_value_heads !== undefined && { num_key_value_heads }),
  };
}

function gemma3nLayer(reader: ConfigReader): (layer: number) => LayerShape {
  const window = gemma3nWindows(reader);
  const layers = reader.integer(LAYERS);
  const keysOf = sharedKeys(reader, (layer) => window(layer) > 0, Math.min(15, layers - 1));
  const sparsity = reader.list(["activation_sparsity_pattern", ""]);
  const deviations = reader.list(["", "activation_sparsity_scale"]);
  return (layer) => {
    const share = sparsity === undefined ? (layer < 10 && layers > 10 ? 0.95 : 0) : Number(sparsity[layer]);
    const scale = reader.isGguf
      ? Number(deviations?.[layer] ?? -Infinity)
      : share > 0
        ? normalQuantile(share)
        : -Infinity;
    return {
      keys_of: keysOf(layer),
      feed_forward_size:
        ofLayer(reader, "intermediate_size", "feed_forward_length", layer) ??
        reader.integer(["intermediate_size", "feed_forward_length"], undefined, 1, MAX_WIDTH),
      gate_deviations: scale,
    };
  };
}

/** The x below which a share of the normal distribution lies, to double precision: bisection of its distribution function. */
function normalQuantile(share: number): number {
  let [low, high] = [-9, 9];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (normalShare(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The share of the normal distribution below x: 1/2 + φ(x) (x + x³/3 + x⁵/15 + …). */
function normalShare(x: number): number {
  let [term, sum] = [x, x];
  for (let n = 1; n < 400 && Math.abs(term) > 1e-18; n++) sum += term *= (x * x) / (2 * n + 1);
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}
