import type { FlatRopeConfig } from "./config/flatten.js";
import { COMPATS, type RopeConfig, ROPE_TYPES } from "./config/types.js";
import type { FrequencyPlan } from "./plan.js";

/**
 * What in a config is allowed but looks like a mistake, or will surprise. Sources: transformers' modeling_rope_utils, llama.cpp, vLLM.
 * @internal
 */
export function warningsOf(config: RopeConfig, flat: FlatRopeConfig, plan: FrequencyPlan, seqLen: number): string[] {
  return [...lengthWarnings(config, flat, plan, seqLen), ...yarnWarnings(flat), ...compatWarnings(flat)];
}

function* lengthWarnings(config: RopeConfig, flat: FlatRopeConfig, plan: FrequencyPlan, seqLen: number): Generator<string> {
  const type = ROPE_TYPES[flat.rope_type]!;
  const { factor, max_position_embeddings: max, original_max_position_embeddings: original } = flat;
  if (factor !== undefined && max !== undefined && original !== undefined && Math.abs(factor - max / original) > 1e-6 * factor) {
    yield `factor ${factor} is not max_position_embeddings / original_max_position_embeddings = ${max} / ${original} = ${round(max / original)}`;
  }
  const theta = config.rope_theta ?? config.rope_scaling?.rope_theta ?? config.rope_parameters?.rope_theta;
  if (theta === undefined && type !== "custom") yield "rope_theta is not given: 10000 is taken";
  if (plan.max_length > 0 && seqLen > plan.max_length) {
    yield `a sequence of ${seqLen} is longer than the ${plan.max_length} positions that the model is said to serve`;
  }
  if (plan.valid_to < Infinity || plan.valid_from > 1) {
    yield `these frequencies hold for sequences of ${plan.valid_from} to ${plan.valid_to} positions; keys cached under others must be re-rotated`;
  }
  if ((type === "yarn" || type === "ntk_by_parts") && original !== undefined && seqLen <= original) {
    yield `${type} is static: sequences within the original ${original} positions are scaled too (dynamic_yarn leaves them alone)`;
  }
}

function* yarnWarnings(flat: FlatRopeConfig): Generator<string> {
  const { beta_fast, beta_slow, mscale, mscale_all_dim } = flat;
  if (beta_fast !== undefined && beta_fast === beta_slow && beta_fast !== 0) {
    yield `beta_fast and beta_slow are both ${beta_fast}: the ramp is a step`;
  }
  if ((mscale ?? 0) !== 0 && (mscale_all_dim ?? 0) === 0) yield "mscale without mscale_all_dim has no effect in transformers";
}

function* compatWarnings(flat: FlatRopeConfig): Generator<string> {
  const type = ROPE_TYPES[flat.rope_type]!;
  const compat = COMPATS[flat.compat]!;
  if (compat === "hf") {
    if (flat.attn_factor !== undefined) yield "attn_factor is not read by transformers; compat vllm or llama.cpp reads it";
    return;
  }
  if (flat.attention_factor !== undefined && type === "yarn") yield `attention_factor is not read by ${compat}`;
  if (type === "longrope") yield `${compat} chooses longrope's list once, by context_length, and not by each sequence`;
  if (compat === "vllm") {
    if (type === "dynamic") yield "vllm's dynamic scaling is static, as if every sequence were factor · max_position_embeddings long";
    return;
  }
  if (type === "dynamic") yield "llama.cpp has no dynamic scaling: plain frequencies at every length";
  if (type === "yarn" && flat.truncate === false) yield "llama.cpp always rounds the correction range: truncate has no effect";
  const readsBetas = flat.family >= 2; // mistral, grok
  const givesBetas = (flat.beta_fast ?? 32) !== 32 || (flat.beta_slow ?? 1) !== 1;
  if (type === "yarn" && givesBetas && !readsBetas) yield "llama.cpp does not read this family's betas: 32 and 1 are taken";
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}
