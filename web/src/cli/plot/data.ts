import { overrideRopeConfig } from "../../config/rope_config.js";
import type { RopeConfig } from "../../config/types.js";
import type { DecayCurve } from "../../rope/decay.js";
import type { AlibiScheme, SinusoidalScheme } from "../../attention/position_scheme.js";
import type { Rope } from "../../rope/rope.js";
import type { Ropewalk } from "../../load/runtime.js";
import type { NamedScaling } from "../rope_options.js";

/** A line of a plot. */
export interface Series {
  /** What the legend calls it. */
  name: string;
  points: readonly (readonly [x: number, y: number])[];
}

/** A picture of attention: what share each query gives to each key. */
export interface Weights {
  name: string;
  /** [tokens, tokens], row by row of queries. */
  weights: Float64Array;
  tokens: number;
}

/** A config as one of several scalings, with the name it was asked for by. */
export interface NamedConfig {
  name: string;
  config: RopeConfig;
}

type Scheme = "none" | SinusoidalScheme | AlibiScheme;

/** Schemes that `plot attention` knows besides RoPE, with what is not in the model's file. */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  none: "none",
  sinusoidal: { scheme: "sinusoidal" },
  alibi: { scheme: "alibi", slopes: [1 / 8] },
};

/** Names of the schemes of `plot attention`. */
export const SCHEME_NAMES = ["rope", ...Object.keys(SCHEMES)];

/** A model's config under each scaling; as it is, and beside it without scaling where it has one, if none is asked for. */
export function namedConfigs(
  rw: Ropewalk,
  config: RopeConfig,
  scalings: readonly NamedScaling[] | undefined,
): NamedConfig[] {
  const { rope_type } = rw.describe(config);
  if (scalings === undefined && rope_type === "default") return [{ name: "default", config }];
  const asked = scalings ?? [
    { name: rope_type, overrides: {} },
    { name: "none", overrides: { rope_scaling: null } },
  ];
  return asked.map(({ name, overrides }) => ({ name, config: overrideRopeConfig(config, overrides) }));
}

/** The length to plan for where none is given: what the longest of the scalings serves. */
export function servedLength(rw: Ropewalk, configs: readonly NamedConfig[]): number {
  return Math.max(
    ...configs.map(({ config }) => {
      const { window, factor } = rw.describe(config);
      return Math.ceil((window ?? 2048) * factor);
    }),
  );
}

/** Radians a position, or positions a turn, by pair. Pairs that stand still are left out. */
export function frequencies(
  rw: Ropewalk,
  configs: readonly NamedConfig[],
  length: number,
  what: "inv_freq" | "wavelength",
): Series[] {
  return configs.map(({ name, config }) => {
    const turning = rw.describe(config, length).pairs.filter(({ inv_freq }) => inv_freq > 0);
    return { name, points: turning.map((pair) => [pair.pair, pair[what]] as const) };
  });
}

/** The share γ of its frequency that each pair keeps. Scalings for which no pair has one are left out. */
export function ramps(rw: Ropewalk, configs: readonly NamedConfig[], length: number): Series[] {
  const series = configs.map(({ name, config }): Series => {
    const { pairs } = rw.describe(config, length);
    return {
      name,
      points: pairs
        .filter(({ kept_share }) => !Number.isNaN(kept_share))
        .map(({ pair, kept_share }) => [pair, kept_share] as const),
    };
  });
  return series.filter(({ points }) => points.length > 0);
}

const DECAY_POINTS = 240;
const SAMPLES = 64;

/** How a score falls with the distance, as a share of the score at distance 0. A point is the mean of the distances around it. */
export function decays(
  rw: Ropewalk,
  configs: readonly NamedConfig[],
  length: number,
  farthest: number,
  curve: DecayCurve,
): Series[] {
  return configs.map(({ name, config }) =>
    withRope(rw, config, (rope) => {
      const [nearest = 1] = rope.decay({ count: 1, curve, seqLen: length });
      const points = Array.from({ length: DECAY_POINTS }, (_, i): [number, number] => {
        const [first, next] = [i, i + 1].map((end) => farthest ** (end / DECAY_POINTS)) as [number, number];
        const scores = rope.decay({ first, step: (next - first) / SAMPLES, count: SAMPLES, curve, seqLen: length });
        return [Math.sqrt(first * next), scores.reduce((sum, score) => sum + score, 0) / SAMPLES / nearest];
      });
      return { name, points };
    }),
  );
}

/** What a head of equal queries and keys attends to, by position alone. */
export function attentions(
  rw: Ropewalk,
  configs: readonly NamedConfig[],
  schemes: readonly string[],
  tokens: number,
  length: number,
): Weights[] {
  const head_dim = configs[0]!.config.head_dim;
  return schemes.flatMap((scheme) => {
    if (scheme !== "rope")
      return [{ name: scheme, tokens, weights: weightsOf(rw, SCHEMES[scheme]!, head_dim, tokens, {}) }];
    return configs.map(({ name, config }) =>
      withRope(rw, config, (rope) => {
        const { softmax_scale: scale } = rope.plan(length);
        return {
          name: `rope, ${name}`,
          tokens,
          weights: weightsOf(rw, rope, head_dim, tokens, { scale, seqLen: length }),
        };
      }),
    );
  });
}

/** Values that are rows of the identity make outputs that are weights: of `head_dim` keys at a time. */
function weightsOf(
  rw: Ropewalk,
  position: Scheme | Rope,
  head_dim: number,
  tokens: number,
  options: { scale?: number; seqLen?: number },
): Float64Array {
  const alike = new Float32Array(tokens * head_dim).fill(1);
  const weights = new Float64Array(tokens * tokens);
  for (let first = 0; first < tokens; first += head_dim) {
    const count = Math.min(head_dim, tokens - first);
    const values = new Float32Array(tokens * head_dim);
    for (let i = 0; i < count; i++) values[(first + i) * head_dim + i] = 1;
    const out = rw.attention(alike, alike, values, {
      layout: "thd",
      shape: [tokens, 1, head_dim],
      position,
      ...options,
    });
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
