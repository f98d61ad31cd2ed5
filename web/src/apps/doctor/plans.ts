// Computes the frequencies of a config as a system does, and compares them.
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { Compat, RopeConfig } from "../../core/config/types.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import type { FrequencyPlan } from "../../core/rope/plan.js";

/** Largest relative difference of numbers that count as equal: files store some of them in 32 bits. */
const TOLERANCE = 1e-6;

/** The plan of a config at a length, in a system that was started for this length. @throws RopewalkError */
export function planIn(rw: Ropewalk, config: Readonly<RopeConfig>, compat: Compat, length: number): FrequencyPlan {
  const rope = rw.rope(overrideRopeConfig(config, { compat, context_length: length }));
  try {
    return rope.plan(length);
  } finally {
    rope.dispose();
  }
}

/** How a plan differs from another one. */
export interface Difference {
  same: boolean;
  /** The pair whose frequency differs most, and its frequency divided by the other one's; null if all are equal. */
  largest: { pair: number; ratio: number } | null;
  /** Attention factor and softmax scale divided by the other one's. */
  attention: number;
  softmax: number;
}

/** Compares `plan` with `reference`. */
export function compare(plan: FrequencyPlan, reference: FrequencyPlan): Difference {
  const ratios = Array.from(reference.inv_freq, (value, pair) => ratioOf(plan.inv_freq[pair] ?? 0, value));
  const distances = ratios.map((ratio) => Math.abs(Math.log(ratio)));
  const pair = distances.reduce((worst, distance, i) => (distance > distances[worst]! ? i : worst), 0);
  const largest = (distances[pair] ?? 0) > TOLERANCE ? { pair, ratio: ratios[pair]! } : null;
  const attention = ratioOf(plan.attention_factor, reference.attention_factor);
  const softmax = ratioOf(plan.softmax_scale, reference.softmax_scale);
  const isSame = (ratio: number): boolean => Math.abs(ratio - 1) <= TOLERANCE;
  const sameShape = plan.rotary_dim === reference.rotary_dim && plan.pairing === reference.pairing;
  return { same: sameShape && largest === null && isSame(attention) && isSame(softmax), largest, attention, softmax };
}

/** A pair that rotates in one plan only counts as different by the largest float. */
function ratioOf(value: number, reference: number): number {
  if (value === reference) return 1;
  return Math.min(Math.max(value / reference, Number.MIN_VALUE), Number.MAX_VALUE);
}

/** A difference in words: `pair 40 turns 3.86 times as fast, the attention factor is 0.878 times as large`. */
export function differenceText({ same, largest, attention, softmax }: Difference): string {
  if (same) return "the same numbers";
  const ratio = (value: number): string => Number(value.toPrecision(3)).toString();
  const parts = [
    largest && `pair ${largest.pair} turns ${ratio(largest.ratio)} times as fast`,
    Math.abs(attention - 1) > TOLERANCE && `the attention factor is ${ratio(attention)} times as large`,
    Math.abs(softmax - 1) > TOLERANCE && `the softmax scale is ${ratio(softmax)} times as large`,
  ].filter((part) => typeof part === "string");
  return parts.length === 0 ? "another layout of pairs" : parts.join(", ");
}
