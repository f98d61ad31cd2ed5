// Opens models. Each gets a Worker of its own, and the model that is open stays until the next one is ready.
import {
  load,
  type ModelSource,
  type QuantizeFormat,
  type RopewalkError,
  type WorkerModel,
  type WorkerRopewalk,
} from "ropewalk/worker";
import { problemText } from "../page/problem.js";
import { bytesText } from "../page/units.js";

/** What to open. */
export interface Wanted {
  /** Returns the files, or the address. */
  readonly source: (signal: AbortSignal) => ModelSource | Promise<ModelSource>;
  /** The address if it is downloaded: what has arrived is kept on this device. */
  readonly address?: string;
  /** Whether they are the reader's own files: a second attempt would fail likewise. */
  readonly isFile?: boolean;
}

/** How an attempt ended without a model. */
export interface Failure {
  readonly message: string;
  readonly isOutOfMemory: boolean;
  /** Whether a further attempt continues a download. */
  readonly canResume: boolean;
}

/** Progress as text, and as a share. */
export type OnProgress = (text: string, share: number) => void;

/** Opens one model at a time. */
export class Opener {
  #opening: AbortController | undefined;

  /** Stops opening. */
  stop(): void {
    this.#opening?.abort();
  }

  /** Rounds weights in f32, f16 and bf16 to `quantize`. Returns the model and its Worker, or why there is none; undefined if another model was asked for meanwhile, or files were refused by the user. */
  async open(
    { source, address }: Wanted,
    quantize: QuantizeFormat | undefined,
    onProgress: OnProgress,
  ): Promise<{ rw: WorkerRopewalk; model: WorkerModel } | Failure | undefined> {
    this.stop();
    const opening = new AbortController();
    this.#opening = opening;
    const { signal } = opening;
    let rw: WorkerRopewalk | undefined;
    let arrived = "";
    try {
      onProgress("Opening …", 0);
      const given = await source(signal);
      rw = await load({ signal });
      const model = await rw.model(given, {
        signal,
        ...(address === undefined ? {} : { cache: "browser" as const }),
        ...(quantize === undefined ? {} : { quantize }),
        onProgress: ({ stage, loaded, total, file = "" }) => {
          if (signal.aborted) return;
          arrived = `${bytesText(loaded)} of ${bytesText(total)}`;
          onProgress(
            stage === "opening" ? "Opening …" : `Loading ${file}: ${arrived}`,
            stage === "opening" ? 0 : loaded / total,
          );
        },
        onWarning: (message) => onProgress(message, 0),
      });
      return { rw, model };
    } catch (error) {
      await rw?.dispose(); // its wasm memory never shrinks
      const canResume = address !== undefined && arrived !== "";
      if (this.#opening !== opening) return undefined;
      const { code } = error as RopewalkError;
      const stopped = canResume ? `Stopped at ${arrived}. What has arrived is kept on this device.` : "Stopped.";
      return {
        message: signal.aborted ? stopped : problemText(error),
        isOutOfMemory: code === "OUT_OF_MEMORY",
        canResume,
      };
    } finally {
      if (this.#opening === opening) this.#opening = undefined;
    }
  }
}
