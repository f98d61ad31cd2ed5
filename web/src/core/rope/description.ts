// What describe() returns.
import type { RopeConfig, RopeType } from "../config/types.js";
import type { FrequencyPlan } from "./plan.js";

/**
 * What scaling does to the frequency of a pair. `kept`: unchanged. `interpolated`: divided by the factor. `blended`: between the two. `scaled`:
 * changed in another way. `unrotated`: the frequency is 0.
 */
export type PairTreatment = "kept" | "blended" | "interpolated" | "scaled" | "unrotated";

/** One pair of elements of a head. */
export interface PairDescription {
  pair: number;
  /** Frequency in radians per position. */
  inv_freq: number;
  /** Positions per full rotation; Infinity for an unrotated pair. */
  wavelength: number;
  /** Full rotations within the trained context length, before scaling; 0 for an unrotated pair, NaN if the config has no length. */
  rotations: number;
  /** γ, the share of the frequency that scaling keeps: 1 unchanged, 0 divided by the whole factor; NaN without scaling. */
  kept_share: number;
  treatment: PairTreatment;
  /** Position axis that rotates it. */
  axis: number;
}

/** A config at a sequence length, explained. `String(description)` formats it for a terminal. */
export interface Description {
  config: Readonly<RopeConfig>;
  rope_type: RopeType;
  /** Sequence length that is described. */
  seqLen: number;
  plan: FrequencyPlan;
  /**
   * Extended length divided by original length; 1 without scaling. For custom frequencies, the largest divisor of a plain
   * one.
   */
  factor: number;
  /** Largest distance that a query and a key are rotated by at `seqLen`: seqLen − 1 without a `position_map`. */
  largest_distance: number;
  /** Trained context length; null if the config has none. */
  window: number | null;
  pairs: readonly PairDescription[];
  /** Number of pairs by treatment. */
  counts: Readonly<Record<PairTreatment, number>>;
  /** Pairs that NTK-aware scaling rotates past the angles seen in training; null for other types. */
  over_extrapolated: { first: number; last: number } | null;
  /** Smallest distance up to `decay_limit` at which equal vectors score below zero; null if there is none. Computed on first access. */
  readonly first_negative_distance: number | null;
  decay_limit: number;
  /** The score of equal vectors at distances 0, 1, 2, 4, … up to `decay_limit`. */
  decay: readonly { distance: number; score: number }[];
  /** Smallest base that keeps the score above zero with plain RoPE at the served length; null if none below 1e12 does. Computed on first access. */
  readonly smallest_base: number | null;
  /** What is allowed in the config, but looks like a mistake or may be unexpected. */
  warnings: readonly string[];
  /** The description as text for a terminal. */
  toString(): string;
}
