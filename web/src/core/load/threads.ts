// The threads of a module: starts helpers in Workers, and ends them.
import * as advise from "../base/advice.js";
import { RopewalkError, fail } from "../base/errors.js";
import { messageOf, show } from "../base/show.js";
import type { Heap } from "../memory/heap.js";
import { Helper, type StartHelper } from "./helper.js";
import type { HelperTask } from "./helper_thread.js";

/** The most threads, as in src/base/thread_pool.h. */
export const MAX_THREADS = 32;

/** Stack of a helper in bytes, as large as the owner's (cmake/wasm.cmake). */
const STACK_BYTES = 1 << 18;

/** Why there is one thread, if nothing else keeps memory from being shared. */
const COMPILED = "a compiled WebAssembly.Module is for memory that isn't shared; pass its address or its bytes";

/** How to start threads in a place. @internal */
export interface ThreadPlatform {
  startHelper: StartHelper;
  /** Number of logical processor cores. */
  cores(): number | Promise<number>;
}

/** What a helper instantiates. `memory` is shared. @internal */
export type SharedModule = Pick<HelperTask, "module" | "memory" | "help" | "setStack">;

/**
 * Number of threads for a number of logical cores. A web page can't ask which cores are fast. All of them on small machines; else half, which is the
 * number of physical cores where each runs two threads, and of fast cores where half of them are slow ones.
 * @internal
 */
export function threadsFor(cores: number): number {
  return cores <= 4 ? Math.max(1, cores) : Math.min(8, Math.max(4, cores >> 1));
}

/** Throws INVALID_ARGUMENT unless `threads` is a number of threads or "auto". @internal */
export function checkThreads(threads: unknown): asserts threads is number | "auto" {
  if (threads === "auto") return;
  if (Number.isInteger(threads) && (threads as number) >= 1 && (threads as number) <= MAX_THREADS) return;
  fail("INVALID_ARGUMENT", "threads", `must be "auto" or an integer from 1 to ${MAX_THREADS} (got ${show(threads)})`);
}

/** The threads of one module. @internal */
export class Threads {
  readonly #heap: Heap;
  readonly #platform: ThreadPlatform | undefined;
  readonly #shared: SharedModule | string;
  readonly #helpers = new Map<number, Helper>();
  readonly #stacks: number[] = [];
  #change: Promise<unknown> = Promise.resolve();

  /** `shared` says why the module's memory isn't shared, if it isn't. Then there is one thread. */
  constructor(heap: Heap, platform: ThreadPlatform | undefined, shared: SharedModule | string = COMPILED) {
    this.#heap = heap;
    heap.onThreadLost = (): void => this.#removeLost();
    this.#platform = platform;
    this.#shared = shared;
  }

  /** The caller's thread and the helpers. */
  get count(): number {
    return 1 + this.#helpers.size;
  }

  /** Why `"auto"` took one thread; undefined if it took more, or wasn't asked. */
  oneThread: string | undefined;

  /** Uses this number of threads from the next call on. Changes follow one another. */
  use(threads: number | "auto"): Promise<void> {
    const change = this.#change.then(() => this.#use(threads));
    this.#change = change.catch(() => undefined);
    return change;
  }

  async #use(wanted: number | "auto"): Promise<void> {
    const platform = this.#platform;
    const shared = this.#shared;
    this.oneThread = undefined;
    if (platform === undefined || typeof shared === "string") {
      if (wanted === "auto") this.oneThread = String(shared);
      if (wanted === "auto" || wanted === 1) return;
      fail(
        "UNSUPPORTED_ENGINE",
        "threads",
        `there can't be ${wanted}: ${String(shared)}`,
        advise.other(`"auto" takes one here`),
      );
    }
    const threads = wanted === "auto" ? threadsFor(await platform.cores()) : wanted;
    if (wanted === "auto" && threads === 1) this.oneThread = "this machine has one fast processor core";
    if (threads === this.count) return;
    await this.#stop();
    if (threads === 1) return;
    try {
      await this.#start(platform, shared, threads);
    } catch (cause) {
      await this.#stop();
      const problem = `a helper thread couldn't start: ${messageOf(cause)}`;
      this.oneThread = problem;
      if (wanted === "auto") return;
      if (cause instanceof RopewalkError) throw cause; // no memory for stacks
      fail("WASM_LOAD", "threads", problem, { cause });
    }
  }

  async #start(platform: ThreadPlatform, shared: SharedModule, threads: number): Promise<void> {
    this.#heap.module.threads_open();
    for (let thread = 1; thread < threads; thread++) {
      const stack = (this.#stacks[thread] ??= this.#heap.allocate(STACK_BYTES, "threads"));
      const task = { ...shared, stack: stack + STACK_BYTES, thread };
      const helper: Helper = new Helper(platform.startHelper, task, () => this.#remove(thread, helper));
      this.#helpers.set(thread, helper);
    }
    await Promise.all([...this.#helpers.values()].map(({ ready }) => ready));
    this.#divide();
  }

  async #stop(): Promise<void> {
    const helpers = [...this.#helpers.values()];
    this.#helpers.clear();
    this.#heap.module.threads_stop();
    await Promise.all(helpers.map((helper) => helper.end()));
  }

  /** Ends the helpers that the core has given up, and goes on with the others. */
  #removeLost(): void {
    const lost = this.#heap.module.threads_lost();
    for (const [thread, helper] of this.#helpers) {
      if (((lost >>> thread) & 1) === 1) this.#remove(thread, helper);
    }
    this.#divide();
  }

  /** A helper that has ended between calls leaves its parts to the others. */
  #remove(thread: number, helper: Helper): void {
    helper.terminate();
    if (this.#helpers.get(thread) === helper) this.#helpers.delete(thread);
    this.#divide();
  }

  /** Divides jobs among the threads up to the last helper. The parts of missing ones are taken by the others. */
  #divide(): void {
    this.#heap.module.threads_use(1 + Math.max(0, ...this.#helpers.keys()));
  }
}
