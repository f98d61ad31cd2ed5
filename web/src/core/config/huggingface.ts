// Reads the RoPE of a Hugging Face config.json.
import * as advise from "../base/advice.js";
import { type Dict, isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import type { Family, LayerRope } from "./family.js";
import { show } from "../base/show.js";
import { checkNotRefused, familyOf, nestedFamily } from "./family_lookup.js";
import { kindNames, mergeScalings, readLayerKinds } from "./huggingface_layer_kinds.js";
import { failWithoutRope } from "./no_rope.js";
import { failUnread, listOf, readRope, type TextConfig } from "./huggingface_rope.js";
import { checkSharedKind, chooseKind, kindOf } from "./layer_kinds.js";
import type { ConfigDraft } from "./read_config.js";
import { effectiveType, readScaling } from "./scaling.js";
import type { Pairing, RopeScaling } from "./types.js";
import { isArray } from "../base/typed_arrays.js";
import { isAbsent, stringAt } from "./values.js";

/** Keys of multimodal configs that hold the config of the language model. */
const TEXT_CONFIGS = [
  "text_config",
  "llm_config",
  "language_config",
  "thinker_config",
  "vlm_config",
  "decoder_config",
  "decoder",
];

/** Configs nest this deep at most: ColPali has a config of a vision language model, which has one of a text model. */
const DEEPEST = 8;

/**
 * The config of the language model in a config.json: the file itself, or a nested config.
 *
 * @throws INVALID_CONFIG; UNSUPPORTED_ROPE_TYPE for a model of several models
 */
export function textConfigOf(source: Dict): TextConfig {
  let text: TextConfig = { config: source, path: "", model_type: undefined };
  for (let depth = 0; depth < DEEPEST; ++depth) {
    const { config, path, model_type: outer } = text;
    const model_type = isAbsent(config["model_type"]) ? outer : stringAt(config["model_type"], `${path}model_type`);
    checkNotRefused("hf", model_type);
    const nested = TEXT_CONFIGS.find((name) => isDict(config[name]));
    if (nested === undefined) return { ...text, model_type };
    text = { config: config[nested] as Dict, path: `${path}${nested}.`, model_type, outer: model_type };
  }
  return fail("INVALID_CONFIG", text.path.slice(0, -1), `is nested deeper than ${DEEPEST} configs`);
}

/**
 * Reads the RoPE of a Hugging Face config.json written by transformers 5 (`rope_parameters`) or earlier
 * (`rope_scaling`), including legacy key names of released models. Null counts as absent.
 *
 * @param pairing from the caller, for families that this package doesn't know
 * @param overridden keys that the caller overrides, so that the file may leave them open
 * @throws UNKNOWN_FAMILY, UNKNOWN_KEY, UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, INVALID_ARGUMENT (layer_type)
 */
export function readHuggingFace(
  source: Dict,
  layer_type: string | undefined,
  pairing: Pairing | undefined,
  overridden: ReadonlySet<string>,
): ConfigDraft {
  const text = { ...withTrainedPositions(textConfigOf(source)), overridden };
  const family = familyOf("hf", nestedFamily(text.outer, text.model_type), pairing, text.path !== "");
  const without = whyWithoutRope(text, family);
  if (without !== undefined) failWithoutRope(text.path + without[0], without[1]);
  const names = ["rope_scaling", "rope_parameters"].filter((name) => isGiven(text.config, name));
  checkUnread(text, family);
  const nestedName = names.find((name) => isByKind(text.config[name], kindNames(text, family)));
  const flat = names.filter((name) => name !== nestedName);
  checkFlat(text, family, flat);
  if (nestedName === "rope_scaling" && family.layers !== undefined) failUnread(text, nestedName);
  const sharedName = flat[0] ?? "rope_scaling";
  const shared = flat
    .map((name) => readScaling(text.config[name], text.path + name))
    .reduce((a, b) => mergeScalings(a, b, `${text.path}rope_parameters`), {});

  if (family.needs_rope_parameters && nestedName === undefined) {
    fail("INVALID_CONFIG", `${text.path}rope_parameters`, "has no default in this family, and is missing");
  }
  checkScaledLayers(text, shared);
  if (nestedName === undefined && family.layers === undefined) {
    checkSharedKind(layer_type, listOf(text, "layer_types"), slidingOnly(text.config, family));
    const keys = flat.length > 0 ? shared : (family.rope_scaling ?? shared);
    return readRope(text, family, withGteNtk(withDynamicNtk(keys, text.config), text.model_type), sharedName);
  }
  const nested = nestedName === undefined ? {} : (text.config[nestedName] as Dict);
  const given = { nested, nestedName: nestedName ?? "rope_parameters", shared, sharedName, isFlat: flat.length > 0 };
  return chooseKind(readLayerKinds(text, family, given), kindOf(family, layer_type));
}

/** @throws INVALID_CONFIG for keys that the family's class doesn't read, so that the model isn't what the file says */
function checkUnread(text: TextConfig, family: Partial<Family>): void {
  const { config, overridden } = text;
  const { unread, layers, theta_key = "rope_theta", partial_rotary_factor: share = 1 } = family;
  const kinds: readonly Partial<LayerRope>[] = layers ? Object.values(layers) : [{}];
  const given = { ...(config["rope_scaling"] as Dict | undefined), ...(config["rope_parameters"] as Dict | undefined) };
  const byKind = Object.values(given).filter(isDict);
  for (const key of unread?.split(" ") ?? []) {
    const value = config[key];
    const isShare = key === "partial_rotary_factor";
    const isListed = isShare && isArray(config["partial_rotary_factors"]); // Step-3.5
    if (isAbsent(value) || isListed || overridden?.has(key)) continue;
    const base = key === "rope_theta" && theta_key !== key ? config[theta_key] : undefined;
    const isOwn = ({ rope_theta = 10000, partial_rotary_factor = share }) =>
      value === (isShare ? partial_rotary_factor : (base ?? rope_theta));
    // A kind that leaves a key out takes it in transformers, or not, by the order of the kinds.
    const isReplaced = byKind.length > 0 ? byKind.every((kind) => !isAbsent(kind[key])) : !isAbsent(given[key]);
    const isKnown = byKind.length === 0 && (isShare ? kinds.every(isOwn) : kinds.some(isOwn));
    if (isDict(value) ? keysOf(value).length > 0 : !isReplaced && !isKnown) failUnread(text, key);
  }
}

/** Molmo 2 names the layers that are scaled. The others have the same base. @throws UNSUPPORTED_ROPE_TYPE if there are others */
function checkScaledLayers({ config, path, overridden }: TextConfig, shared: RopeScaling): void {
  const { rope_scaling_layers: scaled, num_hidden_layers } = config;
  if (!isArray(scaled) || scaled.length === num_hidden_layers || overridden?.has("rope_scaling")) return;
  if (effectiveType(shared) === "default") return;
  const advised = advise.override({ key: "rope_scaling" });
  fail("UNSUPPORTED_ROPE_TYPE", `${path}rope_scaling_layers`, "names some of the layers only", advised);
}

/** The keys of a scaling that say something: the type `default` doesn't. */
function keysOf(scaling: unknown): string[] {
  const entries = isDict(scaling) ? Object.entries(scaling) : [];
  const isSilent = (key: string, value: unknown) => (key === "type" || key === "rope_type") && value === "default";
  return entries.filter(([key, value]) => !isAbsent(value) && !isSilent(key, value)).map(([key]) => key);
}

/**
 * Checks keys for all layers, where layers differ. The classes read them from `rope_scaling` only, and only with a
 * `rope_type`.
 *
 * @throws INVALID_CONFIG for keys that transformers would drop in silence, or stop at
 */
function checkFlat({ config, path, model_type }: TextConfig, family: Partial<Family>, flat: readonly string[]): void {
  if (family.layers === undefined || family.reads_flat_parameters) return;
  const kinds = Object.keys(family.layers).join(" and ");
  const [key] = flat.includes("rope_parameters") ? keysOf(config["rope_parameters"]) : [];
  if (key !== undefined) {
    const message = `belongs to a kind of layer: the rope_parameters of ${show(model_type)} are ${kinds}`;
    fail("INVALID_CONFIG", `${path}rope_parameters.${key}`, message);
  }
  const scaling = config["rope_scaling"];
  const named = flat.includes("rope_scaling") && isDict(scaling) && scaling["rope_type"] === undefined;
  if (named && readsFlatScaling(family) && keysOf(scaling).includes("type")) {
    const message = `isn't read by the class of ${show(model_type)}, where its name is rope_type`;
    fail("INVALID_CONFIG", `${path}rope_scaling.type`, message);
  }
}

/** Whether the class takes `rope_scaling` for the keys of some kinds of layer. */
function readsFlatScaling(family: Partial<Family>): boolean {
  return !family.reads_flat_parameters && Object.values(family.layers ?? {}).some(({ scaled }) => scaled);
}

/** transformers takes an empty rope_scaling for an absent one. */
function isGiven(config: Dict, name: string): boolean {
  const value = config[name];
  return !isAbsent(value) && !(name === "rope_scaling" && isDict(value) && Object.keys(value).length === 0);
}

function isByKind(value: unknown, kinds: ReadonlySet<unknown>): boolean {
  return isDict(value) && Object.keys(value).some((key) => kinds.has(key) && isDict(value[key]));
}

/** Whether only sliding layers have RoPE. */
export function slidingOnly(config: Dict, { sliding_only }: Partial<Family>): boolean {
  return sliding_only === true || (sliding_only === 1 && config["sliding_window"] !== null);
}

/** Why a model of a family with RoPE has none: the key that says so, and a message. Undefined if it has RoPE. */
export function whyWithoutRope(
  { config }: TextConfig,
  { only_if, no_rope_if_theta_null }: Partial<Family>,
): readonly [key: string, reason: string] | undefined {
  if (config["alibi"] === true) {
    return ["alibi", "is true, for ALiBi"];
  }
  const kind = config["position_embedding_type"];
  if (typeof kind === "string" && kind !== "rope" && kind !== "rotary") {
    return ["position_embedding_type", `is ${show(kind)}`];
  }
  const parameters = config["rope_parameters"];
  const theta = isDict(parameters) && "rope_theta" in parameters ? parameters["rope_theta"] : config["rope_theta"];
  if (no_rope_if_theta_null && theta === null) return ["rope_theta", "is null"];
  if (only_if === undefined) return undefined;
  const [key, value] = only_if;
  if (config[key] === value) return undefined;
  const given = isAbsent(config[key]) ? "absent" : show(config[key]);
  return [key, `is ${given}, and models of this family have RoPE only if it is ${show(value)}`];
}

/**
 * Qwen v1's own key. It increases the base as for a factor of 2^⌈log₂(L/M) + 1⌉ − 1, which is transformers' dynamic
 * scaling with factor 2 and L rounded up to M times a power of two.
 */
function withDynamicNtk(keys: RopeScaling, config: Dict): RopeScaling {
  if (keys.rope_type !== undefined) return keys;
  if (config["use_dynamic_ntk"] === true) return { ...keys, rope_type: "dynamic", factor: 2 };
  const factor = config["rotary_scaling_factor"]; // nomic-bert's own key, of transformers' dynamic scaling
  return typeof factor === "number" ? { ...keys, rope_type: "dynamic", factor } : keys;
}

/**
 * GTE's own code: its NTK divides the frequency of pair j of d/2 by factor^((2j + 2) / d), at every length. So does
 * vLLM's mix with an exponent of 1.
 */
function withGteNtk(keys: RopeScaling, model_type: string | undefined): RopeScaling {
  return model_type === "new" && keys.rope_type === "ntk" ? { mixed_b: 1, ...keys, rope_type: "ntk_mix" } : keys;
}

/** nomic-bert's own keys: `n_positions` is how far texts may go, and `max_trained_positions` where scaling begins. */
function withTrainedPositions<T extends { readonly config: Dict; readonly model_type: string | undefined }>(
  text: T,
): T {
  const trained = text.config["max_trained_positions"];
  if (text.model_type !== "nomic_bert" || isAbsent(trained)) return text;
  return { ...text, config: { ...text.config, max_position_embeddings: trained } };
}
