// Computes the curves and weights that `ropewalk plot` draws.
import { overrideRopeConfig } from "../../../core/config/rope_config.js";
import type { RopeConfig, RopeType } from "../../../core/config/types.js";
import type { DecayCurve } from "../../../core/rope/decay.js";
import type { AttentionOptions } from "../../../core/attention/attention.js";
import type { AlibiScheme, SinusoidalScheme } from "../../../core/attention/position_scheme.js";
import type { Role } from "../../../core/rope/core.js";
import type { Rope } from "../../../core/rope/rope.js";
import type { Ropewalk } from "../../../runtime/ropewalk/ropewalk.js";
import type { NamedScaling } from "../rope_options.js";

/** A line of a plot. */
export interface Series {
  /** Name in the legend. */
  name: string;
  /** `rope_type` of its scaling. */
  type: RopeType;
  points: readonly (readonly [x: number, y: number])[];
}

/** Attention weights of a head. */
export interface Weights {
  name: string;
  /** [tokens, tokens], a row for each query. */
  weights: Float64Array;
  tokens: number;
}

/** A RoPE config with the name of its scaling. */
export interface NamedConfig {
  name: string;
  type: RopeType;
  config: RopeConfig;
}

type Scheme = "none" | SinusoidalScheme | AlibiScheme;

/** Position schemes of `plot attention` besides RoPE, with example parameters. */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  none: "none",
  sinusoidal: { scheme: "sinusoidal" },
  alibi: { scheme: "alibi", slopes: [1 / 8] },
};

/** Names of all schemes of `plot attention`. */
export const SCHEME_NAMES = ["rope", ...Object.keys(SCHEMES)];

/** A model's config under each scaling. By default, the model's scaling, and none for comparison. */
export function namedConfigs(
  rw: Ropewalk,
  config: RopeConfig,
  scalings: readonly NamedScaling[] | undefined,
): NamedConfig[] {
  const { rope_type } = rw.describe(config);
  if (scalings === undefined && rope_type === "default") return [{ name: "default", type: rope_type, config }];
  const chosen = scalings ?? [
    { name: rope_type, overrides: {} },
    { name: "none", overrides: { rope_scaling: null } },
  ];
  return chosen.map(({ name, overrides }) => {
    const scaled = overrideRopeConfig(config, overrides);
    return { name, type: rw.describe(scaled).rope_type, config: scaled };
  });
}

/** The default length to plan for: the longest that one of the scalings supports. */
export function longestSupportedLength(rw: Ropewalk, configs: readonly NamedConfig[]): number {
  return configs.reduce((longest, { config }) => {
    const { window, factor, rope_type, plan } = rw.describe(config);
    const isGiven = rope_type === "custom" && plan.max_length > 0;
    return Math.max(longest, isGiven ? plan.max_length : Math.ceil((window ?? 2048) * factor));
  }, 0);
}

/** Frequency in radians per position, or wavelength in positions, of each pair. Pairs with frequency 0 are omitted. */
export function frequencies(
  rw: Ropewalk,
  configs: readonly NamedConfig[],
  length: number,
  what: "inv_freq" | "wavelength",
): Series[] {
  return configs.map(({ name, type, config }) => {
    const rotating = rw.describe(config, length).pairs.filter(({ inv_freq }) => inv_freq > 0);
    return { name, type, points: rotating.map((pair) => [pair.pair, pair[what]] as const) };
  });
}

/** Share γ of its frequency that each pair keeps. Scalings without such a share are omitted. */
export function ramps(rw: Ropewalk, configs: readonly NamedConfig[], length: number): Series[] {
  const series = configs.map(({ name, type, config }): Series => {
    const { pairs } = rw.describe(config, length);
    return {
      name,
      type,
      points: pairs
        .filter(({ kept_share }) => !Number.isNaN(kept_share))
        .map(({ pair, kept_share }) => [pair, kept_share] as const),
    };
  });
  return series.filter(({ points }) => points.length > 0);
}

const DECAY_POINTS = 240;
const SAMPLES = 64;

/**
 * Attention score by distance, as a fraction of the score at distance 0. Each point is a mean over nearby distances.
 */
export function decays(
  rw: Ropewalk,
  configs: readonly NamedConfig[],
  length: number,
  maxDistance: number,
  curve: DecayCurve,
): Series[] {
  return configs.map(({ name, type, config }) =>
    withRope(rw, config, (rope) => {
      const [nearest = 1] = rope.decay({ count: 1, curve, seqLen: length });
      const points = Array.from({ length: DECAY_POINTS }, (_, i): [number, number] => {
        const [first, next] = [i, i + 1].map((end) => maxDistance ** (end / DECAY_POINTS)) as [number, number];
        const scores = rope.decay({ first, step: (next - first) / SAMPLES, count: SAMPLES, curve, seqLen: length });
        return [Math.sqrt(first * next), scores.reduce((sum, score) => sum + score, 0) / SAMPLES / nearest];
      });
      return { name, type, points };
    }),
  );
}

/** Attention weights of a head in which all queries and keys are equal, so that only positions matter. */
export function attentions(
  rw: Ropewalk,
  configs: readonly NamedConfig[],
  schemes: readonly string[],
  tokens: number,
  length: number,
): Weights[] {
  const head_dim = configs[0]!.config.head_dim;
  const ones = new Float32Array(tokens * head_dim).fill(1);
  const placed = { layout: "thd", shape: [tokens, 1, head_dim] } as const;
  return schemes.flatMap((scheme) => {
    if (scheme !== "rope")
      return [{ name: scheme, tokens, weights: weightsOf(rw, ones, ones, { ...placed, position: SCHEMES[scheme]! }) }];
    return configs.map(({ name, config }) =>
      withRope(rw, config, (rope) => {
        const rotated = (role: Role): Float32Array =>
          rope.rotate(ones.slice(), { ...placed, role, positions: 0, seqLen: length });
        const { softmax_scale: scale } = rope.plan(length);
        const weights = weightsOf(rw, rotated("query"), rotated("key"), { ...placed, scale });
        return { name: `rope, ${name}`, tokens, weights };
      }),
    );
  });
}

/** If the values are rows of the identity matrix, the outputs are the weights, of `head_dim` keys at a time. */
function weightsOf(
  rw: Ropewalk,
  q: Float32Array,
  k: Float32Array,
  options: AttentionOptions<Float32Array> & { shape: readonly [tokens: number, heads: 1, head_dim: number] },
): Float64Array {
  const [tokens, , head_dim] = options.shape;
  const weights = new Float64Array(tokens * tokens);
  for (let first = 0; first < tokens; first += head_dim) {
    const count = Math.min(head_dim, tokens - first);
    const values = new Float32Array(tokens * head_dim);
    for (let i = 0; i < count; i++) values[(first + i) * head_dim + i] = 1;
    const out = rw.attention(q, k, values, options);
    for (let query = 0; query < tokens; query++)
      weights.set(out.subarray(query * head_dim, query * head_dim + count), query * tokens + first);
  }
  return weights;
}

function withRope<Result>(rw: Ropewalk, config: RopeConfig, use: (rope: Rope) => Result): Result {
  const rope = rw.rope(config);
  try {
    return use(rope);
  } finally {
    rope.dispose();
  }
}
