// How long a run takes: an estimate before it begins, and from what is measured then.
import { idOf } from "./cells.mjs";
import { lengthOf } from "./measure.mjs";
import { tasks } from "./tasks.mjs";

/** Tokens after which attention costs about as much as the weights. */
const ATTENTION_COSTS = 4096;
/** Texts of a cell, at most. */
const MAX_TEXTS = 16;
/** Seconds between lines, if the output isn't a terminal. */
const PAUSE = 30;

/** What a cell costs, in tokens read at the beginning of a text. */
function costOf(cell, entry) {
  const length = lengthOf(cell, entry);
  const once = (tasks[cell.task].readings ?? 1) * length;
  return Math.max(once, Math.min(entry.tokens, MAX_TEXTS * once)) * (1 + length / 2 / ATTENTION_COSTS);
}

/** A time in words, rounded: `40 s`, `12 min`, `3.5 h`. */
function timeText(seconds) {
  if (seconds < 100) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 100 * 60 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** The progress of a model's cells. */
export class Progress {
  #entry;
  #left = new Map();
  #done = 0;
  #doneCost = 0;
  #begun = performance.now();
  #said = performance.now();

  constructor(entry) {
    this.#entry = entry;
  }

  /** Sets the cells that are still to be measured. */
  set left(cells) {
    this.#left = new Map(cells.map((cell) => [idOf(cell), cell]));
  }

  /** How many cells were measured. */
  get done() {
    return this.#done;
  }

  /** What a run is going to do; undefined if there is nothing to do. */
  announcement(workers) {
    const { size } = this.#left;
    if (size === 0) return undefined;
    const seconds = (this.#restCost * this.#entry.secondsPerToken) / Math.min(workers, size);
    return `up to ${size} cells to measure, about ${timeText(seconds)} on ${workers} ${workers === 1 ? "worker" : "workers"}`;
  }

  get #restCost() {
    return [...this.#left.values()].reduce((sum, cell) => sum + costOf(cell, this.#entry), 0);
  }

  /** Counts a cell that was measured, and says so on stderr: at once on a terminal, otherwise now and then. */
  measured(cell) {
    this.#left.delete(idOf(cell));
    this.#done++;
    this.#doneCost += costOf(cell, this.#entry);
    const now = performance.now();
    const time = timeText((((now - this.#begun) / 1000) * this.#restCost) / this.#doneCost);
    const line = `${this.#done} of ${this.#done + this.#left.size} cells, about ${time} left`;
    if (process.stderr.isTTY) process.stderr.write(this.#left.size === 0 ? "\r\u001b[K" : `\r\u001b[K${line}`);
    else if (this.#left.size > 0 && now - this.#said > 1000 * PAUSE) {
      console.error(line);
      this.#said = now;
    }
  }
}
