// load() of ropewalk/worker: starts a thread and loads the module in it.
import * as advise from "../../core/base/advice.js";
import { optionalSignal } from "../../core/base/checks.js";
import { LOAD_ELSEWHERE } from "../../core/base/elsewhere.js";
import { fail, RopewalkError } from "../../core/base/errors.js";
import { checkOptions, type OptionNames, optionNames } from "../../core/base/options.js";
import { messageOf, show } from "../../core/base/show.js";
import { hasRelaxedSimd } from "../../core/load/engine.js";
import type { LoadOptions, WasmSource } from "../ropewalk/load.js";
import type { WorkerRopewalk } from "./remote_api.js";
import { RemoteObject } from "./remote_object.js";
import { RpcClient, type Thread } from "./rpc_client.js";

/** Options of `load()` of `ropewalk/worker`. */
export interface WorkerLoadOptions extends LoadOptions {
  /**
   * In a page, the address of the Worker's script, a copy of `ropewalk/worker_thread.js`, instead of the file next to the package. It looks for the
   * wasm next to itself, in wasm/, unless `wasm` is given. It may be on another origin that allows CORS.
   */
  workerUrl?: string | URL;
}

const LOAD_OPTIONS: OptionNames = optionNames<LoadOptions>(
  "load()",
  {
    build: true,
    wasm: true,
    threads: true,
    signal: true,
  },
  LOAD_ELSEWHERE,
);

/** The options where the Worker's script is a file. @internal */
export const WORKER_LOAD_OPTIONS: OptionNames = optionNames<WorkerLoadOptions>(
  "load()",
  {
    build: true,
    wasm: true,
    threads: true,
    signal: true,
    workerUrl: true,
  },
  LOAD_ELSEWHERE,
);

/** Starts a thread and loads the module in it. @internal */
export async function loadIn(
  start: (workerUrl: string | undefined) => Thread,
  given: WorkerLoadOptions | undefined,
  names = LOAD_OPTIONS,
): Promise<WorkerRopewalk> {
  const { signal: givenSignal, wasm, workerUrl, ...options } = checkOptions(given, names);
  const signal = optionalSignal(givenSignal);
  signal?.throwIfAborted();
  const thread = startThread(() => start(addressOf(workerUrl)));
  const sent = wasm === undefined ? ownWasm(thread, options) : withWasm(wasm, thread, options);
  try {
    return await loadOn(thread, sent, signal);
  } catch (error) {
    const { elsewhere } = thread;
    if (elsewhere === undefined || !(error instanceof RopewalkError && error.field === "worker")) throw error;
    return loadOn(
      startThread(() => start(elsewhere)),
      sent,
      signal,
    );
  }
}

async function loadOn(
  thread: Thread,
  sent: Promise<LoadOptions>,
  signal: AbortSignal | undefined,
): Promise<WorkerRopewalk> {
  const client = new RpcClient(thread);
  const abort = (): void => client.close();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const options = await sent;
    const handle = await client.load(options);
    return RemoteObject.create(client, "ropewalk", handle) as unknown as WorkerRopewalk;
  } catch (error) {
    client.close();
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function addressOf(workerUrl: unknown): string | undefined {
  if (workerUrl === undefined) return undefined;
  if (typeof workerUrl === "string" || workerUrl instanceof URL) return String(workerUrl);
  fail("INVALID_ARGUMENT", "workerUrl", `must be the address of a script (got ${show(workerUrl)})`);
}

function startThread(start: () => Thread): Thread {
  try {
    return start();
  } catch (cause) {
    if (cause instanceof RopewalkError) throw cause;
    if (typeof Worker !== "undefined")
      fail("WASM_LOAD", "worker", `the Worker couldn't start: ${messageOf(cause)}`, { cause });
    const advised = advise.code("use load() of ropewalk, which computes in this thread");
    fail("WASM_LOAD", "worker", "there are no Workers here", { ...advised, cause });
  }
}

/** Adds the wasm of the package for a Worker that doesn't find it by itself. */
async function ownWasm({ wasm }: Thread, options: LoadOptions): Promise<LoadOptions> {
  if (wasm === undefined) return options;
  const { build = "auto" } = options;
  const chosen = build === "auto" ? (hasRelaxedSimd() ? "relaxed" : "simd") : build;
  const source = await wasm(chosen === "relaxed" ? "relaxed" : "simd");
  return { ...options, build: chosen, wasm: source instanceof URL ? source.href : source };
}

/** Adds the given wasm. */
async function withWasm(wasm: WasmSource, thread: Thread, options: LoadOptions): Promise<LoadOptions> {
  return { ...options, wasm: await cloneableWasm(wasm, thread) };
}

/** A Response can't be cloned, but its bytes can. */
async function cloneableWasm(wasm: WasmSource, thread: Thread): Promise<WasmSource> {
  const source = await wasm;
  if (typeof source === "string" || source instanceof URL) return thread.resolve(String(source));
  if (typeof Response !== "function" || !(source instanceof Response)) return source;
  if (!source.ok) fail("WASM_LOAD", "wasm", `the server responded with status ${source.status} for ${source.url}`);
  return source.arrayBuffer();
}
