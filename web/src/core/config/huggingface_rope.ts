// Reads the RoPE of one kind of layer from a config.json: head width, base, rotated share, scaling, softmax scale.
import * as advise from "../base/advice.js";
import { type Dict, isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { quote, show } from "../base/show.js";
import type { Family } from "./family.js";
import { isArray } from "../base/typed_arrays.js";
import { positionMapAt } from "./position_map.js";
import type { ConfigDraft } from "./read_config.js";
import { checkScaling, type CheckedScaling, effectiveType } from "./scaling.js";
import type { LognScale, QueryTemperature, RopeScaling, RopeType } from "./types.js";
import { integerAt, isAbsent, numberAt, withoutAbsent } from "./values.js";

const HEAD_DIM = ["head_dim", "kv_channels", "attention_head_dim", "hidden_size_per_head"];
const LIKE_HEAD_DIM = /head_?(dim|size|width)|(dim|size|width|channels)_per_head|^d_head$|^d_kv$|^kv_channels$|^qk_/;
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

/** Names of a model's sizes. */
export const SIZE_KEYS: readonly string[] = [...HEAD_DIM, ...HIDDEN_SIZE, ...HEADS, ...MAX_LENGTH];

/** A config.json, or the part of it that describes the language model. */
export interface TextConfig {
  config: Dict;
  /** Path of `config` in the file, with a trailing dot unless it is empty. */
  path: string;
  model_type: string | undefined;
  /** The model_type of the config that this one is nested in. */
  outer?: string | undefined;
  /** Keys that the caller overrides. */
  overridden?: ReadonlySet<string>;
}

/**
 * The RoPE of a model with one kind of layer, or of one kind of several.
 *
 * @param keys the scaling, as readScaling() returns it
 * @param where path of the scaling in the config, for errors
 * @param kind for one kind of several, with the width of its heads if it differs
 */
export function readRope(
  text: TextConfig,
  family: Partial<Family>,
  keys: RopeScaling,
  where: string,
  kind?: { head_dim: number | undefined },
): ConfigDraft {
  const { config, path, model_type } = text;
  const { rope_theta, partial_rotary_factor: _, original_max_position_embeddings: own, ...scaling } = keys;
  const mla = attentionParts(text, family);
  const head_dim = kind?.head_dim ?? mla?.rope ?? headDimOf(text, family);
  const rotated = mla === undefined ? rotatedWidthOf(text, family, keys) : wholePart(text, family, keys, mla);
  // A top-level length, even the class's default (Phi-3), wins over the one in a flat scaling, but not over the one of
  // a layer type: transformers' rule.
  const top_level = integerOf(text, ["original_max_position_embeddings"]) ?? family.original_max_position_embeddings;
  const original = kind === undefined ? (top_level ?? own) : (own ?? top_level);
  const isHalf = config["rope_interleave"] === false || config["rope_interleave"] === null;
  return withoutAbsent({
    model_type,
    head_dim,
    pairing: family.pairing === "interleaved_to_half" && isHalf ? "half" : family.pairing,
    rope_theta: rope_theta ?? thetaOf(text, family),
    ...rotated,
    max_position_embeddings:
      integerOf(text, [...(family.length_key === undefined ? [] : [family.length_key]), ...MAX_LENGTH]) ??
      family.max_position_embeddings,
    original_max_position_embeddings: original,
    rope_scaling: withAxes(
      checkScaling(scaling, path + where),
      family,
      rotatedPairs(head_dim, rotated, keys),
      path + where,
    ),
    softmax_scale: mla?.softmax_scale ?? softmaxScaleOf(text, family, head_dim),
    logn: lognOf(text),
    ...dualChunkOf(text),
    ...ownMapOf(text),
    query_temperature: family.no_rope_temperature ? noRopeTemperature(text) : undefined,
    rotates_last: family.rotates_last,
    reversed: family.reversed,
  });
}

/** Qwen v1's log-n scaling past `seq_length`. */
function lognOf(text: TextConfig): LognScale | undefined {
  const length = text.config["use_logn_attn"] === true ? integerOf(text, ["seq_length"]) : undefined;
  return text.model_type === "qwen" && length !== undefined ? { length } : undefined;
}

/**
 * Dual Chunk Attention of Qwen2.5-1M and Qwen3-2507, which vLLM applies and transformers ignores. vLLM scales scores beyond the original length by the
 * length of the prompt, in its keys and queries. Here the position of the query decides, so that a text can be read in parts.
 */
function dualChunkOf({ config, path }: TextConfig): Pick<ConfigDraft, "position_map" | "logn"> {
  const key = "dual_chunk_attention_config",
    given = config[key];
  if (isAbsent(given)) return {};
  if (!isDict(given)) return fail("INVALID_CONFIG", path + key, "must be an object or null");
  const numberOf = (name: string, absent: number): number =>
    isAbsent(given[name]) ? absent : integerAt(given[name], `${path}${key}.${name}`);
  const length = numberOf("original_max_position_embeddings", 0);
  return {
    position_map: {
      type: "dual_chunk",
      chunk_size: numberOf("chunk_size", 8192), // vLLM's defaults
      local_size: numberOf("local_size", 1024),
    },
    ...(length > 0 && { logn: { length, scale: 0.1, power: 2 } }),
  };
}

/** This package's own key, which wins over another system's. */
function ownMapOf({ config, path }: TextConfig): Pick<ConfigDraft, "position_map"> {
  const key = "position_map";
  return isAbsent(config[key]) ? {} : { position_map: positionMapAt(config[key], path + key) };
}

interface AttentionParts {
  rope: number;
  nope?: number;
  softmax_scale?: number;
}

/** DeepSeek's two parts of a head: only the rope part is rotated, and the softmax scale is of both widths. */
function attentionParts(text: TextConfig, family: Partial<Family>): AttentionParts | undefined {
  const known = family.pairing !== undefined;
  const rope = integerOf(text, ["qk_rope_head_dim"]);
  if (rope === undefined || (known && !family.mla)) return undefined;
  const nope = integerOf(text, ["qk_nope_head_dim"]);
  const given = integerOf(text, ["head_dim"]);
  const whole =
    family.mla === "head_dim" ? rope : family.mla === "share" && !family.layers ? rope + (nope ?? 0) : given;
  if (given !== undefined && given !== whole && !text.overridden?.has("head_dim")) {
    const message = `is ${given}, but must be ${whole} as qk_rope_head_dim is ${rope}`;
    fail("INVALID_CONFIG", `${text.path}head_dim`, message, advise.other("leave it out"));
  }
  return nope === undefined ? { rope } : { rope, nope, softmax_scale: 1 / Math.sqrt(nope + rope) };
}

function headDimOf(text: TextConfig, family: Partial<Family>): number | undefined {
  const { head_dim_key } = family;
  const given = integerOf(text, head_dim_key === undefined ? HEAD_DIM : ["head_dim", head_dim_key]);
  if (given === undefined && family.head_dim !== undefined && isDefault(text, head_dim_key)) return family.head_dim;
  const derived = derivedHeadDim(text, family);
  if (family.derives_head_dim && given !== undefined && derived !== undefined && given !== derived) {
    const message = `of ${show(text.model_type)} isn't read by its class, whose heads are ${derived} wide`;
    if (!text.overridden?.has("head_dim"))
      fail("INVALID_CONFIG", `${text.path}head_dim`, message, advise.override({ key: "head_dim" }));
  }
  if (family.pairing === undefined && !text.overridden?.has("head_dim")) checkHeadDim(text, given ?? derived);
  return given ?? derived;
}

/** As in transformers: an absent head_dim means the class's default, null means derived. */
function isDefault({ config }: TextConfig, key = "head_dim"): boolean {
  return config["head_dim"] === undefined && config[key] === undefined;
}

/**
 * In a family that this package doesn't know, the width of a head may be under any name, or derived in another way. So
 * it is only used if nothing in the config looks like another one.
 */
function checkHeadDim({ config, path }: TextConfig, head_dim: number | undefined): void {
  if (!isAbsent(config["head_dim"])) return; // transformers' own name
  const other = Object.entries(config).find(
    ([key, value]) => LIKE_HEAD_DIM.test(key) && typeof value === "number" && value !== head_dim,
  );
  if (other === undefined || head_dim === undefined) return;
  const [key, value] = other;
  fail(
    "INVALID_CONFIG",
    `${path}head_dim`,
    `could be ${head_dim} or ${show(value)} (${quote(key)}) in a family that isn't known`,
    advise.override({ key: "head_dim" }),
  );
}

function derivedHeadDim(text: TextConfig, family: Partial<Family>): number | undefined {
  const hidden = integerOf(text, HIDDEN_SIZE) ?? classDefaultsOf(text, family).hidden_size;
  const heads = queryHeadsOf(text, family);
  if (hidden === undefined || heads === undefined || heads === 0) return undefined;
  return Math.floor((hidden * (family.head_dim_times ?? 1)) / heads);
}

/** The number of query heads, if the config or its class defines it. */
export function queryHeadsOf(text: TextConfig, family: Partial<Family>): number | undefined {
  return integerOf(text, HEADS) ?? classDefaultsOf(text, family).num_attention_heads;
}

/** Nested configs (LLaVA's) only have the keys that differ from the class's defaults. */
function classDefaultsOf({ path }: TextConfig, family: Partial<Family>): Partial<Family> {
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

type RotatedWidth = Pick<ConfigDraft, "rotary_dim" | "partial_rotary_factor">;

/** The rotated share of a head that the file names, where the class reads it. */
function shareOf(text: TextConfig, family: Partial<Family>, keys: RopeScaling): number | undefined {
  const own_key = family.partial_key === undefined ? undefined : numberOf(text, [family.partial_key]);
  if (!readsPartial(family, effectiveType(keys))) return own_key;
  const top = family.share_in_parameters ? undefined : numberOf(text, ["partial_rotary_factor"]);
  const isByKind = family.layers !== undefined && !family.reads_flat_parameters && effectiveType(keys) !== "default";
  if (isByKind && keys.partial_rotary_factor === undefined && top !== undefined && top !== 1) {
    // In transformers, it depends on the order of the kinds which of them take it.
    const message = `belongs to a kind of layer in the rope_parameters of ${show(text.model_type)}`;
    fail("INVALID_CONFIG", `${text.path}partial_rotary_factor`, message);
  }
  return keys.partial_rotary_factor ?? top ?? own_key;
}

/** The separate part of a head in DeepSeek-style attention, all of which is rotated: transformers fails at a share of it. */
function wholePart(text: TextConfig, family: Partial<Family>, keys: RopeScaling, mla: AttentionParts): RotatedWidth {
  const share = shareOf(text, family, keys);
  // that of Mistral 4 is the part's share of both parts, and that of Dots 3 Note, whose layers differ, of head_dim
  const head = family.layers ? integerOf(text, ["head_dim"]) : (mla.nope ?? 0) + mla.rope;
  const ofHead = mla.rope / (head ?? mla.rope);
  if (share === undefined || share === 1 || (family.mla === "share" && Math.trunc(share / ofHead + 1e-9) === 1))
    return {};
  const message = `is ${share}, but all of qk_rope_head_dim is rotated in DeepSeek-style attention`;
  return fail("INVALID_CONFIG", `${text.path}partial_rotary_factor`, message, advise.other("leave it out"));
}

function rotatedWidthOf(text: TextConfig, family: Partial<Family>, keys: RopeScaling): RotatedWidth {
  if (family.rotates_last) {
    if (effectiveType(keys) === "proportional") {
      const message = `can't be proportional in ${show(text.model_type)}, which rotates the end of a head`;
      fail("UNSUPPORTED_ROPE_TYPE", `${text.path}rope_parameters.rope_type`, message);
    }
  }
  const given = shareOf(text, family, keys);
  const rotated = family.rotates_last && given === undefined ? integerOf(text, ["qk_rope_head_dim"]) : undefined;
  if (rotated !== undefined) return { rotary_dim: rotated };
  const rotary_dim = readsRotaryDim(family) ? integerOf(text, ["rotary_dim"]) : undefined;
  if (family.ignores_rotary_dim) {
    const isChosen = text.overridden?.has("partial_rotary_factor") || text.overridden?.has("rotary_dim");
    if (rotary_dim !== undefined && given === undefined && !isChosen) failUnread(text, "rotary_dim");
    return given === undefined ? {} : { partial_rotary_factor: given };
  }
  if (rotary_dim !== undefined || given !== undefined) {
    return {
      ...(rotary_dim !== undefined && { rotary_dim }),
      ...(given !== undefined && { partial_rotary_factor: given }),
    };
  }
  if (family.rotary_dim !== undefined && text.config["rotary_dim"] === undefined)
    return { rotary_dim: family.rotary_dim };
  // Where layers differ, the functions of the scaling types don't know it (MiMo-V2).
  const share =
    family.layers && !family.rotates_last && effectiveType(keys) !== "default"
      ? undefined
      : family.partial_rotary_factor;
  return share === undefined ? {} : { partial_rotary_factor: share };
}

/**
 * Whether a class takes the rotated share of its heads from the file. transformers' functions of the scaling types all
 * do, and the classes have functions of their own for the type `default`. A family that isn't known may.
 */
export function readsPartial(family: Partial<Family>, type: RopeType): boolean {
  if (type !== "default" || family.pairing === undefined) return true;
  const ofKinds = Object.values(family.layers ?? {}).some((layer) => layer.partial_rotary_factor !== undefined);
  return family.reads_partial ?? (family.partial_rotary_factor !== undefined || ofKinds);
}

function readsRotaryDim(family: Partial<Family>): boolean {
  if (family.pairing === undefined || family.ignores_rotary_dim) return true;
  return family.reads_rotary_dim === true || family.rotary_dim !== undefined;
}

/** @throws INVALID_CONFIG for a key of the file that the family's class doesn't read */
export function failUnread({ path, model_type }: TextConfig, key: string): never {
  const message = `isn't read by the class of ${show(model_type)}`;
  return fail(
    "INVALID_CONFIG",
    path + key,
    message,
    advise.either(advise.other("leave it out"), advise.override({ key })),
  );
}

function rotatedPairs(
  head_dim = 0,
  { rotary_dim, partial_rotary_factor = 1 }: RotatedWidth,
  keys: RopeScaling,
): number {
  const share = effectiveType(keys) === "proportional" ? 1 : partial_rotary_factor;
  return Math.trunc(rotary_dim ?? head_dim * share) / 2;
}

/**
 * Adds what transformers has in the family's code: the layout of the position axes, and the sections if none are
 * given.
 */
function withAxes(scaling: CheckedScaling, { mrope }: Partial<Family>, pairs: number, path: string): CheckedScaling {
  const own = mrope?.section?.reduce((a, b) => a + b, 0) === pairs ? mrope.section : undefined;
  const section = scaling.mrope_section ?? own;
  if (section === undefined) return scaling;
  const { mrope_interleaved: flag, ...rest } = scaling;
  const layout = scaling.mrope_layout ?? mrope?.layout ?? (flag ? "interleaved" : "chunked");
  if (flag !== undefined && flag !== (layout === "interleaved")) {
    fail("INVALID_CONFIG", `${path}.mrope_interleaved`, `is ${flag}, but the sections of this family are ${layout}`);
  }
  return { ...rest, mrope_section: [...section], mrope_layout: layout };
}

function softmaxScaleOf(
  text: TextConfig,
  { softmax }: Partial<Family>,
  head_dim: number | undefined,
): number | undefined {
  if (softmax === undefined || typeof softmax === "number") return softmax;
  if ("share" in softmax) return head_dim === undefined ? undefined : 1 / Math.sqrt(head_dim * softmax.share);
  const value = numberOf(text, [softmax.key]) ?? softmax.default;
  return value === undefined ? undefined : value ** softmax.power;
}

/** Llama 4's temperature is only for layers without RoPE, so it is never applied to rotated queries. */
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

/** A list in the config; empty if it is absent. @throws INVALID_CONFIG for another value */
export function listOf({ config, path }: TextConfig, name: string): readonly unknown[] {
  const list = config[name] ?? [];
  return isArray(list) ? list : fail("INVALID_CONFIG", path + name, "must be a list");
}
