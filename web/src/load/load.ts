import { hasRelaxedSimd, requireSimd } from "./engine.js";
import { RopewalkError } from "../base/errors.js";
import type { FilePlatform } from "../files/model_files.js";
import { Heap } from "../memory/heap.js";
import { type Build, BUILDS, Ropewalk } from "./runtime.js";
import type { Glue, WasmModule } from "../memory/wasm_module.js";

/** What the wasm may come from: its address, a response, its bytes, or a compiled module. */
export type WasmSource = WasmBytesSource | WebAssembly.Module;

/** What wasm bytes may come from. */
export type WasmBytesSource = string | URL | Response | Promise<Response> | BufferSource;

/** How to load. */
export interface LoadOptions {
  /** Which build; `auto` takes the relaxed one where the engine has its instructions, and `simd` where `wasm` is given. */
  build?: Build | "auto";
  /** Where the wasm comes from, instead of the file beside this package. It must be the file of the build asked for. */
  wasm?: WasmSource;
  /** Gives up waiting; what has begun to load goes on for the next caller. */
  signal?: AbortSignal;
}

/** Loads the module, or returns the one that is loaded. @see {@link LoadOptions} */
export type Load = (options?: LoadOptions) => Promise<Ropewalk>;

/** The file that a build runs from. @internal */
export type WasmFile = "simd" | "relaxed";

/** What differs between a page, Node and the entry with the wasm inside. @internal */
export interface Platform {
  /** What has been loaded, by its build. */
  modules: Map<Build, Promise<Ropewalk>>;
  /** Emscripten's glue. */
  glue(): Promise<Glue>;
  /** The wasm of a build, as it ships. */
  wasm(file: WasmFile): WasmSource | Promise<WasmSource>;
  /** How to get at model files. */
  files: FilePlatform;
  /** The bytes at an address. */
  read(address: string | URL): Promise<Uint8Array>;
}

let newest: Ropewalk | undefined;

/** The module loaded last, for functions that are not methods of one. @internal */
export function loaded(): Ropewalk {
  if (newest === undefined) throw new RopewalkError("NOT_LOADED", "", "call `await load()` once before");
  return newest;
}

/** The `load` of a platform: one module a build, loaded once, and again after a failure. @internal */
export async function loadOn(
  platform: Platform,
  { build = "auto", wasm, signal }: LoadOptions = {},
): Promise<Ropewalk> {
  if (build !== "auto" && !BUILDS.includes(build)) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "build",
      `must be one of auto, ${BUILDS.join(", ")} (got ${String(build)})`,
    );
  }
  signal?.throwIfAborted();
  const { modules } = platform;
  const chosen = build !== "auto" ? build : wasm === undefined && hasRelaxedSimd() ? "relaxed" : "simd";
  let module = modules.get(chosen);
  if (module === undefined) {
    module = start(platform, chosen, wasm); // without the signal: others may wait for the same module
    modules.set(chosen, module);
    module.catch(() => modules.delete(chosen));
  }
  newest = await abortable(module, signal);
  return newest;
}

async function start(platform: Platform, build: Build, source: WasmSource | undefined): Promise<Ropewalk> {
  requireSimd();
  if (build === "relaxed" && !hasRelaxedSimd()) {
    throw new RopewalkError(
      "UNSUPPORTED_ENGINE",
      "build",
      "relaxed needs relaxed SIMD, which this engine lacks or gets wrong; use auto or simd",
    );
  }
  const file = build === "relaxed" ? "relaxed" : "simd";
  const [glue, compiled] = await Promise.all([
    platform.glue(),
    compile(platform, source ?? (await platform.wasm(file))),
  ]);
  const module = await instantiate(glue, compiled);
  return new Ropewalk(new Heap(module), build, platform.files);
}

async function compile(platform: Platform, source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  const where = typeof source === "string" || source instanceof URL ? String(source) : "the given wasm";
  try {
    const bytes = await bytesOf(platform, source);
    checkMagic(bytes, where);
    return await WebAssembly.compile(bytes as BufferSource);
  } catch (cause) {
    if (cause instanceof RopewalkError) throw cause;
    throw new RopewalkError("WASM_LOAD", "wasm", `${where} could not be loaded: ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function bytesOf(platform: Platform, source: WasmBytesSource): Promise<Uint8Array> {
  const settled = await source;
  if (typeof settled === "string" || settled instanceof URL) return platform.read(settled);
  if (settled instanceof ArrayBuffer) return new Uint8Array(settled);
  if (ArrayBuffer.isView(settled)) return new Uint8Array(settled.buffer, settled.byteOffset, settled.byteLength);
  if (typeof Response === "function" && settled instanceof Response) {
    if (!settled.ok)
      throw new RopewalkError("WASM_LOAD", "wasm", `the server answered ${settled.status} for ${settled.url}`);
    return new Uint8Array(await settled.arrayBuffer());
  }
  throw new RopewalkError("INVALID_ARGUMENT", "wasm", "must be an address, a Response, bytes or a WebAssembly.Module");
}

/** A server that does not know a file often answers with a page; say so, instead of what the compiler makes of it. */
function checkMagic(bytes: Uint8Array, where: string): void {
  if (bytes.length >= 4 && bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d) return;
  const start = String.fromCharCode(...bytes.subarray(0, 32))
    .trimStart()
    .toLowerCase();
  const what = start.startsWith("<")
    ? "an HTML page; is the file served at this address?"
    : bytes.length === 0
      ? "empty"
      : "not wasm";
  throw new RopewalkError("WASM_LOAD", "wasm", `${where} is ${what}`);
}

async function instantiate(glue: Glue, compiled: WebAssembly.Module): Promise<WasmModule> {
  try {
    return await new Promise<WasmModule>((resolve, reject) => {
      const instantiateWasm: Parameters<Glue>[0]["instantiateWasm"] = (imports, receive) => {
        WebAssembly.instantiate(compiled, imports)
          .then((instance) => receive(instance, compiled))
          .catch(reject);
        return {};
      };
      glue({ instantiateWasm }).then(resolve, reject);
    });
  } catch (cause) {
    throw new RopewalkError("WASM_LOAD", "wasm", `is not this version of ropewalk: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Lets one caller give up without taking the module from the others. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
