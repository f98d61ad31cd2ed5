import { fail, integerAt, isAbsent, isDict, numberAt, sameValue, stringAt, withoutAbsent, type Dict } from "./check.js";
import { checkSharedKind, chooseKind, COMMON_KINDS, type Draft, type LayerKind, type ModelRope } from "./draft.js";
import { familyOf } from "./find_family.js";
import type { Family, LayerRope } from "./family.js";
import { readScaling, settleScaling, type SettledScaling } from "./scaling.js";
import type { Pairing, QueryTemperature, RopeScaling } from "./types.js";

/** Names under which multimodal configs keep their language model. */
const TEXT_CONFIGS = ["text_config", "llm_config", "language_config", "thinker_config"];

const HEAD_DIM = ["head_dim", "kv_channels", "attention_head_dim", "hidden_size_per_head"];
const HIDDEN_SIZE = ["hidden_size", "n_embd", "n_embed", "d_model"];
const HEADS = ["num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_num_attention_heads"];
const MAX_LENGTH = ["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length", "model_max_length"];

/** A config.json, or the part of one that describes the language model. */
export interface TextConfig {
  config: Dict;
  /** Path of `config` in the file, with a dot at its end where it is not empty. */
  path: string;
  model_type: string | undefined;
}

/** Finds the language model in a config.json: the file itself, or one of its nested configs. */
export function textConfigOf(source: Dict, path = "", outer?: string): TextConfig {
  const model_type = isAbsent(source["model_type"]) ? outer : stringAt(source["model_type"], `${path}model_type`);
  const nested = TEXT_CONFIGS.find((name) => isDict(source[name]));
  if (nested === undefined) return { config: source, path, model_type };
  return textConfigOf(source[nested] as Dict, `${path}${nested}.`, model_type);
}

/**
 * Reads the RoPE of a Hugging Face config.json, of transformers 5 (`rope_parameters`) or before (`rope_scaling`),
 * with the legacy spellings of the released models. Null counts as absent.
 *
 * @param pairing the caller's own, for families this package does not know
 * @throws UNKNOWN_FAMILY, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, INVALID_ARGUMENT (layer_type)
 */
export function readHuggingFace(source: Dict, layer_type: string | undefined, pairing: Pairing | undefined): ModelRope {
  const text = textConfigOf(source);
  const family = familyOf("hf", text.model_type, pairing);
  refuseOtherEmbeddings(text.config);
  const { rope_scaling, rope_parameters } = text.config;
  const namesKind = kindsOf(text.config, family);
  const nested = [rope_parameters, rope_scaling].find((dict): dict is Dict => isDict(dict) && Object.keys(dict).some((key) => namesKind(key) && isDict(dict[key])));
  const flat = [rope_scaling, rope_parameters].filter((dict) => !isAbsent(dict) && dict !== nested);
  const flatName = flat[0] === rope_parameters ? "rope_parameters" : "rope_scaling";
  const shared = flat
    .map((dict) => readScaling(dict, text.path + (dict === rope_scaling ? "rope_scaling" : "rope_parameters")))
    .reduce((a, b) => agreeing(a, b, `${text.path}rope_parameters`), {});

  if (nested === undefined && family.layers === undefined) {
    checkSharedKind(layer_type, listOf(text.config, "layer_types"), slidingOnly(text.config, family));
    const keys = flat.length > 0 ? shared : (family.rope_scaling ?? shared);
    return { family, draft: draftOf(text, family, withDynamicNtk(keys, text.config), flatName) };
  }
  const kinds = layerKinds(text, family, nested ?? {}, shared, flatName);
  return { family, draft: chooseKind(kinds, layer_type) };
}

/** Whether RoPE is on the sliding layers only: EXAONE 4 without a window rotates in all of them. */
export function slidingOnly(config: Dict, family: Partial<Family>): boolean {
  return family.sliding_only === true && config["sliding_window"] !== null;
}

function refuseOtherEmbeddings(config: Dict): void {
  if (config["alibi"] === true) fail("INVALID_CONFIG", "alibi", "this model has ALiBi and no rotary position embedding");
  const kind = config["position_embedding_type"];
  if (typeof kind === "string" && kind !== "rope" && kind !== "rotary") {
    fail("INVALID_CONFIG", "position_embedding_type", `"${kind}" is not a rotary position embedding`);
  }
}

/**
 * Tells the names of kinds of layer from keys of scaling, in the rope_parameters of a model whose layers differ. Under
 * each stands a dict, or null where that kind carries no RoPE.
 */
function kindsOf(config: Dict, family: Partial<Family>): (key: string) => boolean {
  const names = new Set([...COMMON_KINDS, ...listOf(config, "layer_types"), ...Object.keys(family.layers ?? {})]);
  return (key) => names.has(key);
}

/** The keys of two dicts that describe the same scaling: what both say must be the same. */
function agreeing(a: RopeScaling, b: RopeScaling, path: string): RopeScaling {
  for (const [key, value] of Object.entries(b)) {
    if (key in a && !sameValue(a[key as keyof RopeScaling], value)) {
      fail("INVALID_CONFIG", `${path}.${key}`, "disagrees with rope_scaling");
    }
  }
  return { ...a, ...b };
}

/**
 * Qwen v1's own spelling. Its base is 2^⌈log₂(L/M) + 1⌉ − 1 times stretched, which is transformers' dynamic scaling of
 * factor 2 with L rounded up to M times a power of two.
 */
function withDynamicNtk(keys: RopeScaling, config: Dict): RopeScaling {
  if (config["use_dynamic_ntk"] !== true || keys.rope_type !== undefined) return keys;
  return { ...keys, rope_type: "dynamic", factor: 2 };
}

function layerKinds(
  text: TextConfig,
  family: Partial<Family>,
  nested: Dict,
  shared: RopeScaling,
  flatName: string,
): Map<string, LayerKind> {
  const namesKind = kindsOf(text.config, family);
  // Keys beside the kinds are leftovers of conversions; transformers ignores them. Checked all the same.
  readScaling(Object.fromEntries(Object.entries(nested).filter(([key]) => !namesKind(key))), `${text.path}rope_parameters`);
  if (Object.keys(shared).length > 0 && !Object.values(family.layers ?? {}).some((layer) => layer.scaled)) {
    fail("INVALID_CONFIG", text.path + flatName, "is given beside rope_parameters by layer type, and belongs to none of them");
  }
  const names = new Set([...Object.keys(nested).filter(namesKind), ...Object.keys(family.layers ?? {})]);
  const layer_types = listOf(text.config, "layer_types");
  const listed = [...names].some((name) => layer_types.includes(name));
  return new Map([...names].map((name): [string, LayerKind] => {
    const present = !listed || layer_types.includes(name);
    if (nested[name] === null) return [name, { draft: null, present }];
    return [name, { draft: kindDraft(text, family, name, nested[name], shared, flatName), present }];
  }));
}

function kindDraft(
  text: TextConfig,
  family: Partial<Family>,
  name: string,
  dict: unknown,
  shared: RopeScaling,
  flatName: string,
): Draft {
  const where = isAbsent(dict) ? flatName : `rope_parameters.${name}`;
  // transformers reads YaRN's truncate beside the layer types, where no file has it, so it never holds here.
  const { truncate: _, ...own }: RopeScaling = isAbsent(dict) ? {} : readScaling(dict, text.path + where);
  const layer: Partial<LayerRope> = family.layers?.[name] ?? {};
  const given = layer.scaled ? agreeing(own, shared, text.path + where) : own;
  const keys: RopeScaling = { ...given };
  if (isAbsent(dict)) {
    if (layer.rope_type !== undefined) keys.rope_type ??= layer.rope_type;
    if (layer.partial_rotary_factor !== undefined) keys.partial_rotary_factor ??= layer.partial_rotary_factor;
  }
  if (layer.attention_factor !== undefined && keys.rope_type === "yarn") keys.attention_factor ??= layer.attention_factor;
  const at = firstLayerOf(text.config, name);
  const partial = listOf(text.config, "partial_rotary_factors")[at];
  if (partial !== undefined) keys.partial_rotary_factor ??= numberAt(partial, `${text.path}partial_rotary_factors[${at}]`);
  const head_dim = kindHeadDim(text, layer, at);
  if (family.layers !== undefined) keys.rope_theta ??= kindTheta(text, layer, at);
  return draftOf(text, family, keys, where, head_dim);
}

function kindTheta({ config, path }: TextConfig, { theta_key, rope_theta }: Partial<LayerRope>, at: number): number {
  const given = theta_key === undefined ? undefined : config[theta_key];
  const one: unknown = Array.isArray(given) ? given[at] : given; // Step-3.5 lists a base for each layer
  return isAbsent(one) ? (rope_theta ?? 10000) : numberAt(one, path + theta_key);
}

function firstLayerOf(config: Dict, kind: string): number {
  return Math.max(0, listOf(config, "layer_types").indexOf(kind));
}

function kindHeadDim(text: TextConfig, layer: Partial<LayerRope>, at: number): number | undefined {
  const { config, path } = text;
  const per_layer = isDict(config["per_layer_config"]) ? config["per_layer_config"][String(at)] : undefined;
  if (isDict(per_layer) && !isAbsent(per_layer["head_dim"])) {
    return integerAt(per_layer["head_dim"], `${path}per_layer_config.${at}.head_dim`);
  }
  if (layer.head_dim_key === undefined) return layer.head_dim;
  return integerOf(text, [layer.head_dim_key]) ?? layer.head_dim;
}

/** The draft of one kind of layer, or of a model whose layers are all alike. */
function draftOf(
  text: TextConfig,
  family: Partial<Family>,
  keys: RopeScaling,
  where: string,
  kind_head_dim?: number,
): Draft {
  const { config, path, model_type } = text;
  const { rope_theta, partial_rotary_factor, original_max_position_embeddings, ...rest } = keys;
  const mla = attentionParts(text, family);
  const head_dim = kind_head_dim ?? mla?.rope ?? headDimOf(text, family);
  const rotated = rotatedOf(text, family, partial_rotary_factor, mla !== undefined);
  const original = integerOf(text, ["original_max_position_embeddings"]) ?? original_max_position_embeddings;
  // The length is checked against the type with the rest, then kept apart: it is the model's, whatever its scaling.
  const settled = settleScaling({ ...rest, ...(original !== undefined && { original_max_position_embeddings: original }) }, path + where);
  const { original_max_position_embeddings: _, ...rope_scaling } = settled;
  return withoutAbsent({
    model_type,
    head_dim,
    pairing: family.pairing === "interleaved_to_half" && config["rope_interleave"] === false ? "half" : family.pairing,
    rope_theta: rope_theta ?? thetaOf(text, family),
    ...rotated,
    max_position_embeddings: integerOf(text, MAX_LENGTH),
    original_max_position_embeddings: original ?? family.original_max_position_embeddings,
    rope_scaling: withSections(rope_scaling, family, rotatedPairs(head_dim, rotated), path + where),
    softmax_scale: mla?.softmax_scale ?? softmaxScaleOf(text, family),
    query_temperature: family.no_rope_temperature ? noRopeTemperature(text) : undefined,
  });
}

/** DeepSeek's split of a head: only the rope part rotates, and the softmax scale counts both. */
function attentionParts(text: TextConfig, family: Partial<Family>): { rope: number; softmax_scale?: number } | undefined {
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
  // Nested configs (LLaVA's) are written as differences from the class.
  const nested = text.path === "" ? {} : family;
  const hidden = integerOf(text, HIDDEN_SIZE) ?? nested.hidden_size;
  const heads = integerOf(text, HEADS) ?? nested.num_attention_heads;
  return hidden === undefined || heads === undefined || heads === 0 ? undefined : Math.floor(hidden / heads);
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
  const given = factor ?? numberOf(text, ["partial_rotary_factor", ...(family.partial_key ? [family.partial_key] : [])]);
  if (rotary_dim !== undefined || given !== undefined) {
    return { ...(rotary_dim !== undefined && { rotary_dim }), ...(given !== undefined && { partial_rotary_factor: given }) };
  }
  if (family.rotary_dim !== undefined && text.config["rotary_dim"] === undefined) return { rotary_dim: family.rotary_dim };
  return family.partial_rotary_factor === undefined ? {} : { partial_rotary_factor: family.partial_rotary_factor };
}

function rotatedPairs(head_dim: number | undefined, { rotary_dim, partial_rotary_factor }: Rotated): number {
  return Math.trunc(rotary_dim ?? (head_dim ?? 0) * (partial_rotary_factor ?? 1)) / 2;
}

/** Gives sections their layout, which transformers keeps in the family's code, and a family its own sections. */
function withSections(scaling: SettledScaling, { mrope }: Partial<Family>, pairs: number, path: string): SettledScaling {
  const own = mrope?.section?.reduce((a, b) => a + b, 0) === pairs ? mrope?.section : undefined;
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

function integerOf(text: TextConfig, names: readonly string[]): number | undefined {
  return numberOf(text, names, integerAt);
}

function listOf(config: Dict, name: string): readonly unknown[] {
  return Array.isArray(config[name]) ? config[name] : [];
}
