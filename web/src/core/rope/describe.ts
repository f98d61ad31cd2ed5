// Collects the description of a config: pairs, ranges, decay and warnings.
import { show } from "../base/show.js";
import { flattenConfig, type FlatRopeConfig } from "../config/flatten.js";
import { largestDistance } from "../config/position_map.js";
import { LARGER_BASE } from "../config/rope_fields.js";
import { ROPE_TYPES, type RopeType } from "../config/types.js";
import { decayCurve, firstNegativeDistance } from "./decay.js";
import { formatDescription } from "./describe_text.js";
import type { Description, PairDescription, PairTreatment } from "./description.js";
import { fail } from "../base/errors.js";
import { type FrequencyPlan, readPlan } from "./plan.js";
import { checkSequenceLength } from "../memory/positions.js";
import { RopeCore } from "./core.js";
import { warningsOf } from "./warnings.js";

/** Range of the largest distance at which decay is evaluated. */
const MIN_DECAY_LIMIT = 65536;
const MAX_DECAY_LIMIT = 2 ** 20;

/** Largest head_dim of the core. */
const MAX_HEAD_DIM = 8192;

/** Longest window for which the smallest base is computed. */
const MAX_WINDOW = 2 ** 24;

/** @internal */
export function describe(core: RopeCore, givenLength?: number): Description {
  const { heap, config, geometry } = core;
  const flat = flattenConfig(config);
  const rope_type = ROPE_TYPES[flat.rope_type]!;
  // custom doesn't read the original length, but a config may have it
  const original = rope_type === "custom" ? config.original_max_position_embeddings : undefined;
  const window = flat.original_max_position_embeddings ?? original ?? flat.max_position_embeddings ?? null;
  const seqLen = checkSequenceLength(givenLength) || window || 1;
  core.useLength(seqLen);
  const plan = readPlan(heap, geometry, heap.module.rope_plan(core.address));
  const isGiven = rope_type === "custom" || (rope_type === "default" && flat.freq_factors !== undefined);
  const factor = isGiven ? largestDivisor(core, plan) : factorOf(flat, rope_type, seqLen);

  const pairs = describePairs(core, plan, window, factor);
  const counts = { kept: 0, blended: 0, interpolated: 0, scaled: 0, unrotated: 0 };
  for (const { treatment } of pairs) counts[treatment]++;
  const decay_limit = Math.min(MAX_DECAY_LIMIT, Math.max(MIN_DECAY_LIMIT, plan.max_length, seqLen));

  let firstNegative: number | null | undefined;
  let smallest: number | null | undefined;
  return {
    config,
    rope_type,
    seqLen,
    plan,
    factor,
    largest_distance: largestDistance(config.position_map, seqLen),
    window,
    pairs,
    counts,
    over_extrapolated: LARGER_BASE.includes(rope_type) ? overExtrapolated(core, flat, window, factor) : null,
    get first_negative_distance() {
      if (firstNegative === undefined) firstNegative = firstNegativeOf(core, decay_limit, seqLen);
      return firstNegative;
    },
    decay_limit,
    decay: sampleDecay(core, decay_limit, seqLen),
    get smallest_base() {
      if (smallest === undefined)
        smallest = smallestBase(core, Math.min(MAX_WINDOW, Math.max(plan.max_length, seqLen)));
      return smallest;
    },
    warnings: warningsOf(config, flat, plan, seqLen),
    toString() {
      return formatDescription(this);
    },
  };
}

/** Uses a core of its own, since the rope that was described may have been disposed of. */
function firstNegativeOf({ heap, config }: RopeCore, limit: number, seqLen: number): number | null {
  const core = new RopeCore(heap, config, false);
  try {
    return firstNegativeDistance(core, limit, seqLen);
  } finally {
    core.dispose();
  }
}

/** Smallest base, to 0.1 %, that keeps the score of equal vectors above zero up to `window`; null if none below 1e12 does. @internal */
export function smallestBase(
  core: Pick<RopeCore, "heap"> & { geometry: { rotary_dim: number } },
  window: number,
): number | null {
  const { heap, geometry } = core;
  const { rotary_dim } = geometry;
  if (!Number.isInteger(rotary_dim) || rotary_dim < 2 || rotary_dim > MAX_HEAD_DIM) {
    fail("INVALID_CONFIG", "rotary_dim", `must be an even integer from 2 to ${MAX_HEAD_DIM} (got ${show(rotary_dim)})`);
  }
  if (typeof window !== "number" || !(window >= 1 && window <= MAX_WINDOW))
    fail("INVALID_ARGUMENT", "window", `must be a number from 1 to 2^24 (got ${show(window)})`);
  return heap.borrow(8, (address) => {
    heap.check(heap.module.smallest_base(rotary_dim, window, address));
    const base = heap.doubles(address, 1)[0]!;
    return base < 0 ? null : base;
  });
}

function factorOf(flat: FlatRopeConfig, rope_type: RopeType, seqLen: number): number {
  const { max_position_embeddings: max, original_max_position_embeddings: original } = flat;
  if (rope_type === "dynamic")
    return max === undefined ? 1 : Math.max(1, ((flat.factor ?? 1) * seqLen) / max - ((flat.factor ?? 1) - 1));
  if (rope_type === "dynamic_yarn")
    return Math.max(flat.finetuned ? (flat.factor ?? 1) : 1, seqLen / (original ?? seqLen));
  if (rope_type === "ntk_alpha") return flat.alpha ?? 1;
  if (flat.factor !== undefined) return flat.factor;
  return max !== undefined && original !== undefined ? Math.max(1, max / original) : 1;
}

/** What given frequencies divide a plain one by at most: the factor that they are compared with. */
function largestDivisor(core: RopeCore, plan: FrequencyPlan): number {
  const { wavelength, rotations } = analyze(core, plan, 1, 1);
  const divisors = Array.from(plan.inv_freq, (inv_freq, pair) =>
    inv_freq === 0 ? 1 : rotations[pair]! * wavelength[pair]!,
  );
  const largest = divisors.reduce((largest, divisor) => Math.max(largest, divisor), 1);
  return largest - 1 < 1e-6 ? 1 : largest; // plans rounded to f32 divide by almost 1
}

interface Analysis {
  wavelength: Float64Array;
  rotations: Float64Array;
  kept_share: Float64Array;
}

function analyze({ heap, address }: RopeCore, plan: FrequencyPlan, window: number, factor: number): Analysis {
  const count = plan.inv_freq.length;
  return heap.borrow(count * 24, (lists) => {
    const [wavelength, rotations, kept_share] = [lists, lists + count * 8, lists + count * 16] as const;
    heap.check(heap.module.rope_analyze(address, window, factor, wavelength, rotations, kept_share));
    const copy = (list: number): Float64Array => heap.doubles(list, count).slice();
    return { wavelength: copy(wavelength), rotations: copy(rotations), kept_share: copy(kept_share) };
  });
}

function describePairs(core: RopeCore, plan: FrequencyPlan, window: number | null, factor: number): PairDescription[] {
  const { wavelength, rotations, kept_share } = analyze(core, plan, window ?? 1, factor);
  return Array.from(plan.inv_freq, (inv_freq, pair) => ({
    pair,
    inv_freq,
    wavelength: wavelength[pair]!,
    rotations: window === null ? NaN : inv_freq === 0 ? 0 : rotations[pair]!,
    kept_share: kept_share[pair]!,
    treatment: treatmentOf(inv_freq, kept_share[pair]!),
    axis: plan.axis_of_pair[pair]!,
  }));
}

function treatmentOf(inv_freq: number, kept_share: number): PairTreatment {
  if (inv_freq === 0) return "unrotated";
  if (kept_share === 1 || Number.isNaN(kept_share)) return "kept";
  if (kept_share === 0) return "interpolated";
  return kept_share > 0 && kept_share < 1 ? "blended" : "scaled";
}

function overExtrapolated(
  core: RopeCore,
  flat: FlatRopeConfig,
  window: number | null,
  factor: number,
): { first: number; last: number } | null {
  if (window === null) return null;
  const { first, last } = core.heap.module.over_extrapolated_pairs(flat.rotary_dim, flat.rope_theta, window, factor);
  return first < last ? { first, last } : null;
}

function sampleDecay(core: RopeCore, limit: number, seqLen: number): { distance: number; score: number }[] {
  const distances = [0];
  for (let distance = 1; distance <= limit; distance *= 2) distances.push(distance);
  return distances.map((distance) => ({
    distance,
    score: decayCurve(core, { first: distance, count: 1, seqLen })[0]!,
  }));
}
