// Evolutionary search of factors, as LongRoPE (Ding et al. 2024, arXiv:2402.13753) and LongRoPE2 (Shang et al. 2025, arXiv:2502.20082): parents
// with the lowest losses, mutations and crossover, and factors that never decrease from pair to pair.
import type { SeededRandom } from "./random.js";
import { keyOf, limited, type NamedFactors, type RopeFactors, type SearchSpace } from "./space.js";

/** A candidate to evaluate. @internal */
export interface Candidate extends RopeFactors {
  /** Name of a scaling to start from; undefined for others. */
  readonly name?: string;
  /** The loss above which it will not become a parent, so that it needn't be known. */
  readonly bound: number;
}

/** Parents: those with the lowest losses so far. */
const PARENTS = 12;
/** Share of the pairs that a mutation of pairs changes. LongRoPE has 0.3. */
const CHANGED = 0.3;
/** Deviations of mutations: of ln(factor) / ln(scaling factor), of pairs, and of ln(attention factor). */
const STEP = 0.1;
const SHIFT = 0.7;
const ATTENTION_STEP = 0.05;
/** Attempts to make a candidate that wasn't there yet. */
const ATTEMPTS = 50;

/**
 * Yields candidates without end, first the seeds. The caller sends the loss of each back, Infinity if it is above the bound. What it yields
 * depends only on the random numbers and on the losses.
 * @internal
 */
export function* evolve(
  space: SearchSpace,
  seeds: readonly NamedFactors[],
  random: SeededRandom,
): Generator<Candidate, never, number> {
  const parents: { readonly candidate: RopeFactors; readonly loss: number }[] = [];
  const seen = new Set<string>();
  const keep = (candidate: RopeFactors, loss: number): void => {
    seen.add(keyOf(candidate));
    if (loss === Infinity) return;
    parents.push({ candidate, loss });
    parents.sort((a, b) => a.loss - b.loss);
    parents.length = Math.min(parents.length, PARENTS);
  };
  for (const seed of seeds) keep(seed, yield { ...seed, bound: Infinity });
  for (;;) {
    const pick = (): RopeFactors =>
      parents[Math.min(random.below(parents.length), random.below(parents.length))]!.candidate;
    let child = pick();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      child = random.next() < 0.5 ? mutated(space, pick(), random) : crossed(space, pick(), pick(), random);
      if (!seen.has(keyOf(child))) break;
    }
    const bound = parents.length < PARENTS ? Infinity : parents.at(-1)!.loss;
    keep(child, yield { ...child, bound });
  }
}

/** Mutations, as changes of ln(factor) / ln(scaling factor) of each pair. */
const MUTATIONS: readonly ((logs: readonly number[], random: SeededRandom, space: SearchSpace) => number[])[] = [
  // some pairs
  (logs, random) => logs.map((value) => (random.next() < CHANGED ? value + STEP * random.normal() : value)),
  // all pairs by the same power
  (logs, random) => {
    const power = 1 + STEP * random.normal();
    return logs.map((value) => value * power);
  },
  // the curve moves to slower or faster pairs
  (logs, random) => {
    const by = SHIFT * random.normal();
    return logs.map((_, pair) => interpolated(logs, pair - by));
  },
  // LongRoPE2: NTK-aware below a critical pair, the others stay
  (logs, random, { critical, pairs }) => {
    const around = Math.round(critical - 1 + (pairs / 8) * random.normal());
    const pair = Math.min(pairs - 1, Math.max(1, around));
    return logs.map((value, j) => (j < pair ? (logs[pair]! * j) / pair : value));
  },
];

function mutated(space: SearchSpace, parent: RopeFactors, random: SeededRandom): RopeFactors {
  const unit = Math.log(space.factor);
  const logs = parent.factors.map((value) => Math.log(value) / unit);
  const changed = MUTATIONS[random.below(MUTATIONS.length)]!(logs, random, space);
  const attention = random.next() < CHANGED ? Math.exp(ATTENTION_STEP * random.normal()) : 1;
  return limited(space, {
    factors: changed.map((value) => Math.exp(value * unit)),
    attention_factor: parent.attention_factor * attention,
  });
}

/** Each pair, and the attention factor, from one of two parents. */
function crossed(space: SearchSpace, a: RopeFactors, b: RopeFactors, random: SeededRandom): RopeFactors {
  const either = (one: number, other: number): number => (random.next() < 0.5 ? one : other);
  return limited(space, {
    factors: a.factors.map((value, pair) => either(value, b.factors[pair]!)),
    attention_factor: either(a.attention_factor, b.attention_factor),
  });
}

/** A list at a fraction of an index; its ends go on. */
function interpolated(list: readonly number[], at: number): number {
  const within = Math.min(list.length - 1, Math.max(0, at));
  const low = Math.floor(within);
  const high = Math.min(low + 1, list.length - 1);
  return list[low]! + (within - low) * (list[high]! - list[low]!);
}
