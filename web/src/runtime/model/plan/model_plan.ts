// Reads a model's dimensions and the RoPE of each layer from its files.
import * as advise from "../../../core/base/advice.js";
import type { RopeOverrides } from "../../../core/config/overrides.js";
import { type GgufRopeTensors } from "../../../core/config/gguf.js";
import { isDict } from "../../../core/base/dict.js";
import { inOption, overrideRopeConfig, ropeConfig } from "../../../core/config/rope_config.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { KINDS_WITHOUT_ATTENTION } from "../../../core/config/layer_kinds.js";
import { ropeLayers } from "../../../core/config/rope_layers.js";
import type { RopeConfig } from "../../../core/config/types.js";
import type { ModelFiles } from "../../files/model_files.js";
import {
  defaultDenseConfig,
  defaultLayerConfig,
  defaultModelConfig,
  defaultRouting,
  type DenseConfig,
  type ModelConfig,
  type Norm,
} from "../../../core/memory/model_fields.js";
import {
  type Architecture,
  ATTENTION_GATES,
  type DenseLayer,
  type ExpertConfig,
  type PlannedLayer,
} from "../architectures/parts/architecture.js";
import { HIDDEN, LAYER_TYPES, LAYERS } from "../architectures/parts/common.js";
import { checkChosen } from "../architectures/parts/experts.js";
import { checkEvenWidths, checkGgufRope } from "../architectures/parts/gguf_rope.js";
import { architectureOf } from "../architectures/table.js";
import { type EmbeddingPlan, embeddingPlan } from "./embedding_plan.js";
import { encoderOf, whyNoText, windowsOf } from "./encoder_of.js";
import { attentionShape, hasAttention, hasOwnKeys, largest } from "./attention_shape.js";
import { type ConfigKey, ConfigReader } from "../config/config_reader.js";
import { MAX_LAYERS, MAX_VOCABULARY, MAX_WIDTH } from "../config/limits.js";
import { type RecurrentKind, recurrentKind } from "./recurrent_layers.js";

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
  readonly config: ModelConfig;
  readonly experts: ExpertConfig | undefined;
  readonly layers: readonly ModelLayer[];
  /** Layers after these that predict further tokens, and aren't read. GGUF counts them as layers. */
  readonly predictionLayers: number;
  /** The shape of each layer, as the core takes it. */
  readonly shapes: readonly PlannedLayer[];
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

/**
 * Reads the dimensions and layers of a model from its files.
 * @param row - its architecture, if the files don't name it
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL, INVALID_FILE, and as ropeConfig().
 * @internal
 */
export function planOf(
  files: ModelFiles,
  ropeTensors: GgufRopeTensors,
  overrides: ModelRopeOverrides | undefined,
  row?: Architecture,
): ModelPlan {
  const reader = new ConfigReader(files);
  const architecture = row ?? architectureOf(reader);
  if (files.tensors.size === 0) reader.refuse("INVALID_FILE", "tensors", "there are none: the file has only a header");
  const maxLayers = Math.min(files.tensors.size, MAX_LAYERS); // each layer has at least one tensor
  const stored = reader.integer(LAYERS, reader.list([LAYER_TYPES, ""])?.length, 1, maxLayers);
  const predictionLayers = reader.integer(PREDICTION_LAYERS, 0, 0, reader.isGguf ? stored - 1 : MAX_LAYERS);
  const layers = reader.isGguf ? stored - predictionLayers : stored;
  const hidden_size = reader.integer(HIDDEN, undefined, 1, MAX_WIDTH);
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
  refuseOtherKinds(reader);

  const norm: Norm = {
    kind: NORMS.indexOf(architecture.norm),
    epsilon:
      (reader.isGguf ? undefined : architecture.epsilon) ??
      reader.number(epsilon, architecture.ggufEpsilon?.(reader) ?? 1e-5),
  };
  const { heads, kv_heads, head_dim, latent, own } = attentionShape(reader, architecture, layers);
  const source = reader.isGguf ? { metadata: files.metadata, tensors: ropeTensors } : reader.source;
  // a switch in files of Granite, and only information in others
  const isGranite = reader.isGguf && reader.architecture.startsWith("granite") && reader.architecture !== "granitemoe";
  const isWithoutRope = isGranite && !reader.boolean(["", "rope.scaling.finetuned"], true);
  const hasRope = architecture.hasNoAttention || architecture.hasNoRope || isWithoutRope ? [] : ropeLayers(source);
  const encoder = encoderOf(architecture, reader);
  const positions = architecture.positions?.(reader);
  const relative = architecture.relativePositions?.(reader);
  const noText = whyNoText(files, architecture, reader);
  const embedding = embeddingPlan(reader, files, architecture);
  const ropes = ropesByKind(source, overrides);
  refuseOtherLayers(architecture, reader);
  const hasTwoRopes =
    architecture.hasTwoRopes ?? (architecture.readsSlidingBase && reader.has(["", "rope.freq_base_swa"]));
  const attentionKind = (layer: number): AttentionKind =>
    hasTwoRopes && (window(layer) > 0 || (own[layer]?.chunk ?? 0) > 0) ? "sliding_attention" : "full_attention";
  const temperature = architecture.temperature && ropes("full_attention").query_temperature;

  const defaults = defaultModelConfig();
  const config: ModelConfig = {
    ...defaults,
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
    norm,
    query_key_norm: QUERY_KEY_NORMS.indexOf(architecture.queryKeyNorm?.(reader) ?? "none"),
    activation: ACTIVATIONS.indexOf(typeof activation === "string" ? activation : activation(reader)),
    is_gated: architecture.isGated,
    is_parallel: architecture.isParallel?.(reader) ?? false,
    ...architecture.factors?.(reader),
    ...(experts && sizesOf(experts)),
    latent: latent ?? defaults.latent,
    // transformers' configs have no key for the epsilon of these norms
    latent_norm: { ...norm, epsilon: reader.isGguf ? norm.epsilon : 1e-6 },
    per_layer: architecture.perLayer?.(reader) ?? defaults.per_layer,
    recurrence: { ...defaults.recurrence, ...architecture.recurrence?.(reader) },
    attention_gate: ATTENTION_GATES.indexOf(architecture.attentionGate?.(reader) ?? "none"),
    temperature: { ...defaults.temperature, ...temperature },
    is_causal: encoder === undefined,
    normalizes_residual: encoder?.normalizesResidual ?? false,
    positions: positions?.count ?? 0,
    token_types: encoder?.tokenTypes ?? 0,
    ...(relative && { relative_buckets: relative.buckets, relative_max_distance: relative.maxDistance }),
    projects_tokens: architecture.projection !== undefined,
    dense: defaults.dense.map((none, index) => denseOf(embedding.dense[index]) ?? none) as ModelConfig["dense"],
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
      ...defaultLayerConfig(),
      window: window(layer),
      has_experts: experts?.hasExperts(layer) ?? false,
      head_dim,
      kv_heads,
      feed_forward_size: config.feed_forward_size,
      has_temperature:
        architecture.temperature === "all" || (architecture.temperature === "without_rope" && !hasRope[layer]),
      recurrence: "none" as const,
      ...shape,
      has_attention: hasAttention(shape),
    })),
    trainedLength:
      positions?.count ??
      reader.integer(
        [["max_position_embeddings", "n_positions"], "context_length"],
        modelLayers.find(({ rope }) => rope !== null)?.rope?.max_position_embeddings ?? 2048,
      ),
  };
}

/** The core's numbers of a mixture of experts. */
function sizesOf({ experts, expert_size, shared_expert_size = 0, routing }: ExpertConfig): Partial<ModelConfig> {
  const { weight = "softmax", ...rest } = routing;
  const numbers = { ...defaultRouting(), ...rest, weight: EXPERT_WEIGHTS.indexOf(weight) };
  return { experts, expert_size, shared_expert_size, routing: numbers };
}

/** A linear map after pooling, as the core has it. */
function denseOf(layer: DenseLayer | undefined): DenseConfig | undefined {
  if (layer === undefined) return undefined;
  const { size, activation } = layer;
  if (activation === undefined) return { ...defaultDenseConfig(), size };
  return { size, activates: true, activation: ACTIVATIONS.indexOf(activation) };
}

/** Keys of llama.cpp's files that change what a known architecture computes. */
const OTHER_KINDS = {
  "prism.hadamard.version": "rotated weights",
  "mistral3.realtime_delay_tokens": "norms that follow the time of a sound",
};

/** Throws UNSUPPORTED_MODEL for GGUF files whose keys say that the model isn't the one of its name. */
function refuseOtherKinds(reader: ConfigReader): void {
  for (const [key, what] of Object.entries(OTHER_KINDS))
    if (reader.isGguf && Object.hasOwn(reader.source, key))
      reader.refuse("UNSUPPORTED_MODEL", key, `${what} are not supported`);
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
    fail("INVALID_ARGUMENT", "rope", "can't be used: this model has no RoPE", advise.other("leave the option out"));
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
