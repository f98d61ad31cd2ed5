// Byte-pair encoding: joins the adjacent pair with the lowest rank, leftmost first among equals, until no pair has a rank.
// Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword Units", algorithm 1.

import { ROUNDS } from "./encoding_steps.js";

/** The rank of the merge of text[start, middle) and text[middle, end). Lower ranks merge first; undefined means no merge. */
export type RankOf = (text: string, start: number, middle: number, end: number) => number | undefined;

interface Pair {
  rank: number;
  /** The parts are text[start, middle) and text[middle, end). */
  start: number;
  middle: number;
  end: number;
}

/** Splits `text` into characters, merges them in steps, and returns the resulting pieces. Takes O(n log n) time. */
export function* mergePieces(text: string, rankOf: RankOf): Generator<0, string[], void> {
  const length = text.length;
  // ends[i]: the end of the piece that starts at i, 0 if none does; starts[i]: the start of the piece that ends at i
  const ends = new Int32Array(length + 1);
  const starts = new Int32Array(length + 1);
  for (let start = 0; start < length; start = ends[start]!) {
    ends[start] = start + (text.codePointAt(start)! > 0xffff ? 2 : 1);
    starts[ends[start]!] = start;
  }

  const pairs = new PairHeap();
  const consider = (start: number, middle: number) => {
    if (middle >= length) return;
    const end = ends[middle]!;
    const rank = rankOf(text, start, middle, end);
    if (rank !== undefined) pairs.push({ rank, start, middle, end });
  };
  let rounds = 0;
  for (let start = 0; start < length; start = ends[start]!) {
    if (++rounds % ROUNDS === 0) yield 0;
    consider(start, ends[start]!);
  }

  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    if (++rounds % ROUNDS === 0) yield 0;
    const { start, middle, end } = pair;
    if (ends[start] !== middle || ends[middle] !== end) continue; // stale: one of the two was merged with another piece
    ends[start] = end;
    ends[middle] = 0;
    starts[end] = start;
    if (start > 0) consider(starts[start]!, start);
    consider(start, end);
  }

  const pieces: string[] = [];
  for (let start = 0; start < length; start = ends[start]!) pieces.push(text.slice(start, ends[start]));
  return pieces;
}

/** A binary heap that pops the pair with the lowest rank, leftmost first among equals. */
class PairHeap {
  readonly #pairs: Pair[] = [];

  push(pair: Pair): void {
    const pairs = this.#pairs;
    let at = pairs.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = pairs[(at - 1) >> 1]!;
      if (!isBefore(pair, parent)) break;
      pairs[at] = parent;
    }
    pairs[at] = pair;
  }

  pop(): Pair | undefined {
    const pairs = this.#pairs;
    const first = pairs[0];
    const last = pairs.pop();
    if (first === undefined || last === undefined || pairs.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= pairs.length) break;
      if (child + 1 < pairs.length && isBefore(pairs[child + 1]!, pairs[child]!)) ++child;
      if (!isBefore(pairs[child]!, last)) break;
      pairs[at] = pairs[child]!;
      at = child;
    }
    pairs[at] = last;
    return first;
  }
}

function isBefore(a: Pair, b: Pair): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.start < b.start);
}
