// A machine of the same texts with the fewest states.
import { spend } from "../work.js";

/** A machine of which each state has an edge for each class, or -1. */
export interface Machine {
  readonly next: readonly Int32Array[];
  readonly canEnd: readonly boolean[];
}

/**
 * Joins states from which the same texts can follow.
 * Source: Hopcroft, "An n log n algorithm for minimizing states in a finite automaton" (1971).
 */
export function minimized(machine: Machine): Machine {
  const { next, canEnd } = machine;
  if (next.length === 0) return machine;
  const blocks = blocksOf(machine);
  const ids = new Map<number, number>(); // in the order of their first states: the start stays the first
  const firsts: number[] = [];
  for (let state = 0; state < next.length; state++)
    if (!ids.has(blocks[state]!)) ids.set(blocks[state]!, firsts.push(state) - 1);
  return {
    next: firsts.map((state) => next[state]!.map((to) => (to < 0 ? -1 : ids.get(blocks[to]!)!))),
    canEnd: firsts.map((state) => canEnd[state]!),
  };
}

/** The block of each state: states of a block can't be told apart. A missing edge leads to one more state, which has no texts. */
function blocksOf({ next, canEnd }: Machine): Int32Array {
  const dead = next.length;
  const classes = next[0]!.length;
  const log = Math.ceil(Math.log2(dead + 2));
  spend(dead * classes * log);
  const before = Array.from({ length: classes }, (_, one) => sourcesOf(next, one));
  const blocks = new Int32Array(dead + 1);
  const members: number[][] = [[], []];
  for (let state = 0; state <= dead; state++) {
    blocks[state] = canEnd[state] === true ? 1 : 0;
    members[blocks[state]!]!.push(state);
  }
  const open = new Set([0, 1]);
  for (const splitter of open) {
    open.delete(splitter); // one that is added again is visited again
    const targets = [...members[splitter]!];
    for (const { starts, sources } of before) {
      const hit = new Map<number, number[]>(); // by block, its states with an edge into the splitter
      for (const to of targets)
        for (let i = starts[to]!; i < starts[to + 1]!; i++) {
          const from = sources[i]!;
          const some = hit.get(blocks[from]!) ?? [];
          hit.set(blocks[from]!, some);
          some.push(from);
        }
      for (const [block, some] of hit) {
        const all = members[block]!;
        if (some.length === all.length) continue;
        spend(all.length / 8);
        const isHit = new Set(some);
        const others = all.filter((state) => !isHit.has(state));
        const [small, large] = some.length < others.length ? [some, others] : [others, some];
        const added = members.push(small) - 1;
        members[block] = large;
        for (const state of small) blocks[state] = added;
        open.add(added); // the larger part only if it waits already
      }
    }
  }
  return blocks;
}

/** The states with an edge of a class to each state: those of state i are from starts[i] on. */
function sourcesOf(next: Machine["next"], one: number): { starts: Int32Array; sources: Int32Array } {
  const dead = next.length;
  const target = (from: number): number => (from === dead || next[from]![one]! < 0 ? dead : next[from]![one]!);
  const starts = new Int32Array(dead + 2);
  for (let from = 0; from <= dead; from++) starts[target(from) + 1]! += 1;
  for (let to = 0; to <= dead; to++) starts[to + 1]! += starts[to]!;
  const sources = new Int32Array(dead + 1);
  const filled = starts.slice();
  for (let from = 0; from <= dead; from++) sources[filled[target(from)]!++] = from;
  return { starts, sources };
}
