// The RoPEs of a model by kind of layer, from its config.json or GGUF metadata alone.
import type { Dict } from "../../../core/base/dict.js";
import { RopewalkError, fail } from "../../../core/base/errors.js";
import { textConfigOf } from "../../../core/config/huggingface.js";
import { isAboutNoRope } from "../../../core/config/no_rope.js";
import type { RopeOverrides } from "../../../core/config/overrides.js";
import { ggufSourceOf, ropeConfig } from "../../../core/config/rope_config.js";
import { ropeLayers } from "../../../core/config/rope_layers.js";
import type { RopeConfig } from "../../../core/config/types.js";
import type { Architecture } from "../architectures/parts/architecture.js";
import { defaultRecurrenceConfig } from "../../../core/memory/model_fields.js";
import { architectureOf } from "../architectures/table.js";
import { attentionShape, hasAttention, hasOwnKeys } from "./attention_shape.js";
import { ConfigReader } from "../config/config_reader.js";
import { type RecurrentKind, recurrentKind, stateBytes } from "./recurrent_layers.js";

/** A RoPE and the layers that use it. */
export interface LayerRope {
  /** Kind of layer as in transformers; undefined if all layers share a RoPE. */
  readonly kind: string | undefined;
  readonly rope: Readonly<RopeConfig>;
  /** Indices of its layers in ascending order; empty if the file doesn't say. */
  readonly layers: readonly number[];
  /** Sliding window in tokens, 0 for full attention; undefined if the file doesn't say. */
  readonly window?: number;
}

/** The RoPEs of a model. */
export interface ConfigRopes {
  readonly ropes: readonly LayerRope[];
  /** Indices of layers without RoPE; empty if that isn't known. */
  readonly layersWithoutRope: readonly number[];
  /** Sliding window of each layer in tokens, 0 for full attention; empty if the architecture isn't known. */
  readonly windows: readonly number[];
  /** Why no layer has RoPE; undefined if one has. */
  readonly noRope?: RopewalkError;
}

/** Kinds of layers to try, before those in the config. */
const LAYER_KINDS = ["full_attention", "sliding_attention", "chunked_attention", "main", "compress"];

/**
 * The RoPEs of a config.json or GGUF source, by kind of layer; none for a model without RoPE and without overrides.
 * @param layerType - only this kind of layer
 * @throws {@link RopewalkError} as `ropeConfig()` and `ropeLayers()`, and INVALID_FILE for keys of windows as `rw.model()`.
 * @internal
 */
export function configRopes(source: Dict, overrides?: RopeOverrides, layerType?: string): ConfigRopes {
  const hasRope = layersOf(source, overrides);
  const layersWithoutRope = indicesOf(hasRope, (layerHasRope) => !layerHasRope);
  const windows = layerWindows(source, hasRope.length, ({ window }) => window !== undefined); // chunks aren't windows
  const known = { layersWithoutRope, windows };
  const ownWindows = windowsOf(source, hasRope.length);
  const types = layerTypesOf(source, ownWindows);
  const ofKind = (kind: string): number[] =>
    indicesOf(hasRope, (layerHasRope, layer) => layerHasRope && types[layer] === kind);
  const read = (layer_type?: string): RopeConfig =>
    ropeConfig(source, {
      ...(layer_type !== undefined && { layer_type }),
      ...(overrides !== undefined && { overrides }),
    });
  if (layerType !== undefined) {
    const rope = read(layerType);
    checkHasKind(source, hasRope.length, layerType);
    return { ropes: [{ kind: layerType, rope, layers: ofKind(layerType) }], ...known };
  }
  try {
    return { ropes: [{ kind: undefined, rope: read(), layers: indicesOf(hasRope, Boolean) }], ...known };
  } catch (error) {
    if (overrides === undefined && isAboutNoRope(error)) return { ropes: [], ...known, noRope: error };
    if (!(error instanceof RopewalkError) || error.field !== "layer_type") throw error;
    const kinds = new Set([...LAYER_KINDS, ...types.filter((type) => typeof type === "string")]);
    const ropes = [...kinds].flatMap((kind): LayerRope[] => {
      // as in rw.model(), overrides don't apply to sliding-window layers
      const rope = ifAvailable(() =>
        kind === "sliding_attention" ? ropeConfig(source, { layer_type: kind }) : read(kind),
      );
      if (rope === undefined) return [];
      const layers = ofKind(kind);
      const window = ownWindows[layers[0] ?? -1];
      return [{ kind, rope, layers, ...(window !== undefined && { window }) }];
    });
    if (ropes.length === 0) throw error;
    return { ropes: ofLayers(ropes, hasRope), ...known };
  }
}

/** The RoPEs that layers use; all if it isn't known which layers use each. */
function ofLayers(ropes: readonly LayerRope[], hasRope: readonly boolean[]): readonly LayerRope[] {
  const known = new Set(ropes.flatMap(({ layers }) => layers));
  const isKnown = known.size > 0 && hasRope.every((layerHasRope, layer) => !layerHasRope || known.has(layer));
  return isKnown ? ropes.filter(({ layers }) => layers.length > 0) : ropes;
}

/** Kinds of the layers as in transformers; empty if the config doesn't say. */
function layerTypesOf(source: Dict, windows: readonly number[]): readonly unknown[] {
  const listed = ggufSourceOf(source) === undefined ? textConfigOf(source).config["layer_types"] : undefined;
  return Array.isArray(listed)
    ? listed
    : windows.map((window) => (window > 0 ? "sliding_attention" : "full_attention"));
}

/**
 * Sliding window of each layer, 0 for full attention, if the sliding-window layers of the architecture have a different
 * RoPE; empty for others.
 */
function windowsOf(source: Dict, count: number): number[] {
  return layerWindows(source, count, ({ hasTwoRopes }) => hasTwoRopes === true);
}

/**
 * Window or chunk of each layer in tokens, 0 for full attention; empty if the architecture isn't known or doesn't match.
 * @throws {@link RopewalkError} INVALID_FILE for a key of windows with a wrong value, as `rw.model()`. What else a model
 * needs may be missing.
 * @internal
 */
export function layerWindows(
  source: Dict,
  count: number,
  matches: (architecture: Architecture) => boolean = () => true,
): number[] {
  const windows = ifSupported(
    source,
    (reader, architecture) => {
      if (!matches(architecture)) return [];
      const shapeOf = architecture.layer?.(reader);
      const windowOf = architecture.window?.(reader) ?? ((layer: number): number => shapeOf?.(layer).chunk ?? 0);
      return Array.from({ length: count }, (_, layer) => windowOf(layer));
    },
    WINDOW_KEYS,
  );
  return windows ?? [];
}

/** Keys, at the end of an error's field, that say which layers have a window, and of how many tokens. */
const WINDOW_KEYS = /: (\S+\.)?(use_sliding_window|sliding_window(_pattern)?|max_window_layers|layer_types)$/;

/** Throws INVALID_ARGUMENT for a kind of attention that no layer has. */
function checkHasKind(source: Dict, count: number, kind: string): void {
  const hasWindow = kind === "sliding_attention" || kind === "chunked_attention";
  const windows = layerWindows(source, count);
  if (windows.length === 0 || !(hasWindow || kind === "full_attention")) return;
  if (windows.some((window) => window > 0 === hasWindow)) return;
  const other = hasWindow ? "full_attention" : "sliding_attention";
  fail("INVALID_ARGUMENT", "layer_type", `must be ${other}, which all layers have (got ${kind})`);
}

/** What a layer caches for each token. @internal */
export interface LayerCache {
  /** Heads of keys, 0 for a layer that reads the keys and values of an earlier one. */
  readonly kvHeads: number;
  /** Elements of a head. */
  readonly headDim: number;
  /** Whether values are cached beside keys. */
  readonly hasValues: boolean;
}

/**
 * What the first `count` layers of a supported architecture cache; undefined for another one, or if the file doesn't say.
 * @internal
 */
export function layerCaches(source: Dict, count: number): LayerCache[] | undefined {
  return ifSupported(source, (reader, architecture) => {
    const { kv_heads, head_dim, latent, own } = attentionShape(reader, architecture, count);
    return own.map((shape) => ({
      kvHeads: hasOwnKeys(shape) ? (shape.kv_heads ?? kv_heads) : 0,
      headDim: shape.head_dim ?? head_dim,
      hasValues: latent === undefined,
    }));
  });
}

/** Layers with neither attention nor a recurrence, by their kind. @internal */
export type FeedForwardLayers = Readonly<Record<"mlp" | "moe", readonly number[]>>;

/** The recurrent layers of a model, which may have attention beside the recurrence. @internal */
export interface RecurrentLayers {
  /** The name of their kind in transformers; null for a model without recurrent layers. */
  readonly kind: RecurrentKind | "hybrid" | null;
  /** Their indices in ascending order. */
  readonly layers: readonly number[];
  /** Indices of the layers without attention, which are recurrent or have feed-forward alone. */
  readonly withoutAttention: readonly number[];
  /** Indices of the layers of a feed-forward block alone, and of those of experts alone. */
  readonly feedForward: FeedForwardLayers;
  /** Bytes of one copy of their states, in f32. */
  readonly stateBytes: number;
}

/** Recurrent layers among the first `count` of a supported architecture; none for another one. @internal */
export function recurrentLayers(source: Dict, count: number): RecurrentLayers {
  const found = ifSupported(source, (reader, architecture): RecurrentLayers => {
    const { own } = attentionShape(reader, architecture, count);
    const recurrences = own.map(({ recurrence = "none" }) => ({ recurrence }));
    const layers = indicesOf(recurrences, ({ recurrence }) => recurrence !== "none");
    const first = own[layers[0] ?? -1] ?? {};
    const sizes = { ...defaultRecurrenceConfig(), ...architecture.recurrence?.(reader) };
    const withoutAttention = indicesOf(own, (shape) => !hasAttention(shape));
    const alone = withoutAttention.filter((layer) => !layers.includes(layer));
    const experts = alone.length > 0 ? architecture.experts?.(reader) : undefined;
    const hasExperts = (layer: number): boolean => experts?.hasExperts(layer) ?? false;
    return {
      kind: recurrentKind(first),
      layers,
      withoutAttention,
      feedForward: { mlp: alone.filter((layer) => !hasExperts(layer)), moe: alone.filter(hasExperts) },
      stateBytes: stateBytes(sizes, recurrences),
    };
  });
  return found ?? { kind: null, layers: [], withoutAttention: [], feedForward: { mlp: [], moe: [] }, stateBytes: 0 };
}

/** Reads a config.json or GGUF source without its weights. @internal */
export function readerOf(source: Dict): ConfigReader {
  const gguf = ggufSourceOf(source);
  return new ConfigReader({
    name: gguf === undefined ? "config.json" : "metadata",
    kind: gguf === undefined ? "safetensors" : "gguf",
    metadata: gguf?.metadata ?? {},
    tensors: new Map(),
    ...(gguf === undefined && { config: source }),
  });
}

/** The result of `read`; undefined for models whose RoPE is supported, but not the architecture. Errors of `checked` keys are thrown. @internal */
export function ifSupported<Value>(
  source: Dict,
  read: (reader: ConfigReader, architecture: Architecture) => Value,
  checked?: RegExp,
): Value | undefined {
  try {
    const reader = readerOf(source);
    return read(reader, architectureOf(reader));
  } catch (error) {
    if (error instanceof RopewalkError && !checked?.test(error.field)) return undefined;
    throw error;
  }
}

/** Which layers have RoPE; empty if the config has no number of layers. */
function layersOf(source: Dict, overrides: RopeOverrides | undefined): boolean[] {
  return ifAvailable(() => ropeLayers(source, overrides && { overrides })) ?? [];
}

/** The result of `read`; undefined if it fails because the model lacks a kind of layer or the number of layers. */
function ifAvailable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RopewalkError && /^layer_type$|num_hidden_layers$|\.block_count$/.test(error.field))
      return undefined;
    throw error;
  }
}

function indicesOf<Item>(items: readonly Item[], matches: (item: Item, index: number) => boolean): number[] {
  return items.flatMap((item, index) => (matches(item, index) ? [index] : []));
}
