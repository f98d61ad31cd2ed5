// Runs a batch of tokens layer by layer, for those who look at the residual between two layers or change it.
import { fail } from "../../../core/base/errors.js";
import type { Status } from "../../../core/memory/status.js";
import type { Heap } from "../../../core/memory/heap.js";
import type { ModelPlan } from "../plan/model_plan.js";
import type { TextMemory } from "./text_memory.js";

/** A model in wasm memory. @internal */
export interface WalkedModel {
  readonly heap: Heap;
  readonly plan: ModelPlan;
  readonly address: number;
  checkAlive(): void;
}

/** Keeps what it sees, also after the final norm, when the tokens are part of the text. @internal */
export interface Recorder extends LayerWatcher {
  end(batch: Batch): void;
}

/** A batch of tokens in the forward pass. @internal */
export interface Batch {
  /** Position of the first token in its text. */
  readonly first: number;
  /** Number of tokens. */
  readonly rows: number;
}

/** What is called between the layers. All calls are synchronous. @internal */
export interface LayerWatcher {
  /** Before a layer, whose input the residual is; and after the last one, with its index + 1, before the final norm. */
  before?(layer: number, batch: Batch): void;
  /** After a layer. */
  after?(layer: number, batch: Batch): void;
}

/** Runs the layers after model_forward_begin(), and ends the run. If one of them throws, the memory is unchanged. @internal */
export function walkLayers(
  core: WalkedModel,
  memory: TextMemory,
  watchers: readonly LayerWatcher[],
  batch: Batch,
  check: (status: Status) => void,
): void {
  const { heap, plan } = core;
  try {
    for (let layer = 0; layer < plan.config.layers; layer++) {
      for (const watcher of watchers) watcher.before?.(layer, batch);
      check(heap.module.model_forward_layer(core.address));
      for (const watcher of watchers) watcher.after?.(layer, batch);
    }
    for (const watcher of watchers) watcher.before?.(plan.config.layers, batch);
  } catch (error) {
    if (isAlive(core, memory)) heap.module.model_forward_cancel(core.address);
    throw error;
  }
  check(heap.module.model_forward_end(core.address));
}

/** Throws UNSUPPORTED_MODEL if the residual is not all that goes from layer to layer. @internal */
export function checkWatchable({ config }: ModelPlan): void {
  if (config.per_layer.streams > 0)
    fail(
      "UNSUPPORTED_MODEL",
      "layers",
      "the layers of this model have several residual streams, which can't be traced or steered",
    );
}

/** A hook may have disposed of the model or the session. */
function isAlive(core: WalkedModel, memory: TextMemory): boolean {
  try {
    core.checkAlive();
    memory.checkAlive();
    return true;
  } catch {
    return false;
  }
}
