// Opens the source argument of `inspect`, `plot` and `table`: a config.json or a model, from disk or from a server.
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { RopeOverrides } from "../../core/config/overrides.js";
import type { RopeConfig } from "../../core/config/types.js";
import { fail, type RopewalkError } from "../../core/base/errors.js";
import { MissingFile, readRange } from "../../runtime/files/byte_source.js";
import { openHttp, HTTP_DEFAULTS } from "../../runtime/files/http/source.js";
import { parseHubName } from "../../runtime/files/hub/name.js";
import { openFiles } from "../../runtime/files/model_files.js";
import { isFolder } from "../../runtime/files/node_files.js";
import { nodeFilePlatform } from "../../runtime/files/platform.node.js";
import { load } from "../../index.node.js";
import { configRopes, type LayerRope } from "../../runtime/model/plan/config_ropes.js";
import type { ModelInfo } from "../../runtime/model/model.js";
import type { ModelOptions } from "../../runtime/model/run/options.js";
import { hubOptions } from "./hub_options.js";
import { parseConfig, readTextFile } from "./input_file.js";

/** A config.json, or a model with its headers. */
export interface Source {
  /** The argument. */
  readonly name: string;
  /** The RoPEs of the model with their layers. */
  readonly ropes: readonly LayerRope[];
  /** Indices of layers without RoPE; empty if that isn't known. */
  readonly layersWithoutRope: readonly number[];
  /** Sliding window of each layer in tokens, 0 for full attention; empty if that isn't known. */
  readonly windows: readonly number[];
  /** The parsed config.json, if the source is one. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Why no layer has RoPE, if that is so and the source is a config.json. */
  readonly noRope?: RopewalkError;
  /** Description of the model, if the source has weights. */
  readonly info?: ModelInfo;
}

export type { LayerRope } from "../../runtime/model/plan/config_ropes.js";

/** Options of {@link openSource}. */
export interface SourceOptions {
  overrides?: RopeOverrides | undefined;
  /** Only this kind of layer. */
  layerType?: string | undefined;
  /** More options for a model with weights. */
  model?: Omit<ModelOptions, "rope">;
}

/**
 * Opens a config.json, a .gguf or .safetensors file, a folder, the URL of any of these, or a name on the Hub. Reads headers only, no
 * weights.
 * @throws {@link RopewalkError} INVALID_FILE, NETWORK, UNSUPPORTED_MODEL, INVALID_CONFIG and others.
 */
export async function openSource(argument: string, options: SourceOptions = {}): Promise<Source> {
  const path = await configPath(argument);
  if (path === undefined) return modelSource(argument, options);
  const config = parseConfig(path, await readText(path));
  return { name: argument, config, ...configRopes(config, options.overrides, options.layerType) };
}

/**
 * The RoPE that a command uses: that of `layerType`, or the one that all layers share, or that of the full-attention
 * layers.
 * @throws {@link RopewalkError} as {@link openSource}.
 */
export async function openRope(argument: string, options: SourceOptions = {}): Promise<Readonly<RopeConfig>> {
  const { ropes, noRope } = await openSource(argument, options);
  if (noRope !== undefined) throw noRope;
  const chosen =
    ropes.find(({ kind }) => kind === options.layerType) ??
    ropes.find(({ kind }) => kind === "full_attention") ??
    ropes[0];
  if (chosen === undefined) fail("INVALID_CONFIG", argument, "this model has no RoPE");
  return chosen.rope;
}

/** Whether an argument is a URL. */
export function isUrl(argument: string): boolean {
  return /^https?:/i.test(argument);
}

/** Whether a file is the index of a model that is split into several files. */
function isShardIndex(name: string): boolean {
  return /\.safetensors\.index\.json$/i.test(name);
}

/** Path of the config.json that an argument names, or of a folder without weights; undefined for models. */
async function configPath(argument: string): Promise<string | undefined> {
  const name = isUrl(argument) ? parseUrl(argument).pathname : argument;
  if (/\.json$/i.test(name) && !isShardIndex(name)) return argument;
  if (isUrl(argument) || !(await isFolder(argument))) return undefined;
  const names = await readdir(argument);
  const hasWeights = names.some((entry) => /\.(gguf|safetensors)$/.test(entry));
  if (!hasWeights && !names.includes("config.json"))
    fail("INVALID_FILE", argument, "the folder has no config.json, and no .gguf or .safetensors file");
  return !hasWeights && names.includes("config.json") ? join(argument, "config.json") : undefined;
}

async function readText(path: string): Promise<string> {
  if (!isUrl(path)) return (await isHubName(path)) ? readHubText(path) : readTextFile(path);
  const url = parseUrl(path);
  const name = basename(url.pathname);
  const file = await openHttp(url, name, { fetch, headers: {}, ...HTTP_DEFAULTS });
  if (file instanceof MissingFile) fail("NETWORK", `${name}: file`, file.reason, file.advised);
  return new TextDecoder().decode(await readRange(file, 0, file.size));
}

/** Whether an argument is the name of a model on the Hub, and not the path of a file or folder. */
export async function isHubName(argument: string): Promise<boolean> {
  return parseHubName(argument) !== undefined && !(await nodeFilePlatform.pathExists!(argument));
}

async function readHubText(name: string): Promise<string> {
  const files = await openFiles(nodeFilePlatform, name, await hubOptions());
  const file = await files.open(files.requested!);
  if (file instanceof MissingFile) fail("NETWORK", `${name}: file`, file.reason, file.advised);
  return new TextDecoder().decode(await readRange(file, 0, file.size));
}

function parseUrl(argument: string): URL {
  if (!URL.canParse(argument)) fail("INVALID_ARGUMENT", argument, "isn't a valid URL");
  return new URL(argument);
}

async function modelSource(argument: string, { overrides, layerType, model }: SourceOptions): Promise<Source> {
  const info = await (
    await load({ threads: 1 })
  ).modelInfo(argument, { ...(await hubOptions()), ...model, ...(overrides !== undefined && { rope: overrides }) });
  // layers of one RoPE share an object
  const distinct = [...new Set(info.layers.flatMap(({ rope }) => rope ?? []))];
  const ropes = distinct.map((rope): LayerRope => {
    const layers = indicesOf(info.layers, (layer) => layer.rope === rope);
    const { kind, window } = info.layers[layers[0]!]!;
    return distinct.length > 1 ? { kind, rope, layers, window } : { kind: undefined, rope, layers };
  });
  const withRope = [...new Set(info.layers.flatMap(({ kind, rope }) => (rope === null ? [] : [kind])))];
  const chosen =
    layerType === undefined
      ? ropes
      : ropes.filter(({ rope }) => info.layers.some((layer) => layer.rope === rope && layer.kind === layerType));
  if (layerType !== undefined && withRope.length === 0)
    fail("INVALID_ARGUMENT", "layer_type", `selects a RoPE, and this model has none (got ${layerType})`);
  if (chosen.length === 0 && ropes.length > 0)
    fail("INVALID_ARGUMENT", "layer_type", `must be one of ${withRope.join(", ")} (got ${layerType})`);
  return {
    name: argument,
    ropes: chosen,
    layersWithoutRope: indicesOf(info.layers, ({ rope }) => rope === null),
    windows: info.layers.map(({ window }) => window),
    info,
  };
}

function indicesOf<Item>(items: readonly Item[], matches: (item: Item, index: number) => boolean): number[] {
  return items.flatMap((item, index) => (matches(item, index) ? [index] : []));
}
