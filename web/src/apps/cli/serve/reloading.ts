// Loads the server's model in a Worker, and again when the Worker has ended by itself.
import { fail, type RopewalkError } from "../../../core/base/errors.js";
import type { AdapterOptions, ModelOptions } from "../../../index.node.js";
import type { WorkerModel } from "../../../worker.node.js";
import { withModel } from "../loaded_model.js";
import type { Terminal } from "../terminal.js";

/** A Worker that ends so often in so many milliseconds would end again. */
const MOST_ENDS = 3;
const ENDS_WITHIN_MS = 60_000;

/** What a model is loaded from. */
export interface ReloadedSource {
  readonly source: string;
  readonly threads: number | "auto";
  readonly options: ModelOptions;
  readonly adapters: (model: WorkerModel) => Promise<AdapterOptions | undefined>;
}

/** What is done with a model. */
export interface ModelUser {
  /** Begins with a model that is loaded. */
  begin(model: WorkerModel, adapters: AdapterOptions | undefined): Promise<void>;
  /** The model is gone. Another one will be loaded. */
  pause(): void;
  /** The signal is aborted. The model is there until this resolves. */
  end(): Promise<void>;
}

/**
 * Lets a model be used until the signal is aborted. Resolves with the model's name.
 * @throws THREAD_LOST: its Worker ends too often; what loading throws
 */
export async function useWithReloads(
  terminal: Terminal,
  from: ReloadedSource,
  signal: AbortSignal,
  user: ModelUser,
): Promise<string> {
  let name: string | undefined;
  let ends: number[] = [];
  const useOnce = async (): Promise<RopewalkError | undefined> => {
    const { load } = await import("../../../worker.node.js");
    const rw = await load({ threads: from.threads, signal });
    try {
      return await withModel(terminal, rw, from.source, from.options, async (model) => {
        name = model.info.name;
        await user.begin(model, await from.adapters(model));
        const ended = await Promise.race([rw.ended, aborted(signal)]);
        if (ended === undefined) await user.end();
        else user.pause();
        return ended;
      });
    } finally {
      await rw.dispose();
    }
  };
  for (;;) {
    const ended = await useOnce().catch((error: unknown) => {
      if (!signal.aborted || name === undefined) throw error; // else it was being loaded again
      return undefined;
    });
    if (ended === undefined) return name!;
    const now = performance.now();
    ends = [...ends.filter((time) => now - time < ENDS_WITHIN_MS), now];
    if (ends.length >= MOST_ENDS)
      fail("THREAD_LOST", "worker", `has ended ${MOST_ENDS} times within a minute: ${ended.problem}`, { cause: ended });
    terminal.note(`warning: ${ended.problem}; loading the model again`);
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}
