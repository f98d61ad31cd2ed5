import { wholeNumber } from "../base/checks.js";
import { RopewalkError } from "../base/errors.js";
import { addressOf } from "./address.js";
import { blobFiles, bytesFiles } from "./blob_files.js";
import { type ByteSource, type FilePlatform, type FileSet, readRange } from "./byte_source.js";
import { withStore } from "./cached_source.js";
import { chooseFirst, refuseUnknown } from "./choose_file.js";
import { type OpenedTensors, openGguf } from "./gguf_files.js";
import { httpFiles, type OpenUrl } from "./http_files.js";
import { openHttp, USUAL_PATIENCE } from "./http_source.js";
import type { JsonObject } from "./json_file.js";
import { withoutFragment } from "./kept_files.js";
import { CACHE_KINDS, type CacheKind, openStore } from "./piece_store.js";
import { countReads, type ReadProgress } from "./progress.js";
import { ownTensors, type ReadOptions, readTensors, type WriteTensor } from "./read_tensors.js";
import { openSafetensors, openSafetensorsIndex, readFolderFiles } from "./safetensors_files.js";
import type { StoredTensor } from "./stored_tensor.js";

export type { FilePlatform } from "./byte_source.js";
export type { JsonObject } from "./json_file.js";
export type { CacheKind } from "./piece_store.js";
export type { ReadProgress } from "./progress.js";
export type { ReadOptions, WriteTensor } from "./read_tensors.js";
export type { StoredTensor } from "./stored_tensor.js";
export type { WeightFormatName } from "./weight_formats.js";

/** A model's headers, read and checked, and a way to its tensors. Nothing stays open. */
export interface ModelFiles {
  /** Which kind of files these are. */
  readonly kind: "gguf" | "safetensors";
  /** Name of the file that was opened first, for messages. */
  readonly name: string;
  /** GGUF's keys and values as they are in the file, 64-bit integers as bigints where a number is not exact; `{}` for safetensors. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** config.json; always there with safetensors. */
  readonly config?: JsonObject;
  /** tokenizer.json */
  readonly tokenizer?: JsonObject;
  /** tokenizer_config.json */
  readonly tokenizerConfig?: JsonObject;
  /** generation_config.json */
  readonly generationConfig?: JsonObject;
  /** chat_template.jinja */
  readonly chatTemplate?: string;
  /** Every tensor by its name. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Bytes of all tensors. */
  readonly bytes: number;
  /**
   * Streams tensors in file order: `write` gets each piece as it arrives, which is valid only during the call.
   *
   * @throws NETWORK, INVALID_FILE, INVALID_ARGUMENT for tensors of other files, and what `write` throws; the signal's reason after an
   * abort. Nothing stays open in any case.
   */
  read(tensors: Iterable<StoredTensor>, write: WriteTensor, options?: ReadOptions): Promise<void>;
}

/**
 * Where a model comes from: the address of a .gguf file (of several parts, any), of a .safetensors file or its index, or of a folder,
 * ending in a slash; the same as a path in Node; files dropped on a page; bytes in memory.
 */
export type ModelSource = string | URL | Blob | readonly Blob[] | ArrayBuffer | Uint8Array;

/** How to open a model. */
export interface OpenOptions {
  /** Gives up; the promise rejects with its reason, also where all has just been read. */
  signal?: AbortSignal;
  /** Hears of bytes of headers and of the files beside them; the total grows as more turn out to be needed. */
  onProgress?: (progress: ReadProgress) => void;
  /** Request headers, as `Authorization`. */
  headers?: Record<string, string>;
  /** Where downloads are kept: `opfs`, `cache`, or `browser` for the first of these that there is. Default `none`. */
  cache?: CacheKind;
  /**
   * How often a request is repeated after failures with less than 1 MB between them, 0 to 100; default 3. Pauses begin at half a second,
   * double, and end at eight; one that the server asks for is kept, up to a minute.
   */
  retries?: number;
  /** Milliseconds without a byte from a server after which a request has failed and is repeated, 1 to 2^31 − 1; default 20,000. */
  timeout?: number;
  /** Hears of what does not stop reading, as a cache that is full. */
  onWarning?: (message: string) => void;
}

/**
 * Opens a model: reads and checks all its headers, and none of its tensors.
 *
 * @throws INVALID_FILE, UNSUPPORTED_MODEL, NETWORK with a field `<file>: <part>`; INVALID_ARGUMENT; the signal's reason after an abort
 */
export async function openModel(
  platform: FilePlatform,
  source: ModelSource,
  options: OpenOptions = {},
): Promise<ModelFiles> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const files = await filesOf(platform, source, options);
  const count = onProgress === undefined ? undefined : countReads(files, onProgress);
  const first = await chooseFirst(count?.files ?? files, signal);
  const opened = await openFirst(count?.files ?? files, first, signal);
  count?.stop();
  const { tensors } = opened;
  const bytes = [...tensors.values()].reduce((sum, tensor) => sum + tensor.bytes, 0);
  const sources = opened.files;
  const { files: _, ...described } = opened;
  return Object.freeze({
    ...described,
    name: first.name,
    bytes,
    read: async (asked, write, reading = {}) => readTensors(sources, ownTensors(tensors, asked), write, reading),
  } satisfies ModelFiles);
}

type Opened = OpenedTensors & Omit<ModelFiles, "name" | "bytes" | "read">;

/** Goes by what a file holds, whatever it is called. */
async function openFirst(files: FileSet, first: ByteSource, signal: AbortSignal | undefined): Promise<Opened> {
  const begin = await readRange(first, 0, Math.min(16, first.size), signal);
  if (String.fromCharCode(...begin.subarray(0, 4)) === "GGUF")
    return { kind: "gguf", ...(await openGguf(files, first, signal)) };
  if (first.name.endsWith(".gguf")) return refuseUnknown(first.name, "GGUF", begin);
  const isIndex = first.name.endsWith(".json");
  if (!isIndex && begin[8] !== 0x7b) return refuseUnknown(first.name, "GGUF or safetensors", begin); // { after the header's length
  const opened = await (isIndex ? openSafetensorsIndex(files, first, signal) : openSafetensors(first, signal));
  return { kind: "safetensors", metadata: {}, ...opened, ...(await readFolderFiles(files, signal)) };
}

async function filesOf(platform: FilePlatform, source: ModelSource, options: OpenOptions): Promise<FileSet> {
  const { headers = {}, cache = "none", onWarning } = options;
  const { retries = USUAL_PATIENCE.retries, timeout = USUAL_PATIENCE.timeout } = options;
  wholeNumber(retries, 0, 100, "retries");
  wholeNumber(timeout, 1, 2 ** 31 - 1, "timeout");
  if (!CACHE_KINDS.includes(cache)) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "cache",
      `must be one of ${CACHE_KINDS.join(", ")} (got ${String(cache)})`,
    );
  }
  if (source instanceof Blob) return blobFiles([source]);
  if (Array.isArray(source) && source.length > 0 && source.every((item) => item instanceof Blob))
    return blobFiles(source);
  if (source instanceof ArrayBuffer) return bytesFiles(new Uint8Array(source));
  if (source instanceof Uint8Array) return bytesFiles(source);
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "source",
      "must be an address, a path, a Blob or several, an ArrayBuffer or a Uint8Array",
    );
  }
  const isAddress = /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(String(source)); // a drive's letter is no scheme
  if (platform.disk !== undefined && !isAddress) return platform.disk(source);

  const warn = onWarning ?? ((): void => undefined);
  const open: OpenUrl = (url, name, signal) =>
    openHttp(url, name, { fetch: platform.fetch, headers, retries, timeout }, signal);
  const store = await openStore(platform, cache);
  if (store === undefined && cache !== "none")
    warn("nothing is kept: this place has no such cache, or does not allow it");
  const address = addressOf(source);
  return httpFiles(address, store === undefined ? open : withStore(open, store, withoutFragment(address), warn));
}
