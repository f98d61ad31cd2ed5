// Warnings about configs that are valid but probably wrong.
import type { FlatRopeConfig } from "../config/flatten.js";
import { BY_LENGTH } from "../config/rope_fields.js";
import { longestWithin, swappedNumbers } from "../config/position_map.js";
import { hasRamp, hasRatio } from "../config/scaling.js";
import { COMPATS, type RopeConfig, ROPE_TYPES } from "../config/types.js";
import { YARN_FAMILIES } from "../config/yarn_families.js";
import type { FrequencyPlan } from "./plan.js";

/**
 * What is allowed in a config, but looks like a mistake or may be unexpected. Sources: transformers' modeling_rope_utils, llama.cpp, vLLM.
 * @internal
 */
export function warningsOf(config: RopeConfig, flat: FlatRopeConfig, plan: FrequencyPlan, seqLen: number): string[] {
  const swapped = swappedNumbers(config.position_map);
  return [
    ...lengthWarnings(config, flat, plan, seqLen),
    ...(swapped === undefined ? [] : [swapped]),
    ...yarnWarnings(flat),
    ...compatWarnings(flat),
  ];
}

/** The sequence lengths that a plan is valid for, in words. @internal */
export function validLengths({ valid_from, valid_to }: FrequencyPlan): string {
  if (valid_to === Infinity) return valid_from > 1 ? `lengths from ${valid_from}` : "every length";
  return valid_from === valid_to ? `length ${valid_to} only` : `lengths up to ${valid_to}`;
}

function* lengthWarnings(
  config: RopeConfig,
  flat: FlatRopeConfig,
  plan: FrequencyPlan,
  seqLen: number,
): Generator<string> {
  const type = ROPE_TYPES[flat.rope_type]!;
  const { factor, max_position_embeddings: max, original_max_position_embeddings: original } = flat;
  // The factor of llama3 isn't a ratio of lengths: Llama 3.1 ships 8 for 131072 over 8192.
  const served = hasRatio(type) && factor !== undefined && original !== undefined ? Math.round(factor * original) : max;
  const isUnraised = max !== undefined && max === original && max !== served;
  if (isUnraised) {
    yield `max_position_embeddings is still ${max}, the length before extension; factor ${factor} is for ${served}`;
  } else if (max !== undefined && max !== served) {
    yield `factor ${factor} is for ${served} positions (original length ${original}), but max_position_embeddings is ${max}`;
  }
  const theta = config.rope_theta ?? config.rope_scaling?.rope_theta ?? config.rope_parameters?.rope_theta;
  if (theta === undefined && type !== "custom") yield "rope_theta is not given; using 10000";
  const limit = isUnraised ? served! : plan.max_length;
  if (plan.max_length > 0 && seqLen > longestWithin(config.position_map, limit)) {
    yield `a sequence of ${seqLen} is longer than the ${limit} positions that the config allows`;
  }
  if (plan.valid_to < Infinity || plan.valid_from > 1) {
    yield `these frequencies hold for ${validLengths(plan)}; keys cached with other frequencies must be re-rotated`;
  }
  if (hasRamp(type) && !BY_LENGTH.includes(type) && original !== undefined && seqLen <= original) {
    yield `${type} is static: sequences within the original ${original} positions are scaled too (dynamic_yarn doesn't scale them)`;
  }
}

function* yarnWarnings(flat: FlatRopeConfig): Generator<string> {
  const { beta_fast, beta_slow, mscale, mscale_all_dim } = flat;
  if (beta_fast !== undefined && beta_fast === beta_slow && beta_fast !== 0) {
    yield `beta_fast and beta_slow are both ${beta_fast}: the ramp is a step`;
  }
  if ((mscale ?? 0) !== 0 && (mscale_all_dim ?? 0) === 0)
    yield "mscale without mscale_all_dim has no effect in transformers";
}

function* compatWarnings(flat: FlatRopeConfig): Generator<string> {
  const type = ROPE_TYPES[flat.rope_type]!;
  const compat = COMPATS[flat.compat]!;
  if (compat === "hf") {
    if (flat.attn_factor !== undefined) yield "attn_factor is not read by transformers; compat llama.cpp reads it";
    return;
  }
  const isDeepseek = flat.family === YARN_FAMILIES.indexOf("deepseek");
  const ignores = type === "yarn" ? compat === "llama.cpp" || isDeepseek : type === "longrope" && compat === "vllm";
  if (flat.attention_factor !== undefined && ignores) yield `attention_factor is not read by ${compat}`;
  if (type === "longrope") yield `${compat} chooses longrope's list once, by context_length, not for each sequence`;
  if (compat === "vllm") {
    if (type === "dynamic")
      yield "vllm's dynamic scaling scales nothing without its own key max_trained_positions: frequencies are unscaled";
    for (const key of ["attn_factor", "extrapolation_factor"] as const)
      if (flat[key] !== undefined) yield `${key} is not read by vllm`;
    if (type === "yarn" && flat.truncate === false && isDeepseek)
      yield "vllm always rounds the correction range of this family, so truncate has no effect";
    if (type === "proportional" && (flat.factor ?? 1) !== 1) yield "factor is not read by vllm";
    return;
  }
  if (type === "dynamic") yield "llama.cpp has no dynamic scaling: frequencies are unscaled at every length";
  if (type === "yarn" && flat.truncate === false)
    yield "llama.cpp always rounds the correction range, so truncate has no effect";
  const readsBetas = flat.family >= 2; // mistral, grok
  const givesBetas = (flat.beta_fast ?? 32) !== 32 || (flat.beta_slow ?? 1) !== 1;
  if (type === "yarn" && givesBetas && !readsBetas)
    yield "llama.cpp does not read the betas of this family; it uses 32 and 1";
}
