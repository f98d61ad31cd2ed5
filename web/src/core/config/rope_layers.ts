// Which layers of a model have RoPE.
import { type Dict, isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { checkOptions, optionNames } from "../base/options.js";
import { isArray } from "../base/typed_arrays.js";
import type { Family } from "./family.js";
import { familyOf, isWithoutRope, knownFamily, nestedFamily } from "./family_lookup.js";
import { firstCountOf, type Metadata, openMetadata, valueOf } from "./gguf_metadata.js";
import { slidingOnly, textConfigOf, whyWithoutRope } from "./huggingface.js";
import { listOf } from "./huggingface_rope.js";
import { attentionRule, slidingRule } from "./hybrid_layers.js";
import { KINDS_WITHOUT_ATTENTION } from "./layer_kinds.js";
import { ggufSourceOf, pairingOf, type RopeConfigOptions } from "./rope_config.js";
import type { Pairing } from "./types.js";
import { integerAt, isAbsent } from "./values.js";

const MAX_LAYERS = 65536;
const LAYERS = ["num_hidden_layers", "n_layer", "n_layers", "num_layers"];

const OPTIONS = optionNames<Pick<RopeConfigOptions, "overrides">>("ropeLayers()", { overrides: true });

/**
 * Which layers of a model have RoPE, first layer first. Read from `no_rope_layers` (where 1 means that RoPE is used),
 * `no_rope_layer_interval`, `layer_types` and the keys that hybrid models have instead, and GGUF's
 * `attention.rope_pattern` and `attention.head_count_kv`, or known from the family. Where {@link ropeConfig} says that a
 * model has no RoPE, no layer has.
 *
 * A family that this package doesn't know is refused as by {@link ropeConfig}, unless the file says which of its layers
 * have RoPE. With a `pairing` in the overrides, each layer has, except those without attention.
 *
 * @throws INVALID_CONFIG if the number of layers is missing or not from 0 to 65,536, or a list has another length;
 *   UNKNOWN_FAMILY, UNSUPPORTED_ROPE_TYPE
 */
export function ropeLayers(source: object, options?: Pick<RopeConfigOptions, "overrides">): boolean[] {
  const { overrides } = checkOptions(options, OPTIONS);
  if (!isDict(source)) return fail("INVALID_ARGUMENT", "source", "must be a parsed config.json or GGUF metadata");
  const pairing = pairingOf(overrides);
  const gguf = ggufSourceOf(source);
  return gguf === undefined ? huggingFaceLayers(source, pairing) : ggufLayers(openMetadata(gguf.metadata), pairing);
}

function huggingFaceLayers(source: Dict, pairing: Pairing | undefined): boolean[] {
  const text = textConfigOf(source);
  const { config, path, model_type } = text;
  const name = nestedFamily(text.outer, model_type);
  const family = knownFamily("hf", name);
  const types = ["layer_types", "layers_block_type"].map((key) => listOf(text, key)).find((list) => list.length > 0);
  const named = LAYERS.find((key) => !isAbsent(config[key]));
  const count = named === undefined ? types?.length : integerAt(config[named], path + named);
  const layers = layerIndices(count, path + (named ?? "num_hidden_layers"));

  if (isWithoutRope("hf", name) || whyWithoutRope(text, family) !== undefined) return layers.map(() => false);
  const listed = config["no_rope_layers"];
  if (isArray(listed) && listed.length > 0) {
    if (listed.length !== layers.length) {
      fail("INVALID_CONFIG", `${path}no_rope_layers`, `has ${listed.length} entries for ${layers.length} layers`);
    }
    return listed.map((used) => Boolean(used));
  }
  const bases = config["layer_rope_theta"]; // Muse: a base per layer, 0 or null for none
  if (Array.isArray(bases) && bases.length === layers.length) return bases.map((base) => Boolean(base));
  const interval = config["no_rope_layer_interval"];
  const every = isAbsent(interval) ? family.no_rope_interval : integerAt(interval, `${path}no_rope_layer_interval`);
  if (every !== undefined && every > 0) return layers.map((i) => (i + 1) % every !== 0);

  const by_layer = isDict(config["rope_parameters"]) ? config["rope_parameters"] : {};
  const attends = (kind: unknown) => typeof kind !== "string" || !KINDS_WITHOUT_ATTENTION.includes(kind);
  const isExplained = types?.every((kind) => !attends(kind) || (typeof kind === "string" && kind in by_layer));
  if (!isExplained) familyOf("hf", name, pairing, path !== "");
  const onlySliding = slidingOnly(config, family);
  if (types !== undefined) {
    return layers.map((i) => {
      const kind = types[i];
      if (typeof kind !== "string") return true;
      return attends(kind) && by_layer[kind] !== null && (kind === "sliding_attention" || !onlySliding);
    });
  }
  const hasRope =
    attentionRule(text) ?? (onlySliding ? (slidingRule(text) ?? slidingPattern(config, path)) : undefined);
  return layers.map((i) => hasRope?.(i, layers.length) ?? true);
}

/**
 * The indices of the layers. Their number is limited because a file could name any number, and the result is a list.
 */
function layerIndices(count: number | undefined, path: string): number[] {
  if (count === undefined) return fail("INVALID_CONFIG", path, "is missing");
  if (count < 0 || count > MAX_LAYERS)
    return fail("INVALID_CONFIG", path, `must be from 0 to ${MAX_LAYERS} (got ${count})`);
  return Array.from({ length: count }, (_, i) => i);
}

/**
 * The sliding layers in older configs of models with RoPE on those only: a period (4 if absent) or letters ("LLLG").
 */
function slidingPattern(config: Dict, path: string): (layer: number) => boolean {
  const key = isAbsent(config["sliding_window_pattern"]) ? "global_attn_every_n_layers" : "sliding_window_pattern";
  const pattern = config[key] ?? 4;
  if (typeof pattern === "string" && pattern !== "") return (i) => pattern[i % pattern.length] !== "G";
  const period = integerAt(pattern, path + key);
  return (i) => (i + 1) % period !== 0;
}

/** The architectures that don't mark recurrent layers by zero key heads. */
const WITH_RECURRENT_LIST = ["qwen3next", "qwen35", "qwen35moe", "qwen4exp"];

/**
 * Which layers of such a GGUF file are recurrent: `attention.recurrent_layers`, a list or one value for all, or else
 * all but every n-th.
 * @throws INVALID_CONFIG for a list that leaves out one of the first `count` layers
 * @internal
 */
export function ggufRecurrentLayers(metadata: Dict, count: number): boolean[] {
  const file = openMetadata(metadata);
  const key = "attention.recurrent_layers";
  const listed = valueOf(file, key);
  if (isArray(listed) || ArrayBuffer.isView(listed)) {
    const values = Array.from(listed as ArrayLike<unknown>);
    if (values.length < count)
      fail("INVALID_CONFIG", `${file.arch}.${key}`, `has ${values.length} entries for ${count} layers`);
    return values.slice(0, count).map(Boolean);
  }
  const period = firstCountOf(file, "full_attention_interval") ?? 4;
  return Array.from({ length: count }, (_, layer) => (isAbsent(listed) ? (layer + 1) % period !== 0 : Boolean(listed)));
}

function ggufLayers(file: Metadata, pairing: Pairing | undefined): boolean[] {
  const family = knownFamily("gguf", file.arch);
  const layers = layerIndices(firstCountOf(file, "block_count"), `${file.arch}.block_count`);
  if (isWithoutRope("gguf", file.arch)) return layers.map(() => false);
  const isRead = file.arch === "granite_swa" || family.gguf_pairing === undefined; // of the known ones, llama.cpp reads it there
  const listed = isRead ? valueOf(file, "attention.rope_pattern") : undefined;
  if (isArray(listed)) return layers.map((i) => Boolean(listed[i] ?? true));
  familyOf("gguf", file.arch, pairing);
  const heads = valueOf(file, "attention.head_count_kv");
  // Layers that mix tokens without attention have no key heads.
  if (isArray(heads) || ArrayBuffer.isView(heads)) {
    const counts = Array.from(heads as ArrayLike<unknown>, Number); // 64-bit counts are read as bigints
    if (counts.includes(0)) return layers.map((i) => counts[i] !== 0);
  }
  if (WITH_RECURRENT_LIST.includes(file.arch))
    return ggufRecurrentLayers(file.metadata, layers.length).map((isRecurrent) => !isRecurrent);
  const every = family.no_rope_interval;
  if (every !== undefined) return layers.map((i) => !skips(file, family, i, every));
  const window = firstCountOf(file, "attention.sliding_window") ?? 0;
  if (!family.sliding_only || window === 0) return layers.map(() => true);
  const pattern = valueOf(file, "attention.sliding_window_pattern");
  if (isArray(pattern)) return layers.map((i) => Boolean(pattern[i]));
  const period = isAbsent(pattern) ? 4 : integerAt(pattern, `${file.arch}.attention.sliding_window_pattern`);
  return layers.map((i) => period === 0 || i % period < period - 1);
}

/**
 * A window of 0 marks small Llama 4 models with RoPE on every layer; SmallThinker skips the first of every four
 * layers.
 */
function skips(file: Metadata, family: Partial<Family>, layer: number, every: number): boolean {
  if (family.no_rope_temperature && valueOf(file, "attention.sliding_window") !== undefined) {
    if (firstCountOf(file, "attention.sliding_window") === 0) return false;
  }
  return (file.arch === "smallthinker" ? layer : layer + 1) % every === 0;
}
