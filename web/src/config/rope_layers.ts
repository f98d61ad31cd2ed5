// Which layers of a model have RoPE.
import { fail } from "../base/errors.js";
import type { Family } from "./family.js";
import { isArray } from "../base/typed_arrays.js";
import { isWithoutRope, knownFamily } from "./family_lookup.js";
import { firstCountOf, type Metadata, openMetadata, valueOf } from "./gguf_metadata.js";
import { slidingOnly, textConfigOf } from "./huggingface.js";
import { KINDS_WITHOUT_ATTENTION } from "./layer_kinds.js";
import { ggufSourceOf } from "./rope_config.js";
import { type Dict, integerAt, isAbsent, isDict } from "./values.js";

const MAX_LAYERS = 65536;
const LAYERS = ["num_hidden_layers", "n_layer", "n_layers", "num_layers"];

/**
 * Which layers of a model have RoPE, first layer first. Read from `no_rope_layers` (where 1 means that RoPE is used),
 * `no_rope_layer_interval`, `layer_types` and GGUF's `attention.rope_pattern`, or known from the family.
 *
 * In a family that this package doesn't know, every layer has RoPE unless the file says otherwise.
 *
 * @throws INVALID_CONFIG if the number of layers is missing or not from 0 to 65,536, or a list has another length
 */
export function ropeLayers(source: object): boolean[] {
  if (!isDict(source)) return fail("INVALID_ARGUMENT", "source", "must be a parsed config.json or GGUF metadata");
  const gguf = ggufSourceOf(source);
  return gguf === undefined ? huggingFaceLayers(source) : ggufLayers(openMetadata(gguf.metadata));
}

function huggingFaceLayers(source: Dict): boolean[] {
  const { config, path, model_type } = textConfigOf(source);
  const family = knownFamily("hf", model_type);
  const types = isArray(config["layer_types"]) ? (config["layer_types"] as unknown[]) : undefined;
  const named = LAYERS.find((name) => !isAbsent(config[name]));
  const count = named === undefined ? types?.length : integerAt(config[named], path + named);
  const layers = layerIndices(count, path + (named ?? "num_hidden_layers"));

  if (isWithoutRope("hf", model_type)) return layers.map(() => false);
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
  const kinds = types ?? (slidingOnly(config, family) ? slidingPattern(config, path, layers.length) : []);
  return layers.map((i) => {
    const kind = kinds[i];
    if (typeof kind !== "string") return true;
    if (KINDS_WITHOUT_ATTENTION.includes(kind) || by_layer[kind] === null) return false;
    return kind === "sliding_attention" || !slidingOnly(config, family);
  });
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
 * The pattern in older configs of models with RoPE on sliding layers only: a period (4 if absent) or letters
 * ("LLLG").
 */
function slidingPattern(config: Dict, path: string, count: number): string[] {
  const key = isAbsent(config["sliding_window_pattern"]) ? "global_attn_every_n_layers" : "sliding_window_pattern";
  const pattern = config[key] ?? 4;
  const period = typeof pattern === "string" && pattern !== "" ? pattern.length : integerAt(pattern, path + key);
  const full = (i: number): boolean =>
    typeof pattern === "string" ? pattern[i % period] === "G" : (i + 1) % period === 0;
  return Array.from({ length: count }, (_, i) => (full(i) ? "full_attention" : "sliding_attention"));
}

function ggufLayers(file: Metadata): boolean[] {
  const family = knownFamily("gguf", file.arch);
  const layers = layerIndices(firstCountOf(file, "block_count"), `${file.arch}.block_count`);
  if (isWithoutRope("gguf", file.arch)) return layers.map(() => false);
  const listed = valueOf(file, "attention.rope_pattern");
  if (isArray(listed)) return layers.map((i) => Boolean(listed[i] ?? true));
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
