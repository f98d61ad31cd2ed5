import { RopewalkError } from "../base/errors.js";
import { type ByteSource, type FileSet, NotThere } from "./byte_source.js";
import { invalidFile } from "./failures.js";
import type { OpenedTensors } from "./gguf_files.js";
import { readHeader } from "./header.js";
import { isJsonObject, type JsonObject, readJson, readText } from "./json_file.js";
import { isNoWeight, parseSafetensors } from "./safetensors_header.js";
import type { StoredTensor } from "./stored_tensor.js";

/** What lies beside the weights in a folder of the Hub. */
export interface FolderFiles {
  /** config.json */
  readonly config: JsonObject;
  /** tokenizer.json */
  readonly tokenizer?: JsonObject;
  /** tokenizer_config.json */
  readonly tokenizerConfig?: JsonObject;
  /** generation_config.json */
  readonly generationConfig?: JsonObject;
  /** chat_template.jinja */
  readonly chatTemplate?: string;
}

/** Reads the files beside the weights. @throws INVALID_FILE, NETWORK @internal */
export async function readFolderFiles(set: FileSet, signal?: AbortSignal): Promise<FolderFiles> {
  const optional = async <T>(
    name: string,
    read: (source: ByteSource, signal?: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> => {
    const source = await set.open(name, signal);
    return source instanceof NotThere ? undefined : read(source, signal);
  };
  const found = await set.open("config.json", signal);
  if (found instanceof NotThere) {
    throw new RopewalkError(found.code, "config.json: file", `${found.why}; safetensors files need it beside them`);
  }
  const config = await readJson(found, signal);
  const tokenizer = await optional("tokenizer.json", readJson);
  const tokenizerConfig = await optional("tokenizer_config.json", readJson);
  const generationConfig = await optional("generation_config.json", readJson);
  const chatTemplate = await optional("chat_template.jinja", readText);
  return {
    config,
    ...(tokenizer && { tokenizer }),
    ...(tokenizerConfig && { tokenizerConfig }),
    ...(generationConfig && { generationConfig }),
    ...(chatTemplate !== undefined && { chatTemplate }),
  };
}

/** Opens one safetensors file. @throws INVALID_FILE, UNSUPPORTED_MODEL @internal */
export async function openSafetensors(source: ByteSource, signal?: AbortSignal): Promise<OpenedTensors> {
  const tensors = await readSafetensors(source, 0, signal);
  return { files: [source], tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

/** Opens the files that an index names: model.safetensors.index.json, `{ weight_map: { tensor: file } }`. @internal */
export async function openSafetensorsIndex(
  set: FileSet,
  index: ByteSource,
  signal?: AbortSignal,
): Promise<OpenedTensors> {
  const { weight_map: map } = await readJson(index, signal);
  if (!isJsonObject(map) || Object.keys(map).length === 0) {
    return invalidFile(index.name, "weight_map", "must be an object of tensor names and files");
  }
  const namesIn = new Map<string, string[]>();
  for (const [tensor, file] of Object.entries(map)) {
    if (!isNeighbour(file))
      return invalidFile(index.name, `weight_map.${tensor}`, "must name a .safetensors file beside the index");
    const names = namesIn.get(file) ?? [];
    namesIn.set(file, names);
    names.push(tensor);
  }
  const files: ByteSource[] = [];
  const tensors = new Map<string, StoredTensor>();
  for (const [file, names] of [...namesIn].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const source = await set.open(file, signal);
    if (source instanceof NotThere) return invalidFile(index.name, file, source.why);
    const stored = new Map(
      (await readSafetensors(source, files.length, signal)).map((tensor) => [tensor.name, tensor]),
    );
    files.push(source);
    for (const name of names) {
      const tensor = stored.get(name);
      if (tensor !== undefined) tensors.set(name, tensor);
      else if (!isNoWeight(name)) invalidFile(file, name, `is not there, though ${index.name} says so`);
    }
  }
  return { files, tensors };
}

function readSafetensors(source: ByteSource, index: number, signal: AbortSignal | undefined): Promise<StoredTensor[]> {
  return readHeader(source, (cursor) => parseSafetensors(cursor, index, source.size), signal);
}

/** Whether a name stays in its folder, on a disk and on a server. */
function isNeighbour(name: unknown): name is string {
  return typeof name === "string" && /^[^/\\:]+\.safetensors$/.test(name) && !name.startsWith(".");
}
