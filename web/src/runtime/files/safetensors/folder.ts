// Opens a safetensors model: one file or several with an index, and the JSON files of a model folder.
import * as advise from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { type ByteSource, type FileSet, MissingFile } from "../byte_source.js";
import { fieldOf, invalidFile, named } from "../errors.js";
import { readHeader } from "../header_reader.js";
import { readJson, readText } from "../json_file.js";
import { MAX_FILES, MAX_TENSORS } from "../limits.js";
import type { OpenedTensors, PackedTensor, StoredTensor } from "../stored_tensor.js";
import { isIgnoredTensor, parseSafetensors } from "./header.js";

/** The vocabulary of RWKV World, which its folders have instead of tokenizer.json. */
const WORLD_VOCABULARY = "rwkv_vocab_v20230424.txt";

/** The files other than weights in a model folder, as on the Hugging Face Hub. */
export interface FolderFiles {
  /** config.json */
  readonly config: Dict;
  /** tokenizer.json, or the text of the vocabulary of RWKV World under the name of its file */
  readonly tokenizer?: Dict;
  /** tokenizer_config.json */
  readonly tokenizerConfig?: Dict;
  /** generation_config.json */
  readonly generationConfig?: Dict;
  /** chat_template.jinja as `default`, and those of additional_chat_templates/ by the names of their files */
  readonly chatTemplates?: Readonly<Record<string, string>>;
}

/** Reads the files other than weights. Only config.json is required. @throws INVALID_FILE, NETWORK @internal */
export async function readFolderFiles(set: FileSet, signal?: AbortSignal): Promise<FolderFiles> {
  const optional = async <T>(
    name: string,
    read: (source: ByteSource, signal?: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> => {
    const source = await set.open(name, signal);
    return source instanceof MissingFile ? undefined : read(source, signal);
  };
  const worldVocabulary = async (): Promise<Dict | undefined> => {
    if (config["model_type"] !== "rwkv7") return undefined;
    const text = await optional(WORLD_VOCABULARY, readText);
    return text === undefined ? undefined : { [WORLD_VOCABULARY]: text };
  };
  const found = await set.open("config.json", signal);
  if (found instanceof MissingFile) {
    fail(
      found.code,
      "config.json: file",
      `${found.reason}. A safetensors model needs config.json in the same folder`,
      found.advised,
    );
  }
  const config = await readJson(found, signal);
  const tokenizer = (await optional("tokenizer.json", readJson)) ?? (await worldVocabulary());
  const tokenizerConfig = await optional("tokenizer_config.json", readJson);
  const generationConfig = await optional("generation_config.json", readJson);
  const chatTemplates = await readTemplates(set, optional, tokenizerConfig?.["chat_template"] !== undefined);
  return {
    config,
    ...(tokenizer && { tokenizer }),
    ...(tokenizerConfig && { tokenizerConfig }),
    ...(generationConfig && { generationConfig }),
    ...(chatTemplates && { chatTemplates }),
  };
}

type Optional = <T>(
  name: string,
  read: (source: ByteSource, signal?: AbortSignal) => Promise<T>,
) => Promise<T | undefined>;

const TEMPLATE_FOLDER = "additional_chat_templates";

/** The chat templates in files of their own; undefined if there are none. */
async function readTemplates(
  set: FileSet,
  optional: Optional,
  isInConfig: boolean,
): Promise<FolderFiles["chatTemplates"]> {
  const main = await optional("chat_template.jinja", readText);
  const found: [string, string][] = main === undefined ? [] : [["default", main]];
  for (const file of await templateNames(set, main !== undefined)) {
    const text = await optional(`${TEMPLATE_FOLDER}/${file}`, readText);
    if (text !== undefined) found.push([file.replace(/\.jinja$/, ""), text]);
  }
  if (found.length === 0 && !isInConfig) {
    const older = await optional("chat_template.json", readJson); // of processors, before 2025
    if (typeof older?.["chat_template"] === "string") found.push(["default", older["chat_template"]]);
  }
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The files of further templates. Where files can't be listed, the one that has a meaning is tried. */
async function templateNames(set: FileSet, hasMain: boolean): Promise<readonly string[]> {
  const prefix = `${TEMPLATE_FOLDER}/`;
  const listed = set.names?.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  const names = (await set.namesIn?.(TEMPLATE_FOLDER)) ?? listed ?? (hasMain ? ["tool_use.jinja"] : []);
  return names.filter((name) => /^[^/\\]+\.jinja$/.test(name)).sort();
}

/** Opens one safetensors file. @throws INVALID_FILE, UNSUPPORTED_MODEL @internal */
export async function openSafetensors(source: ByteSource, signal?: AbortSignal): Promise<OpenedTensors> {
  const { tensors, packed } = await readSafetensors(source, 0, signal);
  return { files: [source], tensors: byName(tensors), packed: byName(packed) };
}

/** Opens the files listed in an index: model.safetensors.index.json, `{ weight_map: { tensor: file } }`. @internal */
export async function openSafetensorsIndex(
  set: FileSet,
  index: ByteSource,
  signal?: AbortSignal,
): Promise<OpenedTensors> {
  const { weight_map: map } = await readJson(index, signal);
  if (map === undefined) {
    const message = `is missing: ${named(index.name)} isn't the index of a model`;
    const advised = advise.other("pass the folder that it is in, or a .safetensors or .gguf file");
    return invalidFile(index.name, "weight_map", message, advised);
  }
  if (!isDict(map) || Object.keys(map).length === 0) {
    return invalidFile(index.name, "weight_map", "must be an object of file names by tensor name, with at least one");
  }
  const count = Object.keys(map).length;
  if (count > MAX_TENSORS)
    invalidFile(index.name, "weight_map", `has ${count} tensors, more than the limit of ${MAX_TENSORS}`);
  const namesIn = new Map<string, string[]>();
  for (const [tensor, file] of Object.entries(map)) {
    if (!isSiblingFile(file))
      return invalidFile(
        index.name,
        `weight_map.${tensor}`,
        `must be the name of a .safetensors file in the folder of the index (got ${show(file)})`,
      );
    const names = namesIn.get(file) ?? [];
    namesIn.set(file, names);
    names.push(tensor);
  }
  if (namesIn.size > MAX_FILES)
    invalidFile(index.name, "weight_map", `has ${namesIn.size} files, more than the limit of ${MAX_FILES}`);
  const files: ByteSource[] = [];
  const tensors = new Map<string, StoredTensor>();
  const packed = new Map<string, PackedTensor>();
  for (const [file, names] of [...namesIn].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const source = await set.open(file, signal);
    if (source instanceof MissingFile)
      return fail(
        source.code,
        fieldOf(file, "file"),
        `${source.reason}. ${named(index.name)} lists it`,
        advise.other("get the whole model"),
      );
    const stored = await readSafetensors(source, files.length, signal);
    const [weights, parts] = [byName(stored.tensors), byName(stored.packed)];
    files.push(source);
    for (const name of names) {
      const [tensor, part] = [weights.get(name), parts.get(name)];
      if (tensor !== undefined) tensors.set(name, tensor);
      else if (part !== undefined) packed.set(name, part);
      else if (!isIgnoredTensor(name))
        invalidFile(
          file,
          name,
          `is missing, although ${named(index.name)} lists it in this file`,
          advise.other("download both files again"),
        );
    }
  }
  return { files, tensors, packed };
}

function byName<T extends { readonly name: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}

function readSafetensors(
  source: ByteSource,
  index: number,
  signal: AbortSignal | undefined,
): Promise<{ tensors: StoredTensor[]; packed: PackedTensor[] }> {
  return readHeader(source, (cursor) => parseSafetensors(cursor, index, source.size), signal);
}

/** Whether a value is a file name that can't leave its folder, on disk or on a server. */
function isSiblingFile(name: unknown): name is string {
  return typeof name === "string" && /^[^/\\:]+\.safetensors$/.test(name) && !name.startsWith(".");
}
