// The texts that several patterns allow at once, of lengths between limits.
import { type Expression, type MachineState, mergeRanges, NOTHING, type Range } from "../expression.js";
import { spend } from "../work.js";
import { alphabetOf } from "./alphabet.js";
import { Found } from "./found.js";
import { MAX_EDGES, MAX_MINIMIZED, TooLarge } from "./limits.js";
import { type Machine, minimized } from "./minimize.js";
import { Nodes, Sets, Subsets } from "./nodes.js";

/** What a text must and mustn't match as a whole, and how many characters it has. Expressions have no rules. */
export interface Conditions {
  readonly must: readonly Expression[];
  readonly mustNot?: readonly Expression[];
  readonly least?: number;
  readonly most?: number;
}

/**
 * The texts that meet all conditions.
 * @param character - the expression of one character of the ranges, for texts that are written with escapes
 * @throws TooLarge
 */
export function intersection(
  { must, mustNot = [], least = 0, most = Infinity }: Conditions,
  character: (ranges: readonly Range[]) => Expression,
): Expression {
  const sets = new Sets();
  const all = [...must, ...mustNot].map((expression) => new Nodes(expression, sets));
  const { classes, ofSets } = alphabetOf(sets.all);
  const parts = all.map((nodes, i) => ({
    subsets: new Subsets(nodes, ofSets, classes.length),
    isNegated: i >= must.length,
  }));
  let machine = product(parts, classes.length);
  if (least > 0 || most < Infinity) {
    // Counting multiplies states, so each that is saved saves many.
    if (machine.next.length <= MAX_MINIMIZED) machine = minimized(machine);
    machine = limited(machine, least, most);
  }
  return expressionOf(machine, classes, character);
}

function product(parts: readonly { subsets: Subsets; isNegated: boolean }[], classes: number): Machine {
  const found = new Found<readonly number[]>();
  const idOf = (states: readonly number[]): number =>
    states.some((state, i) => state === 0 && !parts[i]!.isNegated) ? -1 : found.idOf(states, states.join());
  const next: Int32Array[] = [];
  const canEnd: boolean[] = [];
  idOf(parts.map(({ subsets }) => subsets.start()));
  for (let i = 0; i < found.keys.length; i++) {
    if (i * classes > MAX_EDGES) throw new TooLarge();
    spend(2 * classes * (1 + parts.length));
    const states = found.keys[i]!;
    const after = parts.map(({ subsets }, part) => subsets.after(states[part]!));
    next.push(Int32Array.from({ length: classes }, (_, one) => idOf(after.map((ways) => ways[one]!))));
    canEnd.push(parts.every(({ subsets, isNegated }, part) => subsets.canEnd(states[part]!) !== isNegated));
  }
  return pruned({ next, canEnd });
}

/** The states that have an edge from a state. */
function statesAfter(ways: Int32Array): number[] {
  return [...new Set(ways)].filter((to) => to >= 0);
}

/** The states that have an edge to each state. */
function statesBefore(next: Machine["next"]): number[][] {
  const before: number[][] = next.map(() => []);
  next.forEach((ways, i) => statesAfter(ways).forEach((to) => before[to]!.push(i)));
  return before;
}

/** A machine without states from which no text can end. It has no states at all if there is no text. */
function pruned({ next, canEnd }: Machine): Machine {
  const before = statesBefore(next);
  const alive = new Set<number>(canEnd.flatMap((can, i) => (can ? [i] : [])));
  for (const state of alive) for (const one of before[state]!) alive.add(one); // a Set also visits what is added
  if (!alive.has(0)) return { next: [], canEnd: [] };
  const kept = [...alive].sort((a, b) => a - b);
  const ids = new Map(kept.map((state, i) => [state, i]));
  return {
    next: kept.map((state) => next[state]!.map((to) => ids.get(to) ?? -1)),
    canEnd: kept.map((state) => canEnd[state]!),
  };
}

/** A machine whose texts have from `least` to `most` characters. Each state counts them as long as they matter. */
function limited(machine: Machine, least: number, most: number): Machine {
  const { next, canEnd } = machine;
  if (next.length === 0) return machine;
  const shortest = shortestRests(machine);
  const longest = longestRests(machine);
  const found = new Found<readonly [state: number, count: number]>();
  const idOf = (state: number, count: number): number => {
    if (state < 0 || count + shortest[state]! > most || count + longest[state]! < least) return -1;
    const isFree = count + longest[state]! <= most && count + shortest[state]! >= least;
    const counted = isFree ? -1 : most === Infinity ? Math.min(count, least) : count;
    return found.idOf([state, counted], `${state} ${counted}`);
  };
  const limitedNext: Int32Array[] = [];
  idOf(0, 0);
  for (let i = 0; i < found.keys.length; i++) {
    const [state, count] = found.keys[i]!;
    if (i * next[state]!.length > MAX_EDGES) throw new TooLarge();
    spend(4 * next[state]!.length);
    limitedNext.push(
      next[state]!.map((to) => (count < 0 && to >= 0 ? found.idOf([to, -1], `${to} -1`) : idOf(to, count + 1))),
    );
  }
  const isIn = (count: number): boolean => count < 0 || (count >= least && count <= most);
  return pruned({ next: limitedNext, canEnd: found.keys.map(([state, count]) => canEnd[state]! && isIn(count)) });
}

/** The fewest characters after each state. */
function shortestRests({ next, canEnd }: Machine): Float64Array {
  const before = statesBefore(next);
  const rests = new Float64Array(next.length).fill(Infinity);
  let level = canEnd.flatMap((can, i) => (can ? [i] : []));
  for (let length = 0; level.length > 0; length++) {
    level = [...new Set(level)].filter((state) => rests[state] === Infinity);
    for (const state of level) rests[state] = length;
    level = level.flatMap((state) => before[state]!);
  }
  return rests;
}

/** The most characters after each state. States that can be reached again from those after them have no limit. */
function longestRests({ next }: Machine): Float64Array {
  const after = next.map(statesAfter);
  const before = statesBefore(next);
  const rests = new Float64Array(next.length).fill(Infinity);
  const missing = after.map((ways) => ways.length);
  const open = missing.flatMap((count, i) => (count === 0 ? [i] : []));
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    rests[state] = after[state]!.reduce((longest, to) => Math.max(longest, rests[to]! + 1), 0);
    for (const one of before[state]!) if (--missing[one]! === 0) open.push(one);
  }
  return rests;
}

function expressionOf(
  { next, canEnd }: Machine,
  classes: readonly (readonly Range[])[],
  character: (ranges: readonly Range[]) => Expression,
): Expression {
  if (next.length === 0) return NOTHING;
  const known = new Map<string, Expression>();
  const characters = (some: readonly number[]): Expression => {
    const key = some.join();
    const expression = known.get(key) ?? character(mergeRanges(some.flatMap((one) => classes[one]!)));
    known.set(key, expression);
    return expression;
  };
  const states = next.map((ways, i): MachineState => {
    const byTarget = new Map<number, number[]>();
    ways.forEach((to, one) => {
      if (to < 0) return;
      const some = byTarget.get(to) ?? [];
      byTarget.set(to, some);
      some.push(one);
    });
    return { edges: Array.from(byTarget, ([to, some]) => [characters(some), to] as const), canEnd: canEnd[i]! };
  });
  return { kind: "machine", states };
}
