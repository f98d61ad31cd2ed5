// How the score of two vectors decays with their distance.
import { codeIn, finiteNumber, wholeNumber } from "../base/checks.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { show } from "../base/show.js";
import { checkSequenceLength } from "../memory/positions.js";
import type { RopeCore } from "./core.js";

/**
 * Decay curves. `ones`: q = k = 1, S(Δ) = 2 Σ cos(Δ w_j). `random`: q = k drawn from N(0, 1), mean over draws. `bound`: the bound of RoFormer,
 * section 3.4.3, the mean over i of |Σ_{j<i} e^{iΔw_j}|.
 */
export const DECAY_CURVES = ["ones", "random", "bound"] as const;
/** One of {@link DECAY_CURVES}. */
export type DecayCurve = (typeof DECAY_CURVES)[number];

/** A decay curve and its distances. */
export interface DecayOptions {
  /** Number of distances. */
  count: number;
  /** First distance. Default: 0. */
  first?: number;
  /** Difference between successive distances. Default: 1. */
  step?: number;
  /** Curve. Default: `"ones"`. */
  curve?: DecayCurve;
  /** random: number of vectors that are averaged. Default: 16. */
  draws?: number;
  /** random: seed of the vectors, 0 … 2^32−1. Default: 0. */
  seed?: number;
  /** Sequence length of the plan. Default: 1, the plan for short sequences. */
  seqLen?: number;
}

const OPTIONS = optionNames<DecayOptions>("decay()", {
  count: true,
  first: true,
  step: true,
  curve: true,
  draws: true,
  seed: true,
  seqLen: true,
});

/** @internal */
export function decayCurve(core: RopeCore, options: DecayOptions): Float64Array {
  const {
    count,
    first = 0,
    step = 1,
    curve = "ones",
    draws = 16,
    seed = 0,
    seqLen = 1,
  } = checkOptions(options, OPTIONS);
  const code = codeIn(DECAY_CURVES, curve, "curve");
  wholeNumber(count, 1, 2 ** 27, "count");
  wholeNumber(draws, 1, 2 ** 20, "draws");
  wholeNumber(seed, 0, 2 ** 32 - 1, "seed");
  finiteNumber(first, "first");
  finiteNumber(step, "step");
  core.useLength(checkSequenceLength(seqLen));

  const { heap, address } = core;
  const values = new Float64Array(count); // at most 1 GB
  const block = heap.scratchBytes / 8;
  for (let done = 0; done < count; done += block) {
    const part = Math.min(block, count - done);
    heap.check(heap.module.rope_decay(address, code, first + step * done, step, part, draws, seed, heap.scratch));
    values.set(heap.doubles(heap.scratch, part), done);
  }
  return values;
}

/** @internal */
export function firstNegativeDistance(core: RopeCore, limit: number, seqLen = 1): number | null {
  if (typeof limit !== "number")
    fail("INVALID_POSITION", "limit", `must be a number from 1 to 2^31 (got ${show(limit)})`);
  core.useLength(checkSequenceLength(seqLen));
  const { heap, address } = core;
  return heap.borrow(8, (result) => {
    heap.check(heap.module.rope_first_negative(address, limit, result), undefined, "limit");
    const distance = heap.doubles(result, 1)[0]!;
    return distance < 0 ? null : distance;
  });
}
