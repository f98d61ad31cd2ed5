// Reads a model's dimensions and the RoPE of each layer from its files.
import type { RopeOverrides } from "../config/overrides.js";
import { type GgufRopeTensors } from "../config/gguf.js";
import { isDict } from "../base/dict.js";
import { inOption, overrideRopeConfig, ropeConfig } from "../config/rope_config.js";
import { fail } from "../base/errors.js";
import { show } from "../base/show.js";
import { KINDS_WITHOUT_ATTENTION } from "../config/layer_kinds.js";
import { ropeLayers } from "../config/rope_layers.js";
import type { RopeConfig } from "../config/types.js";
import type { ModelFiles } from "../files/model_files.js";
import type { WasmLayerConfig, WasmModelConfig } from "../memory/wasm_model_functions.js";
import type {
  Architecture,
  DenseLayer,
  ExpertConfig,
  Factors,
  LatentSizes,
  PerLayerSizes,
} from "./architectures/architecture.js";
import { LAYER_TYPES, LAYERS } from "./architectures/common.js";
import { checkChosen } from "./architectures/experts.js";
import { checkEvenWidths, checkGgufRope } from "./architectures/gguf_rope.js";
import { architectureOf } from "./architectures/table.js";
import { type EmbeddingPlan, embeddingPlan } from "./embed/embedding_plan.js";
import { encoderOf, whyNoText, windowsOf } from "./embed/encoder_of.js";
import { attentionShape, hasAttention, hasOwnKeys, largest } from "./attention_shape.js";
import { type ConfigKey, ConfigReader } from "./config_reader.js";
import { MAX_LAYERS, MAX_VOCABULARY, MAX_WIDTH } from "./limits.js";
import { NO_RECURRENCE, type RecurrentKind, recurrentKind } from "./recurrent_layers.js";

/** Changes to the RoPE of a model: of its full-attention layers, or by kind of layer. */
export type ModelRopeOverrides =
  RopeOverrides | { readonly full_attention?: RopeOverrides; readonly sliding_attention?: RopeOverrides };

/** Kinds of attention layers, by their names in transformers. */
export type AttentionKind = "full_attention" | "sliding_attention";

/**
 * Kinds of layers, by their names in transformers. `hybrid` has full attention and a recurrence beside each other,
 * `mlp` and `moe` have neither: only a feed-forward block, or experts.
 */
export type LayerKind = AttentionKind | RecurrentKind | "hybrid" | "mlp" | "moe";

/** A layer of a model. */
export interface ModelLayer {
  /** The name in transformers: `sliding_attention` for a layer with a window. */
  readonly kind: LayerKind;
  /** RoPE of its queries and keys; null for a layer without RoPE. */
  readonly rope: Readonly<RopeConfig> | null;
  /** Sliding window in tokens; 0 for full attention. */
  readonly window: number;
  /** Whether its feed-forward block is a mixture of experts. */
  readonly hasExperts: boolean;
}
const PREDICTION_LAYERS: ConfigKey = [["num_nextn_predict_layers", "num_mtp_layers"], "nextn_predict_layers"];

/** What a model's files say about it. @internal */
export interface ModelPlan {
  readonly reader: ConfigReader;
  readonly architecture: Architecture;
  readonly config: WasmModelConfig;
  readonly experts: ExpertConfig | undefined;
  readonly layers: readonly ModelLayer[];
  /** Layers after these that predict further tokens, and aren't read. GGUF counts them as layers. */
  readonly predictionLayers: number;
  /** The shape of each layer, as the core takes it. */
  readonly shapes: readonly WasmLayerConfig[];
  /** Context length the model was trained for, or extended to by its config. */
  readonly trainedLength: number;
  /** How the model embeds texts. */
  readonly embedding: EmbeddingPlan;
  /** Why the model generates no text, as the end of a sentence; undefined if it does. */
  readonly noText: string | undefined;
}

const NORMS = ["rms", "layer"];
const QUERY_KEY_NORMS = ["none", "head", "each_head", "all_heads", "rotated"];
const ACTIVATIONS = ["silu", "gelu", "gelu_tanh", "relu2", "xielu", "clamped_silu", "relu", "tanh"];
const EXPERT_WEIGHTS = ["softmax", "sigmoid"];
const NO_FACTORS: Factors = {
  attention_scale: NaN,
  attention_soft_cap: 0,
  embedding_scale: 1,
  residual_scale: 1,
  logit_scale: 1,
  logit_soft_cap: 0,
  gate_slope: 1,
  gate_limit: 0,
  normalizes_values: false,
  attention_in_multiplier: 1,
  key_multiplier: 1,
  attention_out_multiplier: 1,
  gate_multiplier: 1,
  down_multiplier: 1,
  recurrent_in_multiplier: 1,
  recurrent_gate_multiplier: 1,
  recurrent_value_multiplier: 1,
  recurrent_key_multiplier: 1,
  recurrent_query_multiplier: 1,
  recurrent_step_multiplier: 1,
  recurrent_out_multiplier: 1,
};
const NO_LATENT: LatentSizes = {
  latent_size: 0,
  latent_rotated: 0,
  latent_plain: 0,
  latent_value: 0,
  latent_query: 0,
};
const NO_PER_LAYER: PerLayerSizes = {
  per_layer_size: 0,
  per_layer_vocabulary: 0,
  streams: 0,
  active_stream: 0,
  laurel_size: 0,
};

/**
 * Reads the dimensions and layers of a model from its files.
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL, INVALID_FILE, and as ropeConfig().
 * @internal
 */
export function planOf(
  files: ModelFiles,
  ropeTensors: GgufRopeTensors,
  overrides: ModelRopeOverrides | undefined,
): ModelPlan {
  const reader = new ConfigReader(files);
  const architecture = architectureOf(reader);
  if (files.tensors.size === 0) reader.refuse("INVALID_FILE", "tensors", "there are none: the file has only a header");
  const maxLayers = Math.min(files.tensors.size, MAX_LAYERS); // each layer has at least one tensor
  const stored = reader.integer(LAYERS, reader.list([LAYER_TYPES, ""])?.length, 1, maxLayers);
  const predictionLayers = reader.integer(PREDICTION_LAYERS, 0, 0, reader.isGguf ? stored - 1 : MAX_LAYERS);
  const layers = reader.isGguf ? stored - predictionLayers : stored;
  const hidden_size = reader.integer([["hidden_size", "n_embd"], "embedding_length"], undefined, 1, MAX_WIDTH);
  const experts = checkChosen(reader, architecture.experts?.(reader));
  const window = windowsOf(architecture, reader);
  const epsilon: [string[], string] =
    architecture.norm === "rms"
      ? [["rms_norm_eps", "norm_eps", "layer_norm_epsilon"], "attention.layer_norm_rms_epsilon"]
      : [
          ["layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon", "rms_norm_eps"],
          "attention.layer_norm_epsilon",
        ];
  const { activation } = architecture;
  architecture.check?.(reader);

  const norm_epsilon = reader.number(epsilon, architecture.ggufEpsilon?.(reader) ?? 1e-5);
  const { heads, kv_heads, head_dim, latent, own } = attentionShape(reader, architecture, layers);
  const source = reader.isGguf ? { metadata: files.metadata, tensors: ropeTensors } : reader.source;
  // a switch in files of Granite, and only information in others
  const isGranite = reader.isGguf && reader.architecture.startsWith("granite") && reader.architecture !== "granitemoe";
  const isWithoutRope = isGranite && !reader.boolean(["", "rope.scaling.finetuned"], true);
  const hasRope = architecture.hasNoAttention || architecture.hasNoRope || isWithoutRope ? [] : ropeLayers(source);
  const encoder = encoderOf(architecture, reader);
  const noText = whyNoText(files, architecture, reader);
  const embedding = embeddingPlan(reader, files, architecture);
  const dense = (index: number): DenseLayer | undefined => embedding.dense[index];
  const activationOf = (layer: DenseLayer | undefined): number =>
    layer?.activation === undefined ? -1 : ACTIVATIONS.indexOf(layer.activation);
  const ropes = ropesByKind(source, overrides);
  refuseOtherLayers(architecture, reader);
  const hasTwoRopes =
    architecture.hasTwoRopes ?? (architecture.readsSlidingBase && reader.has(["", "rope.freq_base_swa"]));
  const attentionKind = (layer: number): AttentionKind =>
    hasTwoRopes && (window(layer) > 0 || (own[layer]?.chunk ?? 0) > 0) ? "sliding_attention" : "full_attention";
  const temperature = temperatureOf(architecture, () => ropes("full_attention"));

  const config: WasmModelConfig = {
    layers,
    vocabulary_size: vocabularySize(files, reader),
    hidden_size,
    heads,
    kv_heads,
    head_dim,
    feed_forward_size:
      largest(own, "feed_forward_size") ??
      architecture.feedForwardSize?.(reader) ??
      (architecture.hasNoAttention ? 1 : undefined) ??
      reader.integer([["intermediate_size", "n_inner"], "feed_forward_length"], 4 * hidden_size, 1, MAX_WIDTH),
    norm: NORMS.indexOf(architecture.norm),
    norm_epsilon,
    query_key_norm: QUERY_KEY_NORMS.indexOf(architecture.queryKeyNorm?.(reader) ?? "none"),
    activation: ACTIVATIONS.indexOf(typeof activation === "string" ? activation : activation(reader)),
    is_gated: architecture.isGated,
    is_parallel: architecture.isParallel?.(reader) ?? false,
    ...NO_FACTORS,
    ...architecture.factors?.(reader),
    experts: experts?.experts ?? 0,
    expert_size: experts?.expert_size ?? 0,
    shared_expert_size: experts?.shared_expert_size ?? 0,
    experts_used: experts?.experts_used ?? 0,
    expert_weight: EXPERT_WEIGHTS.indexOf(experts?.weight ?? "softmax"),
    normalizes_experts: experts?.normalizes_experts ?? false,
    expert_scale: experts?.expert_scale ?? 1,
    scales_expert_input: experts?.scales_expert_input ?? false,
    expert_groups: experts?.expert_groups ?? 1,
    expert_groups_used: experts?.expert_groups_used ?? 1,
    expert_group_best: experts?.expert_group_best ?? 1,
    expert_score_scale: experts?.expert_score_scale ?? 1,
    expert_least_sum: experts?.expert_least_sum ?? 1e-20,
    ...(latent ?? NO_LATENT),
    // transformers' configs have no key for the epsilon of these norms
    latent_norm_epsilon: reader.isGguf ? norm_epsilon : 1e-6,
    ...(architecture.perLayer?.(reader) ?? NO_PER_LAYER),
    ...NO_RECURRENCE,
    ...architecture.recurrence?.(reader),
    gates_attention: architecture.gatesAttention ?? false,
    ...temperature,
    is_causal: encoder === undefined,
    normalizes_residual: encoder?.normalizesResidual ?? false,
    positions: encoder?.positions?.count ?? 0,
    token_types: encoder?.tokenTypes ?? 0,
    dense_1_size: dense(0)?.size ?? 0,
    dense_1_activation: activationOf(dense(0)),
    dense_2_size: dense(1)?.size ?? 0,
    dense_2_activation: activationOf(dense(1)),
    dense_3_size: dense(2)?.size ?? 0,
    dense_3_activation: activationOf(dense(2)),
  };
  const kindOf = (layer: number): LayerKind => {
    const shape = own[layer]!;
    const withoutRecurrence = (): LayerKind => {
      if (hasAttention(shape)) return attentionKind(layer);
      return experts?.hasExperts(layer) ? "moe" : "mlp";
    };
    return recurrentKind(shape) ?? withoutRecurrence();
  };
  const modelLayers = Array.from({ length: layers }, (_, layer) => ({
    kind: kindOf(layer),
    rope: hasRope[layer] && hasAttention(own[layer]!) ? ropes(attentionKind(layer)) : null,
    window: window(layer),
    hasExperts: experts?.hasExperts(layer) ?? false,
  }));
  checkHasRope(modelLayers, overrides);
  checkGgufRope(reader, modelLayers);
  if (architecture.rotatesEvenWidths) checkEvenWidths(reader, modelLayers);
  return {
    reader,
    architecture,
    config,
    experts,
    embedding,
    noText,
    layers: modelLayers,
    predictionLayers,
    shapes: own.map((shape, layer) => ({
      window: window(layer),
      has_experts: experts?.hasExperts(layer) ?? false,
      chunk: 0,
      head_dim,
      kv_heads,
      feed_forward_size: config.feed_forward_size,
      keys_of: -1,
      values_are_keys: false,
      has_temperature:
        architecture.temperature === "all" || (architecture.temperature === "without_rope" && !hasRope[layer]),
      has_unit_heads: false,
      gate_deviations: -Infinity,
      recurrence: "none" as const,
      has_feed_forward: true,
      ...shape,
      has_attention: hasAttention(shape),
    })),
    trainedLength:
      encoder?.positions?.count ??
      reader.integer(
        [["max_position_embeddings", "n_positions"], "context_length"],
        modelLayers.find(({ rope }) => rope !== null)?.rope?.max_position_embeddings ?? 2048,
      ),
  };
}

/** Throws UNSUPPORTED_MODEL for keys of single layers, INVALID_FILE for layers without attention in an architecture that has none. */
function refuseOtherLayers({ layer, recurrence, readsLayerConfig }: Architecture, reader: ConfigReader): void {
  const { value: perLayer, path } = reader.find(["per_layer_config", ""]);
  if (!reader.isGguf && readsLayerConfig !== true && isDict(perLayer) && Object.keys(perLayer).length > 0)
    reader.refuse("UNSUPPORTED_MODEL", path, `of ${reader.architecture} isn't supported`);
  const types = recurrence === undefined && layer === undefined ? reader.list(["layer_types", ""]) : undefined;
  const other = types?.find((type) => typeof type === "string" && KINDS_WITHOUT_ATTENTION.includes(type));
  if (other !== undefined)
    reader.refuse(
      "INVALID_FILE",
      "layer_types",
      `must not have ${show(other)}: ${reader.architecture} has no such layers`,
    );
}

/** Throws INVALID_ARGUMENT if there are overrides and no RoPE that they could change. @internal */
export function checkHasRope(layers: readonly ModelLayer[], overrides: ModelRopeOverrides | undefined): void {
  if (overrides !== undefined && layers.every(({ rope }) => rope === null))
    fail("INVALID_ARGUMENT", "rope", "can't be used: this model has no RoPE; leave the option out");
}

/** The RoPE of each kind of layer. Layers of the same kind share one object. */
function ropesByKind(
  source: object,
  overrides: ModelRopeOverrides = {},
): (kind: AttentionKind) => Readonly<RopeConfig> {
  return memoizeByKind((kind) => {
    const kindOverrides = overridesOf(kind, overrides);
    const options = { layer_type: kind, ...(kindOverrides !== undefined && { overrides: kindOverrides }) };
    return inRope(kind, overrides, () => ropeConfig(source, options));
  });
}

/**
 * The layers with RoPE overrides, as if the model had been opened with them.
 * @throws {@link RopewalkError} as ropeConfig().
 * @internal
 */
export function retunedLayers(layers: readonly ModelLayer[], overrides: ModelRopeOverrides): ModelLayer[] {
  const ropes = memoizeByKind((kind) => {
    const { rope } = layers.find((layer) => ropeKind(layer) === kind)!;
    return inRope(kind, overrides, () => overrideRopeConfig(rope!, overridesOf(kind, overrides) ?? {}));
  });
  return layers.map((layer) => {
    const kind = ropeKind(layer);
    return kind === undefined ? layer : { ...layer, rope: ropes(kind) };
  });
}

/** The kind of attention whose RoPE a layer has; undefined without RoPE. @internal */
export function ropeKind({ kind, rope }: Pick<ModelLayer, "kind" | "rope">): AttentionKind | undefined {
  if (rope === null) return undefined;
  return kind === "sliding_attention" ? kind : "full_attention";
}

/** RoPE of the full-attention layers, or of the first layer if those have none; null without RoPE. @internal */
export function ropeOf(layers: readonly ModelLayer[]): Readonly<RopeConfig> | null {
  const withRope = layers.filter(({ rope }) => rope !== null);
  return (withRope.find((layer) => ropeKind(layer) === "full_attention") ?? withRope[0])?.rope ?? null;
}

/**
 * Overrides without a kind apply to full-attention layers only. Sliding-window layers never see distances beyond their
 * window.
 */
function overridesOf(kind: AttentionKind, overrides: ModelRopeOverrides): RopeOverrides | undefined {
  if (isByKind(overrides)) return (overrides as Partial<Record<AttentionKind, RopeOverrides>>)[kind];
  return kind === "full_attention" ? (overrides as RopeOverrides) : undefined;
}

const isByKind = (overrides: ModelRopeOverrides): boolean =>
  "full_attention" in overrides || "sliding_attention" in overrides;

/** Calls `use`. Its errors about any of the overrides name their path in the option `rope`. @internal */
export function inRopes<Result>(overrides: ModelRopeOverrides = {}, use: () => Result): Result {
  const kinds: readonly AttentionKind[] = isByKind(overrides)
    ? ["full_attention", "sliding_attention"]
    : ["full_attention"];
  return kinds.reduce((inner, kind) => () => inRope(kind, overrides, inner), use)();
}

/** Calls `use`. Its errors about the overrides of a kind name their path in the option `rope`. */
function inRope<Result>(kind: AttentionKind, overrides: ModelRopeOverrides, use: () => Result): Result {
  return inOption(isByKind(overrides) ? `rope.${kind}` : "rope", overridesOf(kind, overrides), use);
}

function memoizeByKind(make: (kind: AttentionKind) => Readonly<RopeConfig>): typeof make {
  const known = new Map<string, Readonly<RopeConfig>>();
  return (kind) => {
    let rope = known.get(kind);
    if (rope === undefined) known.set(kind, (rope = make(kind)));
    return rope;
  };
}

/** The temperature of queries, under the names of the core. */
function temperatureOf(
  { temperature }: Architecture,
  rope: () => Readonly<RopeConfig>,
): Pick<WasmModelConfig, "temperature_scale" | "temperature_floor_scale" | "temperature_offset"> {
  const given = temperature === undefined ? undefined : rope().query_temperature;
  return {
    temperature_scale: given?.scale ?? 0,
    temperature_floor_scale: given?.floor_scale ?? 1,
    temperature_offset: given?.offset ?? 0,
  };
}

/** The layers that have their own keys and values, which are those of the cache. @internal */
export function cacheLayers({ shapes }: ModelPlan): number[] {
  return shapes.flatMap((shape, layer) => (hasOwnKeys(shape) ? [layer] : []));
}

function vocabularySize(files: ModelFiles, reader: ConfigReader): number {
  const embedding = reader.isGguf ? files.tensors.get("token_embd.weight") : undefined;
  if (embedding?.shape.length !== 2) return reader.integer(["vocab_size", "vocab_size"], undefined, 1, MAX_VOCABULARY);
  const rows = embedding.shape[0]!; // the key is often left out
  if (rows < 1 || rows > MAX_VOCABULARY)
    reader.refuse("INVALID_FILE", embedding.name, `must have 1 to ${MAX_VOCABULARY} rows (got ${rows})`);
  return rows;
}
