// Byte-pair encoding of symbols by a table of merges: joins the adjacent pair with the lowest rank, leftmost first among equals, until no
// pair has one. Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1.

import { ROUNDS } from "./encoding_steps.js";

const EMPTY = -1;

/** Merges with their ranks. Symbols are numbers from 0 on; negative ones merge with nothing. */
export class MergeTable {
  /** A table with open addressing: left and right symbols, and the merge. */
  readonly #lefts: Int32Array;
  readonly #rights: Int32Array;
  readonly #merges: Int32Array;
  readonly #mask: number;
  /** The symbol that each merge makes. */
  readonly #results: Int32Array;

  /** @param size number of merges */
  constructor(size: number) {
    let slots = 4;
    while (slots < 2 * size) slots *= 2;
    this.#mask = slots - 1;
    this.#lefts = new Int32Array(slots);
    this.#rights = new Int32Array(slots);
    this.#merges = new Int32Array(slots).fill(EMPTY);
    this.#results = new Int32Array(size);
  }

  /** Sets the merge of a rank. A pair that has a lower one gets this rank, or keeps its own if `keepsFirst`. */
  set(rank: number, left: number, right: number, result: number, keepsFirst: boolean): void {
    const slot = this.#slotOf(left, right);
    if (this.#merges[slot] !== EMPTY && keepsFirst) return;
    this.#lefts[slot] = left;
    this.#rights[slot] = right;
    this.#merges[slot] = rank;
    this.#results[rank] = result;
  }

  /** The rank of a pair, or -1. */
  rankOf(left: number, right: number): number {
    return left < 0 || right < 0 ? EMPTY : this.#merges[this.#slotOf(left, right)]!;
  }

  #slotOf(left: number, right: number): number {
    let slot = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    slot = (slot ^ (slot >>> 15)) & this.#mask;
    while (this.#merges[slot] !== EMPTY && (this.#lefts[slot] !== left || this.#rights[slot] !== right))
      slot = (slot + 1) & this.#mask;
    return slot;
  }

  /**
   * Merges the first `count` symbols in place, in steps, and returns how many are left. `lengths` are added up where symbols are merged. Takes
   * O(n log n) time. Of two merges that make the same symbol at the same place, the one that was found first decides when, as in the Rust
   * library and in llama.cpp.
   */
  *merge(symbols: Int32Array, lengths: Int32Array, count: number): Generator<0, number, void> {
    const heap = new RankHeap();
    let rounds = 0;
    for (let at = 0; at + 1 < count; at++) {
      if (++rounds % ROUNDS === 0) yield 0;
      const rank = this.rankOf(symbols[at]!, symbols[at + 1]!);
      if (rank >= 0) heap.push(rank, at);
    }
    if (heap.isEmpty()) return count;
    const next = new Int32Array(count);
    const previous = new Int32Array(count);
    for (let at = 0; at < count; at++) {
      next[at] = at + 1;
      previous[at] = at - 1;
    }
    const consider = (at: number): void => {
      const rank = this.rankOf(symbols[at]!, symbols[next[at]!]!);
      if (rank >= 0) heap.push(rank, at);
    };
    while (!heap.isEmpty()) {
      if (++rounds % ROUNDS === 0) yield 0;
      heap.pop();
      const { position: at } = heap;
      const right = next[at]!;
      if (right === EMPTY || right >= count) continue; // merged into the symbol before it, or the last one
      const rank = this.rankOf(symbols[at]!, symbols[right]!);
      const result = this.#results[heap.rank]!;
      if (rank < 0 || this.#results[rank] !== result) continue; // one of the two was merged with another symbol
      symbols[at] = result;
      lengths[at]! += lengths[right]!;
      const after = next[right]!;
      next[at] = after;
      next[right] = EMPTY;
      if (after < count) previous[after] = at;
      if (at > 0) consider(previous[at]!);
      if (after < count) consider(at);
    }
    let kept = 0;
    for (let at = 0; at < count; at = next[at]!) {
      symbols[kept] = symbols[at]!;
      lengths[kept++] = lengths[at]!;
    }
    return kept;
  }
}

/** Positions in a text are below this. */
const POSITIONS = 2 ** 30;

/** A binary heap that pops the lowest rank, leftmost first among equals. Entries are numbers: rank * 2^30 + position. */
class RankHeap {
  readonly #entries: number[] = [];
  rank = 0;
  position = 0;

  isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  push(rank: number, position: number): void {
    const entry = rank * POSITIONS + position;
    const entries = this.#entries;
    let at = entries.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = entries[(at - 1) >> 1]!;
      if (entry >= parent) break;
      entries[at] = parent;
    }
    entries[at] = entry;
  }

  /** Sets `rank` and `position`. */
  pop(): void {
    const entries = this.#entries;
    const first = entries[0]!;
    const last = entries.pop()!;
    this.rank = Math.floor(first / POSITIONS);
    this.position = first - this.rank * POSITIONS;
    const size = entries.length;
    if (size === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && entries[child + 1]! < entries[child]!) ++child;
      if (entries[child]! >= last) break;
      entries[at] = entries[child]!;
      at = child;
    }
    entries[at] = last;
  }
}
