// Changes of the residual between layers: steering vectors, and the hook of session.onLayer().
import { finiteNumber, wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { listOf } from "../../../core/base/lists.js";
import { checkOptions, optionNames } from "../../../core/base/options.js";
import type { Batch, LayerWatcher } from "../run/layer_walk.js";
import type { ModelCore } from "../run/model_core.js";

/**
 * Called before each layer with its input, and after the last layer with the number of layers, before the final norm.
 * @param layer - from 0 to the number of layers
 * @param residual - [rows, hiddenSize], a copy: changes in place are taken over
 * @param first - position of the first row in the text
 * @returns nothing, or another array of the same length
 */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a hook that changes the rows in place returns nothing
export type LayerHook = (layer: number, residual: Float32Array, first: number) => Float32Array | void;

/** A vector that is added to the input of a layer, at every token. */
export interface Steering {
  /** From 0 to the number of layers; the latter is before the final norm. */
  layer: number;
  /** [hiddenSize] */
  vector: Float32Array | readonly number[];
  /** Default: 1. */
  scale?: number;
}

const STEERING = optionNames<Steering>("steer()", { layer: true, vector: true, scale: true });

/** @internal */
export class LayerChanges implements LayerWatcher {
  hook: LayerHook | undefined;
  readonly #core: ModelCore;
  readonly #checkAlive: () => void;
  /** What is added to each row before a layer, [hiddenSize]. */
  #added = new Map<number, Float32Array>();

  /** `checkAlive` throws if a hook has disposed of what it was called by. */
  constructor(core: ModelCore, checkAlive: () => void) {
    this.#core = core;
    this.#checkAlive = checkAlive;
  }

  get isEmpty(): boolean {
    return this.hook === undefined && this.#added.size === 0;
  }

  /** Throws INVALID_ARGUMENT, and then changes nothing. */
  steer(given: readonly Steering[]): void {
    const { layers, hidden_size } = this.#core.plan.config;
    const added = new Map<number, Float32Array>();
    for (const [i, one] of listOf(given, "steering", "a list of { layer, vector, scale }").entries()) {
      const field = `steering[${i}]`;
      const { layer, vector, scale = 1 } = checkOptions(one as Steering, STEERING, field);
      const at = wholeNumber(layer, 0, layers, `${field}.layer`);
      const factor = finiteNumber(scale, `${field}.scale`);
      const numbers = listOf(vector, `${field}.vector`, "numbers");
      if (numbers.length !== hidden_size)
        fail("INVALID_SHAPE", `${field}.vector`, `must have ${hidden_size} numbers (got ${numbers.length})`);
      const sum = added.get(at) ?? new Float32Array(hidden_size);
      numbers.forEach((number, j) => (sum[j]! += factor * finiteNumber(number, `${field}.vector[${j}]`)));
      added.set(at, sum);
    }
    this.#added = added;
  }

  /** Takes over the changes of another session. */
  copy(other: LayerChanges): void {
    this.hook = other.hook;
    this.#added = other.#added;
  }

  before(layer: number, { rows, first }: Batch): void {
    const core = this.#core;
    const { hidden_size: size } = core.plan.config;
    const added = this.#added.get(layer);
    if (added !== undefined) {
      const residual = core.residual(rows);
      residual.forEach((value, i) => (residual[i] = value + added[i % size]!));
    }
    if (this.hook === undefined) return;
    const copy = core.residual(rows).slice();
    const changed: unknown = this.hook(layer, copy, first) ?? copy;
    this.#checkAlive();
    if (!(changed instanceof Float32Array) || changed.length !== rows * size)
      return fail("INVALID_ARGUMENT", "onLayer", `must return nothing, or a Float32Array of ${rows * size} numbers`);
    if (!changed.every(Number.isFinite))
      fail("INVALID_ARGUMENT", "onLayer", `made numbers that are not finite before layer ${layer}`);
    core.residual(rows).set(changed);
  }
}
