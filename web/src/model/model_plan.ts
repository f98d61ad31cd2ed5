import type { RopeOverrides } from "../config/overrides.js";
import { type GgufRopeTensors } from "../config/gguf.js";
import { overrideRopeConfig, ropeConfig } from "../config/rope_config.js";
import { ropeLayers } from "../config/rope_layers.js";
import type { RopeConfig } from "../config/types.js";
import type { ModelFiles } from "../files/model_files.js";
import type { WasmModelConfig } from "../memory/wasm_module.js";
import type { Architecture, Factors } from "./architecture.js";
import { architectureOf } from "./architectures.js";
import { Facts } from "./facts.js";

/** How the RoPE of a model is to be changed: for all layers, or by kind of layer. */
export type ModelRopeOverrides =
  RopeOverrides | { readonly full_attention?: RopeOverrides; readonly sliding_attention?: RopeOverrides };

/** A layer of a model. */
export interface ModelLayer {
  /** As transformers names it; `full_attention` where a model has one kind only. */
  readonly kind: "full_attention" | "sliding_attention";
  /** What turns its keys and queries; null where nothing does. */
  readonly rope: Readonly<RopeConfig> | null;
  /** Tokens in sight, 0 for all. */
  readonly window: number;
  /** Whether its feed-forward is a mixture of experts. */
  readonly hasExperts: boolean;
}

/** A model in numbers, as its files have it. @internal */
export interface ModelPlan {
  readonly facts: Facts;
  readonly architecture: Architecture;
  readonly config: WasmModelConfig;
  readonly layers: readonly ModelLayer[];
  /** Length that the model was trained, or said to be extended, to. */
  readonly trainedLength: number;
}

/** Far more than any model has, and few enough to be counted through. */
const MOST_HEADS = 65536;
const NORMS = ["rms", "layer"];
const QUERY_KEY_NORMS = ["none", "head", "each_head", "all_heads"];
const ACTIVATIONS = ["silu", "gelu", "gelu_tanh"];
const NO_FACTORS: Factors = {
  attention_scale: NaN,
  attention_soft_cap: 0,
  embedding_scale: 1,
  residual_scale: 1,
  logit_scale: 1,
  logit_soft_cap: 0,
};

/**
 * Reads what a model is from its files.
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL, INVALID_FILE, and as ropeConfig().
 * @internal
 */
export function planOf(
  files: ModelFiles,
  ropeTensors: GgufRopeTensors,
  overrides: ModelRopeOverrides | undefined,
): ModelPlan {
  const facts = new Facts(files);
  const architecture = architectureOf(facts);
  const layers = facts.integer([["num_hidden_layers", "n_layer"], "block_count"], undefined, 1, files.tensors.size); // each has some
  const hidden_size = facts.integer([["hidden_size", "n_embd"], "embedding_length"]);
  const heads = facts.integer([["num_attention_heads", "n_head"], "attention.head_count"], undefined, 1, MOST_HEADS);
  const feed_forward_size = facts.integer([["intermediate_size", "n_inner"], "feed_forward_length"], 4 * hidden_size);
  const experts = architecture.experts?.(facts);
  const window = architecture.window?.(facts) ?? (() => 0);
  const epsilon: [string[], string] =
    architecture.norm === "rms"
      ? [["rms_norm_eps"], "attention.layer_norm_rms_epsilon"]
      : [["layer_norm_eps", "layer_norm_epsilon"], "attention.layer_norm_epsilon"];

  const config: WasmModelConfig = {
    layers,
    vocabulary_size: vocabularySize(files, facts),
    hidden_size,
    heads,
    kv_heads: facts.integer(["num_key_value_heads", "attention.head_count_kv"], heads, 1, heads),
    head_dim: facts.integer(["head_dim", "attention.key_length"], Math.floor(hidden_size / heads)),
    feed_forward_size: experts?.feed_forward_size ?? feed_forward_size,
    norm: NORMS.indexOf(architecture.norm),
    norm_epsilon: facts.number(epsilon, 1e-5),
    query_key_norm: QUERY_KEY_NORMS.indexOf(architecture.queryKeyNorm?.(facts) ?? "none"),
    activation: ACTIVATIONS.indexOf(architecture.activation),
    is_gated: architecture.isGated,
    is_parallel: architecture.isParallel?.(facts) ?? false,
    ...NO_FACTORS,
    ...architecture.factors?.(facts),
    experts: experts?.experts ?? 0,
    experts_used: experts?.experts_used ?? 0,
    normalizes_experts: experts?.normalizes_experts ?? false,
  };
  const source = facts.isGguf ? { metadata: files.metadata, tensors: ropeTensors } : facts.source;
  const turns = ropeLayers(source);
  const ropes = ropesByKind(source, overrides);
  return {
    facts,
    architecture,
    config,
    layers: Array.from({ length: layers }, (_, layer) => {
      const kind = window(layer) > 0 && architecture.hasTwoRopes ? "sliding_attention" : "full_attention";
      return {
        kind,
        rope: turns[layer] ? ropes(kind) : null,
        window: window(layer),
        hasExperts: experts?.isIn(layer) ?? false,
      };
    }),
    trainedLength: facts.integer([["max_position_embeddings", "n_positions"], "context_length"], 2048),
  };
}

/** The RoPE of each kind of layer, read once, so that layers of a kind share it. */
function ropesByKind(
  source: object,
  overrides: ModelRopeOverrides = {},
): (kind: ModelLayer["kind"]) => Readonly<RopeConfig> {
  return onceAKind((kind) => {
    const own = overridesOf(kind, overrides);
    return ropeConfig(source, { layer_type: kind, ...(own !== undefined && { overrides: own }) });
  });
}

/**
 * Layers with another RoPE, as if the model had been opened with it.
 * @throws {@link RopewalkError} as ropeConfig().
 * @internal
 */
export function retunedLayers(layers: readonly ModelLayer[], overrides: ModelRopeOverrides): ModelLayer[] {
  const ropes = onceAKind((kind) => {
    const { rope } = layers.find((layer) => layer.kind === kind && layer.rope !== null)!;
    return overrideRopeConfig(rope!, overridesOf(kind, overrides) ?? {});
  });
  return layers.map((layer) => (layer.rope === null ? layer : { ...layer, rope: ropes(layer.kind) }));
}

/** What turns the layers that see the whole context; null where none is turned. @internal */
export function ropeOf(layers: readonly ModelLayer[]): Readonly<RopeConfig> | null {
  return (layers.find(({ kind, rope }) => kind === "full_attention" && rope !== null) ?? layers[0])?.rope ?? null;
}

/** Where kinds differ, a change that names none is for the layers that see everything: the others never leave their window. */
function overridesOf(kind: ModelLayer["kind"], overrides: ModelRopeOverrides): RopeOverrides | undefined {
  const byKind = "full_attention" in overrides || "sliding_attention" in overrides;
  if (byKind) return (overrides as Partial<Record<ModelLayer["kind"], RopeOverrides>>)[kind];
  return kind === "full_attention" ? (overrides as RopeOverrides) : undefined;
}

function onceAKind(make: (kind: ModelLayer["kind"]) => Readonly<RopeConfig>): typeof make {
  const known = new Map<string, Readonly<RopeConfig>>();
  return (kind) => {
    let rope = known.get(kind);
    if (rope === undefined) known.set(kind, (rope = make(kind)));
    return rope;
  };
}

function vocabularySize(files: ModelFiles, facts: Facts): number {
  const embedding = files.tensors.get("token_embd.weight");
  if (facts.isGguf && embedding?.shape.length === 2) return embedding.shape[0]!; // the key is often left out
  return facts.integer(["vocab_size", "vocab_size"]);
}
