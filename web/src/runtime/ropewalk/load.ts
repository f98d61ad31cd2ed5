// Loads the wasm module, once per build, and returns the runtime object.
import * as advise from "../../core/base/advice.js";
import { optionalSignal } from "../../core/base/checks.js";
import { messageOf, show } from "../../core/base/show.js";
import { hasRelaxedSimd, requireSimd } from "../../core/load/engine.js";
import { LOAD_ELSEWHERE } from "../../core/base/elsewhere.js";
import { RopewalkError, fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import type { WasmModule } from "../../core/base/platform_types.js";
import type { RopeConfig } from "../../core/config/types.js";
import { type FilePlatform, webFiles } from "../files/platform.js";
import { Heap } from "../../core/memory/heap.js";
import type { Glue } from "../../core/memory/wasm_module.js";
import type { Description } from "../../core/rope/description.js";
import { instantiate } from "../../core/load/instantiate.js";
import { missingFileHint, unreadHint } from "../../core/load/missing_file.js";
import { type Build, BUILDS, Ropewalk } from "./ropewalk.js";
import { whyNotShared, withSharedMemory } from "../../core/load/shared_memory.js";
import { checkThreads, type ThreadPlatform, Threads } from "../../core/load/threads.js";
import { addressOf, isSame } from "../../core/load/wasm_source.js";

/** The wasm to load: its address, a response, its bytes, or a compiled module. */
export type WasmSource = WasmBytesSource | WasmModule;

/** Sources of wasm bytes. */
export type WasmBytesSource = string | URL | Response | Promise<Response> | ArrayBuffer | ArrayBufferView;

/** Options of {@link load}. */
export interface LoadOptions {
  /** The build. `"auto"` is `"relaxed"` if the engine supports its instructions and `wasm` isn't given, else `"simd"`. Default: `"auto"`. */
  build?: Build | "auto";
  /**
   * The wasm to load instead of the file in this package. It must be the file of the chosen build. The same address, bytes or object is loaded once; each
   * other one gets a module of its own. Without it, a module of the build that is already loaded is used, wherever it came from.
   */
  wasm?: WasmSource;
  /**
   * Number of threads, 1 to 32. `"auto"` takes the fast processor cores where threads can share memory (Node, Bun, Deno, and pages that are
   * cross-origin isolated), else one. Results have the same bits with any number. 1 also keeps memory unshared. Default: `"auto"`, or the
   * present number if the module is already loaded. `Ropewalk.threads` tells the number.
   */
  threads?: number | "auto";
  /** Aborts this call. A load that has started continues, and a later call uses it. */
  signal?: AbortSignal;
}

/** The type of `load()`. @see {@link LoadOptions} */
export type Load = (options?: LoadOptions) => Promise<Ropewalk>;

/** The wasm file that a build runs. @internal */
export type WasmFile = "simd" | "relaxed";

/** What an entry of the package provides. @internal */
export interface Platform {
  /** Emscripten's glue. */
  glue: () => Glue | Promise<Glue>;
  /** The wasm that ships with the package. */
  wasm: (file: WasmFile) => WasmSource | Promise<WasmSource>;
  /** Access to model files, if it isn't that of a page. */
  files?: FilePlatform;
  /** How to start threads. Without it, there is one. */
  threads?: () => ThreadPlatform | undefined;
  /** Reads local wasm files, where there are any. Without it, every address is fetched. */
  readFile?: (address: string | URL) => Promise<Uint8Array>;
}

const OPTIONS = optionNames<LoadOptions>(
  "load()",
  { build: true, wasm: true, threads: true, signal: true },
  LOAD_ELSEWHERE,
);

/** A module that is loaded or loading, and where it comes from. */
interface Loaded {
  source: unknown;
  runtime: Promise<Ropewalk>;
}

/** The modules of each entry by build. */
const modules = new WeakMap<Platform, Map<Build, Loaded[]>>();

let newest: Ropewalk | undefined;

/**
 * Same as {@link Ropewalk.describe}, with the module that was loaded last.
 * @throws {@link RopewalkError} NOT_LOADED before the first `load()`; the codes of {@link Ropewalk.rope}.
 */
export function describe(config: RopeConfig, seqLen?: number): Description {
  if (newest === undefined) fail("NOT_LOADED", "", "no module is loaded", advise.code("call `await load()` first"));
  return newest.describe(config, seqLen);
}

/** Implements `load()`. Each source of a build is loaded once, and again after a failure. @internal */
export async function loadOn(platform: Platform, options: LoadOptions | undefined): Promise<Ropewalk> {
  const { build = "auto", wasm, threads, signal } = checkOptions(options, OPTIONS);
  if (build !== "auto" && !BUILDS.includes(build)) {
    fail("INVALID_ARGUMENT", "build", `must be one of auto, ${BUILDS.join(", ")} (got ${show(build)})`);
  }
  if (threads !== undefined) checkThreads(threads);
  optionalSignal(signal);
  signal?.throwIfAborted();
  const chosen = build !== "auto" ? build : wasm === undefined && hasRelaxedSimd() ? "relaxed" : "simd";
  const module = await abortable(findOrStart(platform, chosen, wasm, threads), signal);
  if (threads !== undefined) await abortable(module.useThreads(threads), signal);
  newest = module;
  return module;
}

async function findOrStart(
  platform: Platform,
  build: Build,
  wasm: WasmSource | undefined,
  threads: number | "auto" | undefined,
): Promise<Ropewalk> {
  const builds = modules.get(platform) ?? new Map<Build, Loaded[]>();
  modules.set(platform, builds);
  const loaded = builds.get(build) ?? [];
  builds.set(build, loaded);

  const find = (source: unknown): Loaded | undefined => loaded.find((other) => isSame(other.source, source));
  if (wasm === undefined && loaded[0] !== undefined) return loaded[0].runtime;
  const known = find(wasm) ?? (loaded.length > 0 ? find(await settled(wasm)) : undefined); // a promise of a known response
  if (known !== undefined) return known.runtime;

  const setSource = (source: unknown): void => void (entry.source = source);
  const entry: Loaded = { source: wasm, runtime: start(platform, build, wasm, threads ?? "auto", setSource) };
  loaded.push(entry);
  entry.runtime.catch(() => loaded.splice(loaded.indexOf(entry), 1));
  return entry.runtime;
}

/** A promise's value; undefined if it rejects, which is reported when it is loaded. */
async function settled(source: unknown): Promise<unknown> {
  try {
    return await source;
  } catch {
    return undefined;
  }
}

/** Loads a module. It takes no signal, because other callers may wait for the same module. `setSource` gets the source once it is known. */
async function start(
  platform: Platform,
  build: Build,
  wasm: WasmSource | undefined,
  threads: number | "auto",
  setSource: (source: unknown) => void,
): Promise<Ropewalk> {
  requireSimd();
  if (build === "relaxed" && !hasRelaxedSimd()) {
    fail(
      "UNSUPPORTED_ENGINE",
      "build",
      "relaxed needs relaxed SIMD, which this engine lacks or implements incorrectly",
      advise.code("use auto or simd"),
    );
  }
  const source = wasm ?? (await ownWasm(platform, build === "relaxed" ? "relaxed" : "simd"));
  const threadPlatform = platform.threads?.();
  const obstacle =
    threads === 1
      ? "this module was first loaded with one thread, so its memory isn't shared"
      : threadPlatform === undefined
        ? "there are no Workers here"
        : whyNotShared();
  const compiling = compile(platform, source, obstacle === undefined);
  void settled(source).then(setSource);
  const [glue, { compiled, isShared }] = await Promise.all([platform.glue(), compiling]);
  const { module, shared } = await instantiate(glue, compiled, isShared);
  const heap = new Heap(module);
  const runtime = Ropewalk.create(
    heap,
    build,
    platform.files ?? webFiles,
    new Threads(heap, threadPlatform, shared ?? obstacle),
  );
  await runtime.useThreads(threads);
  return runtime;
}

/** The wasm of this package. Where scripts have no address, as in some bundles, there is no way to find it. */
async function ownWasm(platform: Platform, file: WasmFile): Promise<WasmSource> {
  try {
    return await platform.wasm(file);
  } catch (cause) {
    const what = "of this package can't be found here";
    const advised = advise.code("pass ropewalk/ropewalk.wasm as load({ wasm }), compiled or as bytes");
    fail("WASM_LOAD", "wasm", what, { ...advised, cause });
  }
}

/** A module, and whether it is for shared memory. */
interface Compiled {
  compiled: WebAssembly.Module;
  isShared: boolean;
}

/** A module that was compiled elsewhere is for memory that isn't shared. */
async function compile(platform: Platform, source: WasmSource, isShared: boolean): Promise<Compiled> {
  let where = "the given wasm";
  try {
    if (source instanceof WebAssembly.Module) return { compiled: source, isShared: false };
    where = addressOf(source) ?? where;
    const bytes = await bytesOf(platform, source);
    checkMagic(bytes, where);
    const compiled = await WebAssembly.compile((isShared ? withSharedMemory(bytes) : bytes) as BufferSource);
    return { compiled, isShared };
  } catch (cause) {
    if (cause instanceof RopewalkError) throw cause;
    const hint = platform.readFile === undefined ? unreadHint(where) : {};
    fail("WASM_LOAD", "wasm", `${where} could not be loaded: ${messageOf(cause)}`, { ...hint, cause });
  }
}

async function bytesOf({ readFile }: Platform, source: WasmBytesSource): Promise<Uint8Array> {
  const settled = await source;
  if (typeof settled === "string" || settled instanceof URL) {
    const isRemote = /^https?:/.test(String(settled));
    return readFile === undefined || isRemote ? responseBytes(await fetch(settled), settled) : readFile(settled);
  }
  if (settled instanceof ArrayBuffer) return new Uint8Array(settled);
  if (ArrayBuffer.isView(settled)) return new Uint8Array(settled.buffer, settled.byteOffset, settled.byteLength);
  if (typeof Response === "function" && settled instanceof Response) return responseBytes(settled, settled.url);
  fail(
    "INVALID_ARGUMENT",
    "wasm",
    `must be an address, a Response, bytes or a WebAssembly.Module (got ${show(settled)})`,
  );
}

async function responseBytes(response: Response, address: string | URL): Promise<Uint8Array> {
  if (!response.ok)
    fail(
      "WASM_LOAD",
      "wasm",
      `the server answered ${response.status} for ${String(address)}`,
      missingFileHint(String(address)),
    );
  return new Uint8Array(await response.arrayBuffer());
}

/** Many servers answer with an HTML page if a file doesn't exist. The compiler's error wouldn't say so. */
function checkMagic(bytes: Uint8Array, where: string): void {
  if (bytes.length >= 4 && bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d) return;
  const start = String.fromCharCode(...bytes.subarray(0, 32))
    .trimStart()
    .toLowerCase();
  const what = start.startsWith("<")
    ? "an HTML page: the file isn't served at this address"
    : bytes.length === 0
      ? "empty"
      : "not wasm";
  fail("WASM_LOAD", "wasm", `${where} is ${what}`, missingFileHint(where));
}

/** Rejects when the signal aborts. The promise itself continues, for other callers. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
