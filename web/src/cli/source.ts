// Opens the source argument of `inspect`, `plot` and `table`: a config.json or a model, from disk or from a server.
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { textConfigOf } from "../config/huggingface.js";
import type { RopeOverrides } from "../config/overrides.js";
import { ropeConfig } from "../config/rope_config.js";
import { ropeLayers } from "../config/rope_layers.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError, fail } from "../base/errors.js";
import { MissingFile, readRange } from "../files/byte_source.js";
import { openHttp, HTTP_DEFAULTS } from "../files/http/source.js";
import { isFolder } from "../files/node_files.js";
import { load } from "../index.node.js";
import { architectureOf } from "../model/architectures.js";
import { ConfigReader } from "../model/config_reader.js";
import type { ModelInfo } from "../model/model.js";
import type { ModelOptions } from "../model/options.js";
import { parseConfig, readTextFile } from "./input_file.js";

/** A config.json, or a model with its headers. */
export interface Source {
  /** The argument. */
  readonly name: string;
  /** The RoPEs of the model with their layers. */
  readonly ropes: readonly LayerRope[];
  /** Indices of layers without RoPE; empty if that isn't known. */
  readonly layersWithoutRope: readonly number[];
  /** The parsed config.json, if the source is one. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Description of the model, if the source has weights. */
  readonly info?: ModelInfo;
}

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

/** Options of {@link openSource}. */
export interface SourceOptions {
  overrides?: RopeOverrides | undefined;
  /** Only this kind of layer. */
  layerType?: string | undefined;
  /** More options for a model with weights. */
  model?: Omit<ModelOptions, "rope">;
}

/** Kinds of layers to try, after those in the config. */
const LAYER_KINDS = ["full_attention", "sliding_attention", "chunked_attention", "main", "compress"];

/**
 * Opens a config.json, a .gguf or .safetensors file, a folder, or the URL of any of these. Reads headers only, no
 * weights.
 * @throws {@link RopewalkError} INVALID_FILE, NETWORK, UNSUPPORTED_MODEL, INVALID_CONFIG and others.
 */
export async function openSource(argument: string, options: SourceOptions = {}): Promise<Source> {
  const path = await configPath(argument);
  if (path === undefined) return modelSource(argument, options);
  const config = parseConfig(path, await readText(path));
  return { name: argument, config, ...configRopes(config, options) };
}

/**
 * The RoPE that a command uses: that of `layerType`, or the one that all layers share, or that of the full-attention
 * layers.
 * @throws {@link RopewalkError} as {@link openSource}.
 */
export async function openRope(argument: string, options: SourceOptions = {}): Promise<Readonly<RopeConfig>> {
  const { ropes } = await openSource(argument, options);
  const chosen =
    ropes.find(({ kind }) => kind === options.layerType) ??
    ropes.find(({ kind }) => kind === "full_attention") ??
    ropes[0];
  if (chosen === undefined) fail("INVALID_CONFIG", "layer_types", "this model has no layer with RoPE");
  return chosen.rope;
}

/** Whether an argument is a URL. */
export function isUrl(argument: string): boolean {
  return /^https?:/i.test(argument);
}

/** Whether a file is the index of a model that is split into several files. */
export function isShardIndex(name: string): boolean {
  return /\.safetensors\.index\.json$/i.test(name);
}

/** Path of the config.json that an argument names, or of a folder without weights; undefined for models. */
async function configPath(argument: string): Promise<string | undefined> {
  const name = isUrl(argument) ? parseUrl(argument).pathname : argument;
  if (/\.json$/i.test(name) && !isShardIndex(name)) return argument;
  if (isUrl(argument) || !(await isFolder(argument))) return undefined;
  const names = await readdir(argument);
  const hasWeights = names.some((entry) => /\.(gguf|safetensors)$/.test(entry));
  return !hasWeights && names.includes("config.json") ? join(argument, "config.json") : undefined;
}

async function readText(path: string): Promise<string> {
  if (!isUrl(path)) return readTextFile(path);
  const url = parseUrl(path);
  const name = basename(url.pathname);
  const file = await openHttp(url, name, { fetch, headers: {}, ...HTTP_DEFAULTS });
  if (file instanceof MissingFile) fail("NETWORK", `${name}: file`, file.reason);
  return new TextDecoder().decode(await readRange(file, 0, file.size));
}

function parseUrl(argument: string): URL {
  if (!URL.canParse(argument)) fail("INVALID_ARGUMENT", argument, "isn't a valid URL");
  return new URL(argument);
}

async function modelSource(argument: string, { overrides, layerType, model }: SourceOptions): Promise<Source> {
  const info = await (
    await load({ threads: 1 })
  ).modelInfo(argument, { ...model, ...(overrides !== undefined && { rope: overrides }) });
  const kinds = [...new Set(info.layers.map(({ kind }) => kind))];
  const ropes = kinds.flatMap((kind): LayerRope[] => {
    const layers = indicesOf(info.layers, (layer) => layer.kind === kind && layer.rope !== null);
    const first = info.layers[layers[0] ?? -1];
    const shown = kinds.length > 1 ? kind : undefined;
    return first === undefined ? [] : [{ kind: shown, rope: first.rope!, layers, window: first.window }];
  });
  if (layerType !== undefined && kinds.length > 1 && !ropes.some(({ kind }) => kind === layerType)) {
    fail("INVALID_ARGUMENT", "layer_type", `must be one of ${kinds.join(", ")} (got ${layerType})`);
  }
  const chosen = layerType === undefined || kinds.length === 1 ? ropes : ropes.filter(({ kind }) => kind === layerType);
  return {
    name: argument,
    ropes: chosen,
    layersWithoutRope: indicesOf(info.layers, ({ rope }) => rope === null),
    info,
  };
}

function configRopes(
  config: Readonly<Record<string, unknown>>,
  { overrides, layerType }: SourceOptions,
): Pick<Source, "ropes" | "layersWithoutRope"> {
  const hasRope = layersOf(config, overrides);
  const layersWithoutRope = indicesOf(hasRope, (layerHasRope) => !layerHasRope);
  const windows = windowsOf(config, hasRope.length);
  const types = layerTypesOf(config, windows);
  const ofKind = (kind: string): number[] =>
    indicesOf(hasRope, (layerHasRope, layer) => layerHasRope && types[layer] === kind);
  const read = (layer_type?: string): RopeConfig =>
    ropeConfig(config, {
      ...(layer_type !== undefined && { layer_type }),
      ...(overrides !== undefined && { overrides }),
    });
  if (layerType !== undefined)
    return { ropes: [{ kind: layerType, rope: read(layerType), layers: ofKind(layerType) }], layersWithoutRope };
  try {
    return { ropes: [{ kind: undefined, rope: read(), layers: indicesOf(hasRope, Boolean) }], layersWithoutRope };
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "layer_type") throw error;
    const kinds = new Set([...types.filter((type) => typeof type === "string"), ...LAYER_KINDS]);
    const ropes = [...kinds].flatMap((kind): LayerRope[] => {
      // as in rw.model(), overrides don't apply to sliding-window layers
      const rope = ifAvailable(() =>
        kind === "sliding_attention" ? ropeConfig(config, { layer_type: kind }) : read(kind),
      );
      if (rope === undefined) return [];
      const layers = ofKind(kind);
      const window = windows[layers[0] ?? -1];
      return [{ kind, rope, layers, ...(window !== undefined && { window }) }];
    });
    if (ropes.length === 0) throw error;
    return { ropes, layersWithoutRope };
  }
}

/** Kinds of the layers as in transformers; empty if the config doesn't say. */
function layerTypesOf(config: Readonly<Record<string, unknown>>, windows: readonly number[]): readonly unknown[] {
  const { layer_types } = textConfigOf(config).config;
  return Array.isArray(layer_types)
    ? layer_types
    : windows.map((window) => (window > 0 ? "sliding_attention" : "full_attention"));
}

/**
 * Sliding window of each layer, 0 for full attention, if the sliding-window layers of the architecture have a different
 * RoPE; empty for others.
 */
function windowsOf(config: Readonly<Record<string, unknown>>, count: number): number[] {
  try {
    const reader = new ConfigReader({
      name: "config.json",
      kind: "safetensors",
      config,
      metadata: {},
      tensors: new Map(),
    });
    const { hasTwoRopes, window } = architectureOf(reader);
    const windowOf = hasTwoRopes === true ? window?.(reader) : undefined;
    return windowOf === undefined ? [] : Array.from({ length: count }, (_, layer) => windowOf(layer));
  } catch (error) {
    if (error instanceof RopewalkError) return []; // models whose RoPE is supported, but not the architecture
    throw error;
  }
}

/** Which layers have RoPE; empty if the config has no number of layers. */
function layersOf(config: object, overrides: RopeOverrides | undefined): boolean[] {
  return ifAvailable(() => ropeLayers(config, overrides && { overrides })) ?? [];
}

/** The result of `read`; undefined if it fails because the model lacks a kind of layer or the number of layers. */
function ifAvailable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RopewalkError && (error.field === "layer_type" || error.field.endsWith("num_hidden_layers")))
      return undefined;
    throw error;
  }
}

function indicesOf<Item>(items: readonly Item[], matches: (item: Item, index: number) => boolean): number[] {
  return items.flatMap((item, index) => (matches(item, index) ? [index] : []));
}
