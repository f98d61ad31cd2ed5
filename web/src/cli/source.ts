import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { textConfigOf } from "../config/huggingface.js";
import type { RopeOverrides } from "../config/overrides.js";
import { ropeConfig } from "../config/rope_config.js";
import { ropeLayers } from "../config/rope_layers.js";
import type { RopeConfig } from "../config/types.js";
import { RopewalkError } from "../base/errors.js";
import { MissingFile, readRange } from "../files/byte_source.js";
import { openHttp, HTTP_DEFAULTS } from "../files/http/source.js";
import { isFolder } from "../files/node_files.js";
import { load } from "../index.node.js";
import { architectureOf } from "../model/architectures.js";
import { ConfigReader } from "../model/config_reader.js";
import type { ModelInfo, ModelOptions } from "../model/model.js";
import { parseConfig, readTextFile } from "./config_file.js";

/** What an argument named: a model with its headers, or a config.json alone. */
export interface Source {
  /** As it was given. */
  readonly name: string;
  /** Each RoPE of the model with the layers it turns. */
  readonly ropes: readonly LayerRope[];
  /** Layers that nothing turns; empty where that is not known. */
  readonly plainLayers: readonly number[];
  /** The parsed config.json, where the source is one. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Where there are weights. */
  readonly info?: ModelInfo;
}

/** The RoPE of a kind of layer. */
export interface LayerRope {
  /** As transformers names it; undefined where all layers share one. */
  readonly kind: string | undefined;
  readonly rope: Readonly<RopeConfig>;
  /** Indices of its layers, first to last; empty where the file does not say. */
  readonly layers: readonly number[];
  /** Tokens in sight, 0 for all; undefined where the file does not say. */
  readonly window?: number;
}

/** How a source is opened. */
export interface SourceOptions {
  overrides?: RopeOverrides | undefined;
  /** Only this kind of layer. */
  layerType?: string | undefined;
  /** What a model with weights is opened with besides. */
  model?: Omit<ModelOptions, "rope">;
}

/** Kinds of layer that a model may have; those in its config come first. */
const LAYER_KINDS = ["full_attention", "sliding_attention", "chunked_attention", "main", "compress"];

/**
 * Opens what an argument names: a config.json, a .gguf or .safetensors file, a folder, or the address of any of these. Weights are not read.
 * @throws {@link RopewalkError} INVALID_FILE, NETWORK, UNSUPPORTED_MODEL, INVALID_CONFIG and the like.
 */
export async function openSource(argument: string, options: SourceOptions = {}): Promise<Source> {
  const path = await configPath(argument);
  if (path === undefined) return modelSource(argument, options);
  const config = parseConfig(path, await readText(path));
  return { name: argument, config, ...configRopes(config, options) };
}

/**
 * The one RoPE that a command is about: that of `layerType`, or the one all layers share, or that of the layers that see everything.
 * @throws {@link RopewalkError} as {@link openSource}.
 */
export async function openRope(argument: string, options: SourceOptions = {}): Promise<Readonly<RopeConfig>> {
  const { ropes } = await openSource(argument, options);
  const chosen =
    ropes.find(({ kind }) => kind === options.layerType) ??
    ropes.find(({ kind }) => kind === "full_attention") ??
    ropes[0];
  if (chosen === undefined)
    throw new RopewalkError("INVALID_CONFIG", "layer_types", "no layer of this model carries RoPE");
  return chosen.rope;
}

/** Whether an argument is the address of something on a server. */
export function isAddress(argument: string): boolean {
  return /^https?:/i.test(argument);
}

/** Whether a file says in which files of its folder a model lies. */
export function isShardIndex(name: string): boolean {
  return /\.safetensors\.index\.json$/i.test(name);
}

/** Where the config.json of an argument is, if that is all there is to read. */
async function configPath(argument: string): Promise<string | undefined> {
  const name = isAddress(argument) ? addressOf(argument).pathname : argument;
  if (/\.json$/i.test(name) && !isShardIndex(name)) return argument;
  if (isAddress(argument) || !(await isFolder(argument))) return undefined;
  const names = await readdir(argument);
  const hasWeights = names.some((entry) => /\.(gguf|safetensors)$/.test(entry));
  return !hasWeights && names.includes("config.json") ? join(argument, "config.json") : undefined;
}

async function readText(path: string): Promise<string> {
  if (!isAddress(path)) return readTextFile(path);
  const file = await openHttp(addressOf(path), path, { fetch, headers: {}, ...HTTP_DEFAULTS });
  if (file instanceof MissingFile) throw new RopewalkError("NETWORK", path, file.reason);
  return new TextDecoder().decode(await readRange(file, 0, file.size));
}

function addressOf(argument: string): URL {
  if (!URL.canParse(argument)) throw new RopewalkError("INVALID_ARGUMENT", argument, "is no address");
  return new URL(argument);
}

async function modelSource(argument: string, { overrides, layerType, model }: SourceOptions): Promise<Source> {
  const info = await (
    await load()
  ).modelInfo(argument, { ...model, ...(overrides !== undefined && { rope: overrides }) });
  const kinds = [...new Set(info.layers.map(({ kind }) => kind))];
  const ropes = kinds.flatMap((kind): LayerRope[] => {
    const layers = indicesOf(info.layers, (layer) => layer.kind === kind && layer.rope !== null);
    const first = info.layers[layers[0] ?? -1];
    const shown = kinds.length > 1 ? kind : undefined;
    return first === undefined ? [] : [{ kind: shown, rope: first.rope!, layers, window: first.window }];
  });
  if (layerType !== undefined && kinds.length > 1 && !ropes.some(({ kind }) => kind === layerType)) {
    throw new RopewalkError("INVALID_ARGUMENT", "layer_type", `must be one of ${kinds.join(", ")} (got ${layerType})`);
  }
  const chosen = layerType === undefined || kinds.length === 1 ? ropes : ropes.filter(({ kind }) => kind === layerType);
  return { name: argument, ropes: chosen, plainLayers: indicesOf(info.layers, ({ rope }) => rope === null), info };
}

function configRopes(
  config: Readonly<Record<string, unknown>>,
  { overrides, layerType }: SourceOptions,
): Pick<Source, "ropes" | "plainLayers"> {
  const turned = layersOf(config);
  const plainLayers = indicesOf(turned, (isTurned) => !isTurned);
  const windows = windowsOf(config, turned.length);
  const types = layerTypesOf(config, windows);
  const ofKind = (kind: string): number[] => indicesOf(turned, (isTurned, layer) => isTurned && types[layer] === kind);
  const read = (layer_type?: string): RopeConfig =>
    ropeConfig(config, {
      ...(layer_type !== undefined && { layer_type }),
      ...(overrides !== undefined && { overrides }),
    });
  if (layerType !== undefined)
    return { ropes: [{ kind: layerType, rope: read(layerType), layers: ofKind(layerType) }], plainLayers };
  try {
    return { ropes: [{ kind: undefined, rope: read(), layers: indicesOf(turned, Boolean) }], plainLayers };
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "layer_type") throw error;
    const kinds = new Set([...types.filter((type) => typeof type === "string"), ...LAYER_KINDS]);
    const ropes = [...kinds].flatMap((kind): LayerRope[] => {
      // a change that names no kind is for the layers that see everything, as in rw.model()
      const rope = tried(() => (kind === "sliding_attention" ? ropeConfig(config, { layer_type: kind }) : read(kind)));
      if (rope === undefined) return [];
      const layers = ofKind(kind);
      const window = windows[layers[0] ?? -1];
      return [{ kind, rope, layers, ...(window !== undefined && { window }) }];
    });
    if (ropes.length === 0) throw error;
    return { ropes, plainLayers };
  }
}

/** The kinds of a config's layers as transformers names them; empty where nothing tells. */
function layerTypesOf(config: Readonly<Record<string, unknown>>, windows: readonly number[]): readonly unknown[] {
  const { layer_types } = textConfigOf(config).config;
  return Array.isArray(layer_types)
    ? layer_types
    : windows.map((window) => (window > 0 ? "sliding_attention" : "full_attention"));
}

/** Tokens in sight of each layer, 0 for all, of an architecture whose sliding layers have a RoPE of their own; empty for others. */
function windowsOf(config: Readonly<Record<string, unknown>>, count: number): number[] {
  try {
    const reader = new ConfigReader({ name: "config.json", kind: "safetensors", config, metadata: {}, tensors: new Map() });
    const { hasTwoRopes, window } = architectureOf(reader);
    const windowOf = hasTwoRopes === true ? window?.(reader) : undefined;
    return windowOf === undefined ? [] : Array.from({ length: count }, (_, layer) => windowOf(layer));
  } catch (error) {
    if (error instanceof RopewalkError) return []; // the package may know a model's RoPE and not how to run it
    throw error;
  }
}

/** Which layers are turned; empty where the config does not say how many there are. */
function layersOf(config: object): boolean[] {
  return tried(() => ropeLayers(config)) ?? [];
}

/** What `read` returns, or undefined where it is about a kind of layer that the model has not. */
function tried<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RopewalkError && (error.field === "layer_type" || error.field.endsWith("num_hidden_layers")))
      return undefined;
    throw error;
  }
}

function indicesOf<Item>(items: readonly Item[], holds: (item: Item, index: number) => boolean): number[] {
  return items.flatMap((item, index) => (holds(item, index) ? [index] : []));
}
