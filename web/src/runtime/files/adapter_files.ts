// Opens the files of an adapter (LoRA): adapter_model.safetensors with adapter_config.json, as PEFT writes them, or a GGUF file.
import * as advise from "../../core/base/advice.js";
import type { Dict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { type ByteSource, type FileSet, type HubChoice, MissingFile, readRange } from "./byte_source.js";
import { openGguf } from "./gguf/shards.js";
import { readJson } from "./json_file.js";
import { requireFile, throwUnknownFormat } from "./main_file.js";
import { type ModelSource, openFiles, type OpenOptions } from "./model_files.js";
import type { FilePlatform } from "./platform.js";
import { countReads } from "./progress.js";
import { type ReadOptions, readTensors, type WriteTensor } from "./read_tensors.js";
import { openSafetensors } from "./safetensors/folder.js";
import { refuseDtype } from "./safetensors/header.js";
import type { StoredTensor } from "./stored_tensor.js";

const PEFT_FILE = "adapter_model.safetensors";
const PEFT_CONFIG = "adapter_config.json";

/** An adapter's parsed and checked headers, and a method that reads its tensors. @internal */
export interface AdapterFiles {
  readonly kind: "gguf" | "safetensors";
  /** Name of the file with the tensors, for messages. */
  readonly name: string;
  readonly hub?: HubChoice;
  /** GGUF metadata; `{}` for safetensors. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** adapter_config.json; `{}` for GGUF. */
  readonly config: Dict;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  read(tensors: readonly StoredTensor[], write: WriteTensor, options: ReadOptions): Promise<void>;
}

/** @throws INVALID_FILE, UNSUPPORTED_MODEL, NETWORK, INVALID_ARGUMENT; the signal's reason after an abort @internal */
export async function openAdapter(
  platform: FilePlatform,
  source: ModelSource,
  options: OpenOptions,
): Promise<AdapterFiles> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const given = await openFiles(platform, source, options, "adapter");
  const count = onProgress === undefined ? undefined : countReads(given, onProgress);
  const files = count?.files ?? given;
  const main = await openTensors(files, signal);
  const begin = await readRange(main, 0, Math.min(16, main.size), signal);
  const isGguf = String.fromCharCode(...begin.subarray(0, 4)) === "GGUF";
  // a safetensors header starts with { after its 8-byte length
  if (!isGguf && begin[8] !== 0x7b) return throwUnknownFormat(main.name, "GGUF or safetensors", begin);
  const opened = isGguf
    ? await openGguf(files, main, signal)
    : { ...(await openSafetensors(main, signal)), metadata: {}, config: await readConfig(files, signal) };
  count?.stop();
  const [packed] = isGguf ? (opened.packed?.values() ?? []) : [];
  if (packed !== undefined) refuseDtype(main.name, packed.name, packed.dtype);
  return {
    kind: isGguf ? "gguf" : "safetensors",
    name: main.name,
    ...(given.hub !== undefined && { hub: given.hub }),
    metadata: opened.metadata,
    config: "config" in opened ? opened.config : {},
    tensors: opened.tensors,
    read: (tensors, write, reading) => readTensors(opened.files, tensors, write, reading),
  };
}

async function openTensors(files: FileSet, signal: AbortSignal | undefined): Promise<ByteSource> {
  if (files.requested !== undefined) return requireFile(files.requested, await files.open(files.requested, signal));
  const ggufs = files.names?.filter((name) => /\.gguf$/i.test(name)) ?? [];
  const hasPeft = files.names?.includes(PEFT_FILE) ?? true;
  if (!hasPeft && ggufs.length !== 1) {
    const found =
      ggufs.length === 0
        ? `has no adapter: no ${PEFT_FILE} or .gguf file`
        : `has several adapters (${ggufs.join(", ")})`;
    const several = advise.other("pass the path of one of them");
    fail("INVALID_FILE", "folder: files", `the folder ${found}`, ggufs.length === 0 ? undefined : several);
  }
  const name = hasPeft ? PEFT_FILE : ggufs[0]!;
  return requireFile(name, await files.open(name, signal));
}

async function readConfig(files: FileSet, signal: AbortSignal | undefined): Promise<Dict> {
  const found = await files.open(PEFT_CONFIG, signal);
  if (found instanceof MissingFile)
    fail(
      found.code,
      `${PEFT_CONFIG}: file`,
      `${found.reason}. An adapter in safetensors needs it in the same folder`,
      found.advised,
    );
  return readJson(found, signal);
}
