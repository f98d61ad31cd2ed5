// What a search can find: the pairs of a model, the ranges of their factors, and the scalings that it starts from.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import type { RopeOverrides, ScalingOverrides } from "../../core/config/overrides.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { RopeConfig, RopeScaling, RopeType } from "../../core/config/types.js";
import type { ModelInfo } from "../../runtime/model/info.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";

/** A divisor for the frequency of each pair, and what cos and sin are multiplied by. */
export interface RopeFactors {
  /** [pairs], from 1 up, non-decreasing. A model's own scaling comes on top. */
  readonly factors: readonly number[];
  readonly attention_factor: number;
}

/** Equal for equal factors. @internal */
export const keyOf = ({ factors, attention_factor }: RopeFactors): string =>
  JSON.stringify([factors, attention_factor]);

/** A scaling to start from. @internal */
export interface NamedFactors extends RopeFactors {
  readonly name: string;
}

/** @internal */
export interface SearchSpace {
  readonly rope: Readonly<RopeConfig>;
  readonly trainedLength: number;
  readonly length: number;
  /** length / trainedLength. */
  readonly factor: number;
  readonly pairs: number;
  /** [pairs], radians per position without any scaling. */
  readonly plain: readonly number[];
  /** Divisors of the model's own scaling, 1 without one. */
  readonly own: readonly number[];
  /** The first pair that doesn't complete a rotation within the trained length: the theoretical critical dimension of LongRoPE2. */
  readonly critical: number;
}

/** Scalings that are the same at every length and have no attention factor. Searched factors come on top of them. */
const EXTENDABLE: readonly RopeType[] = ["default", "linear", "llama3", "ntk", "ntk_alpha", "ntk_by_parts"];

/** The known scalings that a search starts from. @internal */
export const STARTS = ["linear", "ntk", "yarn"] as const satisfies RopeType[];

/** What found factors are compared with: the model as it is, what the search starts from, and a scaling that follows the length. @internal */
export function comparedScalings(space: SearchSpace): { name: string; rope: RopeOverrides }[] {
  const known = [...STARTS, "dynamic_yarn"] as const;
  return [
    { name: "none", rope: ownRope(space.rope) },
    ...known.map((name) => ({ name, rope: { rope_scaling: comparedScaling(space, name) } })),
  ];
}

/** The model's own RoPE, as overrides of any other. @internal */
export const ownRope = ({ rope_scaling }: Readonly<RopeConfig>): RopeOverrides => ({
  rope_scaling: rope_scaling === undefined ? null : { ...rope_scaling, replace: true },
});

/**
 * The space of a model at a length.
 * @throws RopewalkError UNSUPPORTED_MODEL, INVALID_ARGUMENT
 * @internal
 */
export function searchSpace(
  rw: Ropewalk,
  info: ModelInfo,
  length: number,
  givenLength: number | undefined,
): SearchSpace {
  const rope = searchedRope(info);
  const trainedLength = givenLength ?? rope.max_position_embeddings;
  if (trainedLength === undefined)
    return fail(
      "INVALID_ARGUMENT",
      "trainedLength",
      "is needed: the model doesn't say for how many tokens it was trained",
    );
  if (length <= trainedLength)
    fail("INVALID_ARGUMENT", "length", `must be above the trained length, ${trainedLength} (got ${length})`);
  const plain = Array.from(planOf(rw, overrideRopeConfig(rope, { rope_scaling: null })).inv_freq);
  const own = planOf(rw, rope);
  if (own.axes > 1 || own.inv_freq.includes(0) || own.attention_factor !== 1)
    fail(
      "UNSUPPORTED_MODEL",
      info.name,
      "has several position axes, pairs that aren't rotated, or an attention factor of its own, which can't be searched",
    );
  const turns = own.inv_freq.map((frequency) => (frequency * trainedLength) / (2 * Math.PI));
  const critical = turns.findIndex((count) => count < 1);
  return {
    rope,
    trainedLength,
    length,
    factor: length / trainedLength,
    pairs: own.inv_freq.length,
    plain,
    own: Array.from(own.inv_freq, (frequency, pair) => significant(plain[pair]! / frequency)),
    critical: critical < 0 ? own.inv_freq.length : critical,
  };
}

function searchedRope({ name, layers, noText }: ModelInfo): Readonly<RopeConfig> {
  if (noText !== undefined) fail("UNSUPPORTED_MODEL", name, `the model ${noText}`);
  const [rope, ...others] = new Set(layers.flatMap((layer) => layer.rope ?? []));
  if (rope === undefined) return fail("UNSUPPORTED_MODEL", name, "has no RoPE");
  if (others.length > 0)
    fail("UNSUPPORTED_MODEL", name, "has layers with different RoPEs, and one list of factors would change both");
  const type = rope.rope_scaling?.rope_type ?? "default";
  if (!EXTENDABLE.includes(type))
    fail(
      "UNSUPPORTED_MODEL",
      name,
      `has the scaling ${type}, which factors can't be put on`,
      advise.other("load it with the scaling that it was trained with; rope: { rope_scaling: null } is none"),
    );
  if ((rope.compat ?? "hf") !== "hf")
    fail("UNSUPPORTED_MODEL", name, `is run as in ${rope.compat}, which chooses longrope's list in another way`);
  return rope;
}

function planOf(rw: Ropewalk, config: RopeConfig, length = 1): ReturnType<ReturnType<Ropewalk["rope"]>["plan"]> {
  const rope = rw.rope(config);
  try {
    return rope.plan(length);
  } finally {
    rope.dispose();
  }
}

/** Overrides with which a known scaling reaches the length. @internal */
export function comparedScaling({ factor, trainedLength }: SearchSpace, rope_type: RopeType): ScalingOverrides {
  const original = rope_type.endsWith("yarn") ? { original_max_position_embeddings: trainedLength } : {};
  return { rope_type, factor, ...original, replace: true };
}

/** The scalings that a search starts from: known ones, YaRN that keeps more pairs, and LongRoPE2's for critical pairs around the theoretical one. @internal */
export function seeds(rw: Ropewalk, space: SearchSpace): NamedFactors[] {
  const { rope, length, factor, pairs, plain, critical, trainedLength } = space;
  const of = (name: string, scaling: ScalingOverrides): NamedFactors => {
    const { inv_freq, attention_factor } = planOf(rw, overrideRopeConfig(rope, { rope_scaling: scaling }), length);
    return {
      name,
      attention_factor,
      factors: Array.from(inv_freq, (frequency, pair) => plain[pair]! / frequency),
    };
  };
  const yarn = comparedScaling(space, "yarn");
  const known = [
    ...STARTS.map((name) => of(name, comparedScaling(space, name))),
    ...[16, 8, 4].map((beta_fast) => of(`yarn from ${beta_fast} rotations`, { ...yarn, beta_fast })),
  ];
  const attention_factor = Math.sqrt(1 + Math.log(factor) / Math.log(trainedLength)); // LongRoPE's
  const last = Math.min(critical + 1, pairs - 1);
  const first = Math.max(1, critical - Math.ceil(pairs / 5));
  const criticalPairs = Array.from({ length: 4 }, (_, i) => Math.round(first + ((last - first) * i) / 3));
  const ntkBelow = [...new Set(criticalPairs)].map((pair) => ({
    name: `critical pair ${pair}`,
    attention_factor,
    factors: Array.from({ length: pairs }, (_, j) => factor ** Math.min(1, j / pair)),
  }));
  return [...known, ...ntkBelow].map((seed) => ({ ...seed, ...limited(space, seed) }));
}

/** Factors within the ranges of a search, non-decreasing, with four significant digits. @internal */
export function limited({ factor }: SearchSpace, { factors, attention_factor }: RopeFactors): RopeFactors {
  let least = 1;
  const highest = 2 * factor;
  return {
    factors: factors.map((value) => (least = significant(Math.min(highest, Math.max(least, value))))),
    attention_factor: significant(Math.min(2, Math.max(0.8, attention_factor))),
  };
}

const significant = (value: number): number => Number(value.toPrecision(4));

/** The scaling of factors, for texts of the length or of all lengths. */
function longRope(
  { own, trainedLength, factor }: SearchSpace,
  { factors, attention_factor }: RopeFactors,
): RopeScaling {
  return {
    rope_type: "longrope",
    factor,
    original_max_position_embeddings: trainedLength,
    attention_factor,
    short_factor: own.slice(),
    long_factor: factors.map((value, pair) => significant(own[pair]! * value)),
  };
}

/** A scaling that was found: keys of a config.json, and the option `rope` of `rw.model()`. */
export interface FoundRope {
  max_position_embeddings: number;
  rope_scaling: RopeScaling;
}

/** @internal */
export function foundRope(space: SearchSpace, found: RopeFactors): FoundRope {
  return { max_position_embeddings: space.length, rope_scaling: longRope(space, found) };
}

/** The same list at every length: a session would read its text again when it outgrows the first one. @internal */
export function searchedOverrides(space: SearchSpace, found: RopeFactors): RopeOverrides {
  const scaling = longRope(space, found);
  return {
    rope_scaling: {
      ...scaling,
      short_factor: scaling.long_factor!,
      original_max_position_embeddings: 2 ** 31,
      replace: true,
    },
  };
}
