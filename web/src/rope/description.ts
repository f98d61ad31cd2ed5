import type { RopeConfig, RopeType } from "../config/types.js";
import type { FrequencyPlan } from "./plan.js";

/** What scaling does to a pair: `still` pairs have no frequency, `scaled` ones are changed in a way that is no blend of keeping and dividing. */
export type PairTreatment = "kept" | "blended" | "interpolated" | "scaled" | "still";

/** One pair of a head. */
export interface PairDescription {
  pair: number;
  /** Radians a position. */
  inv_freq: number;
  /** Positions a turn; Infinity for a pair that stands still. */
  wavelength: number;
  /** Turns over the trained window before scaling; NaN where the config names no length. */
  rotations: number;
  /** Share γ that scaling keeps: 1 kept, 0 divided by the whole factor; NaN where nothing is scaled. */
  kept_share: number;
  treatment: PairTreatment;
  /** Position axis that turns it. */
  axis: number;
}

/** All there is to say about a config at a sequence length. `String(description)` prints it. */
export interface Description {
  config: Readonly<RopeConfig>;
  rope_type: RopeType;
  /** Length the description is for. */
  seqLen: number;
  plan: FrequencyPlan;
  /** Extended over original length; 1 without scaling. */
  factor: number;
  /** Trained length, where the config names one. */
  window: number | null;
  pairs: readonly PairDescription[];
  /** Pairs by treatment. */
  counts: Readonly<Record<PairTreatment, number>>;
  /** Pairs that NTK-aware scaling drives past the angles seen in training; null where that does not apply. */
  over_extrapolated: { first: number; last: number } | null;
  /** Smallest distance within `decay_limit` at which equal vectors score below zero, or null. */
  first_negative_distance: number | null;
  decay_limit: number;
  /** The score of equal vectors at distances 0, 1, 2, 4, … up to `decay_limit`. */
  decay: readonly { distance: number; score: number }[];
  /** Smallest base that keeps plain RoPE's score above zero over the served length; computed when first asked for. Null: none below 1e12. */
  readonly smallest_base: number | null;
  /** What looks like a mistake, or will surprise. */
  warnings: readonly string[];
  /** The description as text, for a terminal. */
  toString(): string;
}
