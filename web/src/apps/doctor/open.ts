// Opens what is diagnosed: a parsed config.json or GGUF metadata, a file, a folder, or an address. Reads no weights.
import { type Dict, isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { failNoConfig, mayBeConfig } from "../../core/config/known_keys.js";
import { ggufSourceOf } from "../../core/config/rope_config.js";
import { type ByteSource, type FileSet, MissingFile, readRange } from "../../runtime/files/byte_source.js";
import { readJson } from "../../runtime/files/json_file.js";
import {
  type ModelFiles,
  type ModelSource,
  openFiles,
  openModel,
  type OpenOptions,
} from "../../runtime/files/model_files.js";
import type { FilePlatform } from "../../runtime/files/platform.js";
import { readRopeTensors } from "../../runtime/model/config/rope_tensors.js";

/** A file's RoPE as `ropeConfig()` takes it. */
export interface Opened {
  name: string;
  kind: "config.json" | "gguf";
  /** The parsed config.json, or `{ metadata, tensors }`. */
  source: Dict;
  /** What the tensors of a GGUF file are in all, by its header. */
  stored?: { parameters: number; bytes: number };
}

/** @throws INVALID_FILE, NETWORK, UNSUPPORTED_MODEL, INVALID_ARGUMENT; the signal's reason after an abort */
export async function openSource(
  platform: FilePlatform,
  source: ModelSource | Dict,
  options: OpenOptions,
): Promise<Opened> {
  if (isParsed(source)) return parsedSource(source);
  const files = await openFiles(platform, source, options);
  const config = await findConfig(files, options.signal);
  if (config !== undefined) return { name: config.name, kind: "config.json", source: await readConfig(config) };
  const { onProgress: _, ...rest } = options;
  const model = await openModel(platform, source, rest);
  if (model.kind === "safetensors") return { name: "config.json", kind: "config.json", source: model.config ?? {} };
  const tensors = await readRopeTensors(model, options.signal);
  return { name: model.name, kind: "gguf", source: { metadata: model.metadata, tensors }, stored: storedBy(model) };
}

/** Elements and bytes of all tensors. */
function storedBy({ tensors }: Pick<ModelFiles, "tensors">): { parameters: number; bytes: number } {
  const all = [...tensors.values()];
  const elements = all.map(({ shape }) => shape.reduce((product, size) => product * size, 1));
  return {
    parameters: elements.reduce((sum, count) => sum + count, 0),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function isParsed(source: unknown): source is Dict {
  const isFile = source instanceof Blob || source instanceof URL || source instanceof ArrayBuffer;
  return isDict(source) && !isFile;
}

function parsedSource(source: Dict): Opened {
  try {
    const copy = structuredClone(source);
    const isGguf = ggufSourceOf(copy) !== undefined;
    return { name: isGguf ? "GGUF metadata" : "config.json", kind: isGguf ? "gguf" : "config.json", source: copy };
  } catch (cause) {
    return fail("INVALID_ARGUMENT", "source", "must be plain data: a parsed config.json or GGUF metadata", { cause });
  }
}

/** The config.json to read: the requested file, or the one beside weights in safetensors format or in a folder. */
async function findConfig(files: FileSet, signal: AbortSignal | undefined): Promise<ByteSource | undefined> {
  const { requested } = files;
  if (requested?.endsWith(".gguf")) return undefined;
  if (requested === undefined) return configBeside(files, signal);
  const file = await files.open(requested, signal);
  if (file instanceof MissingFile) return fail(file.code, `${requested}: file`, file.reason, file.advised);
  if (requested.endsWith(".safetensors.index.json")) return configBeside(files, signal);
  if (requested.endsWith(".json")) return file;
  const begin = String.fromCharCode(...(await readRange(file, 0, Math.min(16, file.size), signal)));
  if (requested.endsWith(".safetensors")) return begin.startsWith("GGUF") ? undefined : configBeside(files, signal);
  return /^\s*\{/.test(begin) ? file : undefined;
}

async function configBeside(files: FileSet, signal: AbortSignal | undefined): Promise<ByteSource | undefined> {
  if (files.names !== undefined && !files.names.includes("config.json")) return undefined;
  const config = await files.open("config.json", signal);
  return config instanceof MissingFile ? undefined : config;
}

async function readConfig(file: ByteSource): Promise<Dict> {
  const config = await readJson(file);
  if (!mayBeConfig(config)) failNoConfig(file.name);
  return config;
}
