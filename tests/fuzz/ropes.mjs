// Random RoPE configs of every scaling type, most of them valid.
import { COMPATS, MROPE_LAYOUTS, PAIRINGS, PRECISIONS, RAMPS, ROPE_TYPES } from "ropewalk";
import { logBetween, mostly, strangeValue } from "./values.mjs";

export function randomConfig(random) {
  const maybe = (p, make) => (random.chance(p) ? make() : undefined);
  const pairs = random.chance(0.8) ? random.between(1, 20) : random.between(1, 300);
  const rotary_dim = 2 * pairs;
  const offset = maybe(0.2, () => random.int(9));
  const head_dim = rotary_dim + (offset ?? 0) + (random.chance(0.3) ? random.int(17) : 0);
  const original = Math.ceil(logBetween(random, 2, 2 ** 22));
  const config = {
    head_dim,
    rotary_dim,
    rotary_offset: offset,
    pairing: random.pick(PAIRINGS),
    rope_theta: maybe(0.8, () => logBetween(random, 1.0001, random.pick([1e4, 1e8, 1e30]))),
    max_position_embeddings: maybe(0.7, () => Math.ceil(original * logBetween(random, 1, 64))),
    original_max_position_embeddings: maybe(0.1, () => original),
    context_length: maybe(0.2, () => Math.ceil(original * logBetween(random, 0.5, 64))),
    compat: maybe(0.5, () => random.pick(COMPATS)),
    precision: maybe(0.4, () => random.pick(PRECISIONS)),
    softmax_scale: maybe(0.2, () => logBetween(random, 1e-9, 1e9)),
    freq_factors: maybe(0.1, () => factors(random, pairs)),
    xpos: maybe(0.1, () => ({ scale_base: logBetween(random, 1e-3, 1e6), center: random.between(-1000, 1000) })),
    query_temperature: maybe(0.1, () => ({
      scale: logBetween(random, 1e-6, 1e6),
      floor_scale: logBetween(random, 1e-3, 1e6),
      offset: random.between(-10, 10),
    })),
    rope_scaling: maybe(0.9, () => randomScaling(random, { pairs, original })),
  };
  const mrope = maybe(0.15, () => sections(random, pairs));
  if (mrope) Object.assign(config, mrope);
  const present = Object.entries(config).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([key, value]) => [key, mostly(random, () => value, { share: 0.997 })]));
}

const factors = (random, pairs) => Array.from({ length: pairs }, () => logBetween(random, 0.5, 100));

function sections(random, pairs) {
  const axes = random.between(2, 4);
  if (pairs < axes) return undefined;
  const cuts = Array.from({ length: axes - 1 }, () => random.int(pairs + 1)).sort((a, b) => a - b);
  const mrope_section = [...cuts, pairs].map((cut, i) => cut - (cuts[i - 1] ?? 0));
  return { mrope_section, ...(random.chance(0.7) && { mrope_layout: random.pick(MROPE_LAYOUTS) }) };
}

function randomScaling(random, { pairs, original }) {
  const rope_type = random.pick(ROPE_TYPES);
  const number = (low, high) => () => logBetween(random, low, high);
  const list = () => factors(random, pairs);
  const keys = {
    factor: number(1, random.pick([4, 64, 1e30])),
    original_max_position_embeddings: () => original,
    attention_factor: number(1e-6, 1e6),
    attn_factor: number(1e-6, 1e6),
    beta_fast: number(1, 1000),
    beta_slow: number(1e-3, 1),
    mscale: number(0.1, 10),
    mscale_all_dim: number(0.1, 10),
    truncate: () => random.chance(0.5),
    ramp: () => random.pick(RAMPS),
    extrapolation_factor: () => random.unit(),
    finetuned: () => random.chance(0.5),
    short_factor: list,
    long_factor: list,
    short_mscale: number(1e-6, 1e6),
    long_mscale: number(1e-6, 1e6),
    low_freq_factor: number(1e-3, 10),
    high_freq_factor: number(10, 100),
    alpha: number(1, 1e30),
    mixed_b: number(1e-3, 10),
    inv_freq: list,
    llama_4_scaling_beta: number(1e-3, 10),
  };
  const byParts = ["beta_fast", "beta_slow", "truncate", "ramp", "extrapolation_factor"];
  const yarn = [...byParts, "attention_factor", "attn_factor", "mscale", "mscale_all_dim"];
  const ofType = {
    linear: [["factor"]],
    dynamic: [["factor"]],
    yarn: [["factor", "original_max_position_embeddings"], yarn],
    longrope: [
      ["short_factor", "long_factor", "original_max_position_embeddings"],
      ["factor", "attention_factor", "short_mscale", "long_mscale"],
    ],
    llama3: [["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]],
    proportional: [[], ["factor"]],
    ntk: [["factor"]],
    ntk_mix: [["factor", "mixed_b"]],
    ntk_alpha: [["alpha"]],
    ntk_by_parts: [["factor", "original_max_position_embeddings"], byParts],
    dynamic_yarn: [
      ["factor", "original_max_position_embeddings"],
      [...yarn, "finetuned"],
    ],
    custom: [["inv_freq"]],
  };
  const [required, optional = []] = ofType[rope_type] ?? [[]];
  const names = [...required, ...optional.filter(() => random.chance(0.25))];
  if (random.chance(0.03)) names.push(random.pick(Object.keys(keys)));
  const scaling = { rope_type };
  for (const name of names) scaling[name] = mostly(random, keys[name], { share: 0.995 });
  if (random.chance(0.01)) scaling[random.pick(["factr", "__proto__x", "toString"])] = strangeValue(random);
  return scaling;
}
