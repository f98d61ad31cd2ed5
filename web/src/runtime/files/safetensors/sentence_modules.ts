// The files that sentence-transformers writes beside a model: what it does with hidden states to make an embedding.
import * as advise from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { type ByteSource, type FileSet, MissingFile } from "../byte_source.js";
import { fieldOf, invalidFile } from "../errors.js";
import { readHeader } from "../header_reader.js";
import { readJson, readJsonList } from "../json_file.js";
import type { OpenedTensors, StoredTensor } from "../stored_tensor.js";
import { parseSafetensors } from "./header.js";

/** A step of sentence-transformers, such as pooling. */
export interface SentenceModule {
  /** Its class without the package: `Transformer`, `Pooling`, `Dense`, `Normalize`. */
  readonly kind: string;
  /** Its folder; empty for the model itself. */
  readonly path: string;
  /** The config.json in its folder; empty for modules that have none. */
  readonly config: Dict;
}

/** The files of sentence-transformers in a model folder. */
export interface SentenceFiles {
  /** modules.json, with the config of each module. */
  readonly modules: readonly SentenceModule[];
  /** config_sentence_transformers.json; empty if there is none. */
  readonly config: Dict;
  /** sentence_bert_config.json; empty if there is none. */
  readonly transformer: Dict;
}

const MAX_MODULES = 16;

/**
 * Reads the files of sentence-transformers, if the folder has modules.json, and the headers of its dense layers, whose
 * tensors are named by their folder: `2_Dense/linear.weight`.
 *
 * @throws INVALID_FILE, NETWORK
 * @internal
 */
export async function readSentenceFiles(
  set: FileSet,
  opened: OpenedTensors,
  signal?: AbortSignal,
): Promise<{ opened: OpenedTensors; sentence?: SentenceFiles }> {
  const optional = async (name: string): Promise<Dict> => {
    const source = await set.open(name, signal);
    return source instanceof MissingFile ? {} : readJson(source, signal);
  };
  const required = async (name: string): Promise<ByteSource> => {
    const source = await set.open(name, signal);
    if (source instanceof MissingFile)
      fail(
        source.code,
        fieldOf(name, "file"),
        `${source.reason}. modules.json names its folder`,
        advise.other("pass the whole folder of the model"),
      );
    return source;
  };
  if (set.names !== undefined && !set.names.includes("modules.json")) return { opened };
  const listed = await set.open("modules.json", signal);
  if (listed instanceof MissingFile) return { opened };
  const entries = await readJsonList(listed, signal);
  if (entries.length > MAX_MODULES)
    invalidFile("modules.json", "JSON", `must have at most ${MAX_MODULES} modules (got ${entries.length})`);
  const files = [...opened.files];
  const tensors = new Map<string, StoredTensor>(opened.tensors);
  const modules: SentenceModule[] = [];
  for (const entry of entries) {
    const { type, path = "" } = isDict(entry) ? entry : {};
    if (typeof type !== "string") return invalidFile("modules.json", "type", `must name a class (got ${show(type)})`);
    if (typeof path !== "string" || !/^([\w-][\w.-]*)?$/.test(path))
      return invalidFile("modules.json", "path", `must be the name of a folder (got ${show(path)})`);
    const kind = type.slice(type.lastIndexOf(".") + 1);
    const hasConfig = path !== "" && kind !== "Normalize" && kind !== "Transformer";
    modules.push({
      kind,
      path,
      config: hasConfig ? await readJson(await required(`${path}/config.json`), signal) : {},
    });
    if (kind !== "Dense") continue;
    const source = await required(`${path}/model.safetensors`);
    const stored = await readHeader(source, (cursor) => parseSafetensors(cursor, files.length, source.size), signal);
    files.push(source);
    for (const tensor of stored.tensors)
      tensors.set(`${path}/${tensor.name}`, { ...tensor, name: `${path}/${tensor.name}` });
  }
  const sentence = {
    modules,
    config: await optional("config_sentence_transformers.json"),
    transformer: await optional("sentence_bert_config.json"),
  };
  return { opened: { ...opened, files, tensors }, sentence };
}
