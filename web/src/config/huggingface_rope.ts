import { fail } from "../base/errors.js";
import { integerAt, isAbsent, isDict, numberAt, withoutAbsent, type Dict } from "./check.js";
import type { Draft } from "./draft.js";
import type { Family } from "./family.js";
import { settleScaling, type SettledScaling } from "./scaling.js";
import type { QueryTemperature, RopeScaling } from "./types.js";

const HEAD_DIM = ["head_dim", "kv_channels", "attention_head_dim", "hidden_size_per_head"];
const HIDDEN_SIZE = ["hidden_size", "n_embd", "n_embed", "d_model"];
const HEADS = ["num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_num_attention_heads"];
const MAX_LENGTH = [
  "max_position_embeddings",
  "n_positions",
  "max_seq_len",
  "seq_length",
  "max_sequence_length",
  "model_max_length",
];

/** A config.json, or the part of one that describes the language model. */
export interface TextConfig {
  config: Dict;
  /** Path of `config` in the file, with a dot at its end where it is not empty. */
  path: string;
  model_type: string | undefined;
}

/**
 * The draft of a model whose layers are all alike, or of one kind of layer.
 *
 * @param keys the scaling, with its legacy names folded
 * @param where path of the scaling in the config, for errors
 * @param kind given for a kind of layer, with the width of its heads where that is its own
 */
export function draftOf(
  text: TextConfig,
  family: Partial<Family>,
  keys: RopeScaling,
  where: string,
  kind?: { head_dim: number | undefined },
): Draft {
  const { config, path, model_type } = text;
  const { rope_theta, partial_rotary_factor, original_max_position_embeddings: own, ...scaling } = keys;
  const mla = attentionParts(text, family);
  const head_dim = kind?.head_dim ?? mla?.rope ?? headDimOf(text, family);
  const rotated = rotatedOf(text, family, partial_rotary_factor, mla !== undefined);
  // The file's own length wins over a flat dict's and not over a layer type's: transformers' rule for Phi-3.
  const beside = integerOf(text, ["original_max_position_embeddings"]);
  const original = kind === undefined ? (beside ?? own) : (own ?? beside);
  return withoutAbsent({
    model_type,
    head_dim,
    pairing: family.pairing === "interleaved_to_half" && config["rope_interleave"] === false ? "half" : family.pairing,
    rope_theta: rope_theta ?? thetaOf(text, family),
    ...rotated,
    max_position_embeddings: integerOf(text, MAX_LENGTH),
    original_max_position_embeddings: original ?? family.original_max_position_embeddings,
    rope_scaling: withSections(
      settleScaling(scaling, path + where),
      family,
      rotatedPairs(head_dim, rotated),
      path + where,
    ),
    softmax_scale: mla?.softmax_scale ?? softmaxScaleOf(text, family),
    query_temperature: family.no_rope_temperature ? noRopeTemperature(text) : undefined,
  });
}

/** DeepSeek's split of a head: only the rope part rotates, and the softmax scale counts both. */
function attentionParts(
  text: TextConfig,
  family: Partial<Family>,
): { rope: number; softmax_scale?: number } | undefined {
  const known = family.pairing !== undefined;
  const rope = integerOf(text, ["qk_rope_head_dim"]);
  if (rope === undefined || (known && !family.mla)) return undefined;
  const nope = integerOf(text, ["qk_nope_head_dim"]);
  return nope === undefined ? { rope } : { rope, softmax_scale: 1 / Math.sqrt(nope + rope) };
}

function headDimOf(text: TextConfig, family: Partial<Family>): number | undefined {
  const given = integerOf(text, HEAD_DIM);
  if (given !== undefined) return given;
  // As in transformers: left out means the class's own value, null means derived.
  if (family.head_dim !== undefined && text.config["head_dim"] === undefined) return family.head_dim;
  const hidden = integerOf(text, HIDDEN_SIZE) ?? classOf(text, family).hidden_size;
  const heads = queryHeadsOf(text, family);
  return hidden === undefined || heads === undefined || heads === 0 ? undefined : Math.floor(hidden / heads);
}

/** The number of query heads, where the config or its class tells it. */
export function queryHeadsOf(text: TextConfig, family: Partial<Family>): number | undefined {
  return integerOf(text, HEADS) ?? classOf(text, family).num_attention_heads;
}

/** Nested configs (LLaVA's) are written as differences from the class. */
function classOf({ path }: TextConfig, family: Partial<Family>): Partial<Family> {
  return path === "" ? {} : family;
}

function thetaOf({ config, path }: TextConfig, family: Partial<Family>): number {
  const keys = [...new Set(["rope_theta", family.theta_key ?? "rope_theta"])];
  const given = keys.flatMap((key) => {
    const value = key.split(".").reduce<unknown>((at, name) => (isDict(at) ? at[name] : undefined), config);
    return isAbsent(value) ? [] : [numberAt(value, path + key)];
  });
  if (given.length > 1 && given[0] !== given[1]) {
    fail("INVALID_CONFIG", `${path}rope_theta`, `disagrees with ${family.theta_key}`);
  }
  const theta = given[0] ?? family.rope_theta ?? 10000;
  const ratio = config["rope_ratio"]; // ChatGLM and the long versions of GLM-4
  return isAbsent(ratio) ? theta : theta * numberAt(ratio, `${path}rope_ratio`);
}

type Rotated = Pick<Draft, "rotary_dim" | "partial_rotary_factor">;

function rotatedOf(text: TextConfig, family: Partial<Family>, factor: number | undefined, mla: boolean): Rotated {
  if (mla) return {};
  if (family.rotates_last) {
    const rotary_dim = integerOf(text, ["qk_rope_head_dim"]);
    if (rotary_dim !== undefined) return { rotary_dim };
  }
  const rotary_dim = integerOf(text, ["rotary_dim"]);
  const given =
    factor ?? numberOf(text, ["partial_rotary_factor", ...(family.partial_key ? [family.partial_key] : [])]);
  if (rotary_dim !== undefined || given !== undefined) {
    return {
      ...(rotary_dim !== undefined && { rotary_dim }),
      ...(given !== undefined && { partial_rotary_factor: given }),
    };
  }
  if (family.rotary_dim !== undefined && text.config["rotary_dim"] === undefined)
    return { rotary_dim: family.rotary_dim };
  return family.partial_rotary_factor === undefined ? {} : { partial_rotary_factor: family.partial_rotary_factor };
}

function rotatedPairs(head_dim: number | undefined, { rotary_dim, partial_rotary_factor }: Rotated): number {
  return Math.trunc(rotary_dim ?? (head_dim ?? 0) * (partial_rotary_factor ?? 1)) / 2;
}

/** Gives sections their layout, which transformers keeps in the family's code, and a family its own sections. */
function withSections(
  scaling: SettledScaling,
  { mrope }: Partial<Family>,
  pairs: number,
  path: string,
): SettledScaling {
  const own = mrope?.section?.reduce((a, b) => a + b, 0) === pairs ? mrope.section : undefined;
  const section = scaling.mrope_section ?? own;
  if (section === undefined) return scaling;
  const { mrope_interleaved: flag, ...rest } = scaling;
  const layout = scaling.mrope_layout ?? mrope?.layout ?? (flag ? "interleaved" : "chunked");
  if (flag !== undefined && flag !== (layout === "interleaved")) {
    fail("INVALID_CONFIG", `${path}.mrope_interleaved`, `is ${flag}, but this family's sections are ${layout}`);
  }
  return { ...rest, mrope_section: [...section], mrope_layout: layout };
}

function softmaxScaleOf(text: TextConfig, { softmax }: Partial<Family>): number | undefined {
  if (softmax === undefined || typeof softmax === "number") return softmax;
  return (numberOf(text, [softmax.key]) ?? softmax.default) ** softmax.power;
}

/** Llama 4: only on the layers without RoPE, so these never meet a rotation. */
function noRopeTemperature(text: TextConfig): QueryTemperature | undefined {
  const tuning = text.config["attn_temperature_tuning"];
  if (tuning === false || tuning === 0) return undefined;
  return {
    scale: numberOf(text, ["attn_scale"]) ?? 0.1,
    floor_scale: numberOf(text, ["floor_scale"]) ?? 8192,
    offset: 1,
    layers: "no_rope",
  };
}

function numberOf(text: TextConfig, names: readonly string[], at = numberAt): number | undefined {
  const name = names.find((name) => !isAbsent(text.config[name]));
  return name === undefined ? undefined : at(text.config[name], text.path + name);
}

export function integerOf(text: TextConfig, names: readonly string[]): number | undefined {
  return numberOf(text, names, integerAt);
}

/** A list of the config; empty where there is none. */
export function listOf(config: Dict, name: string): readonly unknown[] {
  return Array.isArray(config[name]) ? config[name] : [];
}
