// Opens a model's files from any source, and reads its tensors. The entry of this folder.
import { part } from "../../core/base/part.js";
import type { Advised } from "../../core/base/advice.js";
import * as advise from "../../core/base/advice.js";
import type { Dict } from "../../core/base/dict.js";
import { show } from "../../core/base/show.js";
import { wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import type { WarningListener } from "../../core/base/warnings.js";
import { blobFiles, bytesFiles } from "./blob_files.js";
import { type ByteSource, type FileSet, type HubChoice, MissingFile, readRange } from "./byte_source.js";
import { CACHE_KINDS, type CacheKind, storeFor } from "./cache/stores.js";
import { withCache } from "./cache/source.js";
import { openGguf } from "./gguf/shards.js";
import { checkHeaders } from "./http/request.js";
import { bearer, checkToken, hubAddress } from "./hub/access.js";
import { hubPage, isAlmostHubName, parseHubName, parseHubNameInPage } from "./hub/name.js";
import { HTTP_DEFAULTS, openHttp } from "./http/source.js";
import { httpFiles, type OpenUrl, parseUrl, withoutFragment } from "./http/urls.js";
import { openMainFile, throwUnknownFormat } from "./main_file.js";
import type { FilePlatform } from "./platform.js";
import { countReads, type ReadProgress } from "./progress.js";
import { readWeights } from "./packed/read_weights.js";
import { type ReadOptions, uniqueTensors, type WriteTensor } from "./read_tensors.js";
import type { DecisionFile } from "./safetensors/decision_folder.js";
import { openSafetensors, openSafetensorsIndex, readFolderFiles } from "./safetensors/folder.js";
import { readSentenceFiles, type SentenceFiles } from "./safetensors/sentence_modules.js";
import type { OpenedTensors, StoredTensor } from "./stored_tensor.js";

export type { HubChoice } from "./byte_source.js";
export type { CacheKind } from "./cache/stores.js";
export type { ReadProgress } from "./progress.js";
export type { ReadOptions, WriteTensor } from "./read_tensors.js";
export type { StoredTensor } from "./stored_tensor.js";
export type { WeightFormatName } from "../../core/quantize/weight_formats.js";

/** A model's parsed and checked headers, and a method that reads its tensors. Holds no open files or connections. */
export interface ModelFiles {
  /** The file format. */
  readonly kind: "gguf" | "safetensors";
  /** Name of the file that was opened first, for messages. */
  readonly name: string;
  /** What was chosen, if the model was opened by its name on the Hub. */
  readonly hub?: HubChoice;
  /** GGUF metadata as in the file; a 64-bit integer that a number can't hold exactly is a bigint. `{}` for safetensors. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** config.json; always present for safetensors. */
  readonly config?: Dict;
  /** tokenizer.json, or the text of the vocabulary of RWKV World under the name of its file */
  readonly tokenizer?: Dict;
  /** tokenizer_config.json */
  readonly tokenizerConfig?: Dict;
  /** generation_config.json */
  readonly generationConfig?: Dict;
  /** chat_template.jinja as `default`, and those of additional_chat_templates/ by the names of their files */
  readonly chatTemplates?: Readonly<Record<string, string>>;
  /** The files of sentence-transformers */
  readonly sentence?: SentenceFiles;
  /** How the head of a decision checkpoint is asked; undefined for other models, and in GGUF, whose metadata says it */
  readonly decision?: DecisionFile;
  /** All tensors by name. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Total bytes of all tensors. */
  readonly bytes: number;
  /**
   * Streams tensors in file order. `write` receives each chunk as it arrives. A chunk is valid only during the call.
   *
   * @throws NETWORK, INVALID_FILE, INVALID_ARGUMENT for tensors of other files, and what `write` throws; the signal's reason after an
   * abort. Files and connections are closed in every case.
   */
  read(tensors: Iterable<StoredTensor>, write: WriteTensor, options?: ReadOptions): Promise<void>;
}

/**
 * Where a model comes from: the URL of a .gguf file (any part of a split model), of a .safetensors file or its index, or of a folder,
 * ending in a slash; in Node, also a path to one of these; a name on the Hugging Face Hub: `org/name`, `org/name:Q4_K_M` or
 * `org/name/file.gguf`, each with `@revision` or without; files dropped on a page; bytes in memory. In Node, a path that exists wins over a
 * name. In a page, a name of a file needs its revision (`org/name/file.gguf@main`): without, it is an address relative to the page.
 */
export type ModelSource = string | URL | Blob | readonly Blob[] | ArrayBuffer | Uint8Array;

/** Options for opening a model. */
export interface OpenOptions {
  /** Aborts opening: the promise rejects with the signal's reason, even if all headers have just been read. */
  signal?: AbortSignal;
  /** Called with the bytes of headers and JSON files read so far. The total grows as more turn out to be needed. */
  onProgress?: (progress: ReadProgress) => void;
  /**
   * Request headers, such as `Authorization`. They go to the origin of the model's URL only: where it redirects to another, the redirect is
   * followed without them. A page can't see where a redirect leads, so there a redirect is an error with headers other than `Authorization`,
   * unless it stays within the page's own origin.
   */
  headers?: Record<string, string>;
  /**
   * Where to cache downloads: `opfs`, `cache` (the Cache API), or `browser` for the first of these that works; `disk`, in Node and for models
   * by name, is the folder that huggingface_hub uses. Default: `disk` where that is possible, otherwise `none`.
   */
  cache?: CacheKind;
  /**
   * Address of the Hub for models by name: `https://huggingface.co` (the default), or a mirror of it. In Node, the default is the environment
   * variable HF_ENDPOINT, if it is set.
   */
  hub?: string | URL;
  /**
   * Access token of the Hub, for private models and those with a licence to accept. It is sent to the origin of `hub` only, with names and
   * URLs alike, and never to where it redirects.
   */
  token?: string;
  /**
   * How many consecutive failures of a request are retried, 0 to 100; default 3. 1 MB of progress resets the count. The pause before a
   * retry starts at half a second and doubles up to eight seconds. A longer Retry-After is honored up to a minute.
   */
  retries?: number;
  /** Milliseconds without a byte from the server after which a request fails and is retried, 1 to 2^31 − 1; default 20,000. */
  timeout?: number;
  /**
   * Called with problems that don't stop loading, such as a full cache, a damaged piece in it, or a context that is longer than the RoPE
   * supports.
   */
  onWarning?: WarningListener;
}

/**
 * Opens a model: reads and checks all its headers, and none of its tensors.
 *
 * @throws INVALID_FILE, UNSUPPORTED_MODEL, NETWORK with a field `<file>: <part>`; INVALID_ARGUMENT; the signal's reason after an abort
 * @internal
 */
export async function openModel(
  platform: FilePlatform,
  source: ModelSource,
  options: OpenOptions = {},
): Promise<ModelFiles> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  const files = await openFiles(platform, source, options);
  const count = onProgress === undefined ? undefined : countReads(files, onProgress);
  const main = await openMainFile(count?.files ?? files, signal);
  const opened = await openFormat(count?.files ?? files, main, signal);
  count?.stop();
  const { tensors } = opened;
  const bytes = [...tensors.values()].reduce((sum, tensor) => sum + tensor.bytes, 0);
  const sources = opened.files;
  const { files: _, ...contents } = opened;
  return Object.freeze({
    ...contents,
    name: main.name,
    ...(files.hub !== undefined && { hub: files.hub }),
    bytes,
    read: async (requested, write, reading = {}) => {
      const wanted = uniqueTensors(tensors, requested);
      const isMost = 2 * wanted.reduce((sum, tensor) => sum + tensor.bytes, 0) > bytes;
      const from = isMost ? sources.map((file) => file.kept ?? file) : sources;
      return readWeights(from, wanted, write, reading);
    },
  } satisfies ModelFiles);
}

type OpenedModel = OpenedTensors & Omit<ModelFiles, "name" | "bytes" | "read">;

/** What only decision checkpoints have. */
const DECISION_TENSORS = ["type_emb.weight", "scorer.1.weight"];

/** Detects the format by the file's contents, not by its name. */
async function openFormat(files: FileSet, main: ByteSource, signal: AbortSignal | undefined): Promise<OpenedModel> {
  const begin = await readRange(main, 0, Math.min(16, main.size), signal);
  if (String.fromCharCode(...begin.subarray(0, 4)) === "GGUF") {
    const found = await openGguf(files, main, signal);
    const { tensors } = isPacked(found)
      ? (await part(() => import("./packed/gguf_floats.js"))).unpackGgufFloats(found)
      : found;
    return { kind: "gguf", files: found.files, metadata: found.metadata, tensors };
  }
  if (main.name.endsWith(".gguf")) return throwUnknownFormat(main.name, "GGUF", begin);
  const isIndex = main.name.endsWith(".json");
  // a safetensors header starts with { after its 8-byte length
  if (!isIndex && begin[8] !== 0x7b) return throwUnknownFormat(main.name, "GGUF or safetensors", begin);
  const opened = await (isIndex ? openSafetensorsIndex(files, main, signal) : openSafetensors(main, signal));
  const isDecision = DECISION_TENSORS.every((name) => opened.tensors.has(name));
  const folder = isDecision
    ? await (await part(() => import("./safetensors/decision_folder.js"))).readDecisionFolder(files, signal)
    : await readFolderFiles(files, signal);
  const { packed: _, ...plain } = opened;
  const weights = isPacked(opened)
    ? (await part(() => import("./packed/weights.js"))).unpackWeights(opened, folder.config)
    : plain;
  const { opened: all, sentence } = await readSentenceFiles(files, weights, signal);
  return { kind: "safetensors", metadata: {}, ...all, ...folder, ...(sentence && { sentence }) };
}

/** Whether a model has weights that need code which is loaded only for them. */
function isPacked({ packed }: OpenedTensors): boolean {
  return packed !== undefined && packed.size > 0;
}

/** Finds the files of a source, without opening them. @throws INVALID_ARGUMENT @internal */
export async function openFiles(
  platform: FilePlatform,
  source: ModelSource,
  options: OpenOptions = {},
  wanted: "model" | "adapter" = "model",
): Promise<FileSet> {
  const { cache, onWarning } = options;
  const headers = checkHeaders(options.headers);
  const { retries = HTTP_DEFAULTS.retries, timeout = HTTP_DEFAULTS.timeout } = options;
  wholeNumber(retries, 0, 100, "retries");
  wholeNumber(timeout, 1, 2 ** 31 - 1, "timeout");
  if (cache !== undefined && !CACHE_KINDS.includes(cache)) {
    fail("INVALID_ARGUMENT", "cache", `must be one of ${CACHE_KINDS.join(", ")} (got ${show(cache)})`);
  }
  if (source instanceof Blob) return blobFiles([source]);
  if (Array.isArray(source) && source.length > 0 && source.every((item) => item instanceof Blob))
    return blobFiles(source);
  if (source instanceof ArrayBuffer) return bytesFiles(new Uint8Array(source));
  if (source instanceof Uint8Array) return bytesFiles(source);
  if (source === "") fail("INVALID_ARGUMENT", "source", "is empty", advise.other("pass a path, an address or a name"));
  if (typeof source !== "string" && !(source instanceof URL)) {
    fail(
      "INVALID_ARGUMENT",
      "source",
      `must be a URL, a path, a Blob, an array of Blobs, an ArrayBuffer or a Uint8Array (got ${typeOf(source)})`,
    );
  }
  const hub = hubAddress(options.hub ?? (platform.environment?.()["HF_ENDPOINT"] || undefined)); // an empty variable is as good as none
  const token = checkToken(options.token, headers);
  const warn = onWarning ?? ((): void => undefined);
  const http = { fetch: platform.fetch, headers, retries, timeout };
  const isUrl = /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(String(source)); // a scheme has two letters or more, a Windows drive one
  const { openPath } = platform;
  if (!isUrl && typeof source === "string") {
    const name = openPath === undefined ? parseHubNameInPage(source) : parseHubName(source);
    if (name !== undefined && !((await platform.pathExists?.(source)) ?? false)) {
      const { openHub } = await part(() => import("./open_hub.js")); // loaded only for names
      const access = { hub, token, http, warn, wanted, ...(cache !== undefined && { cache }) };
      return openHub(platform, name, access, options.signal);
    }
  }
  if (openPath !== undefined && !isUrl) {
    const isMeantAsName = typeof source === "string" && isAlmostHubName(source);
    return isMeantAsName ? withHint(await openPath(source), HUB_NAMES) : openPath(source);
  }

  const url = parseUrl(source);
  const page = hubPage(url, hub);
  if (page !== undefined)
    fail(
      "INVALID_ARGUMENT",
      "source",
      "is the address of a page of the Hub",
      advise.other(`pass the name ${page} instead`),
    );
  const sent = token !== undefined && url.origin === new URL(hub).origin ? bearer(token, headers) : headers;
  const open: OpenUrl = (file, name, signal, firstBytes) =>
    openHttp(file, name, { ...http, headers: sent }, signal, firstBytes);
  const store = await storeFor(platform, cache, warn);
  return httpFiles(url, store === undefined ? open : withCache(open, store, withoutFragment(url), warn));
}

const HUB_NAMES = advise.other("name a model of the Hub as org/name, org/name:quantization or org/name@revision");

/** Files whose errors say more when one is missing. */
function withHint(files: FileSet, hint: Advised): FileSet {
  return {
    ...files,
    open: async (name, signal) => {
      const opened = await files.open(name, signal);
      return opened instanceof MissingFile
        ? new MissingFile(opened.code, opened.reason, opened.advised ?? hint)
        : opened;
    },
  };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array without Blobs or with other values" : typeof value;
}
