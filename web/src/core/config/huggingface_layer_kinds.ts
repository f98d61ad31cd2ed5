// Reads the RoPE of each kind of layer from a config.json, for models whose layers differ.
import { type Dict, isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import type { Family, LayerRope } from "./family.js";
import { isArray } from "../base/typed_arrays.js";
import { integerOf, listOf, readRope, type TextConfig } from "./huggingface_rope.js";
import { COMMON_KINDS, kindOf, type LayerKind } from "./layer_kinds.js";
import type { ConfigDraft } from "./read_config.js";
import { readScaling } from "./scaling.js";
import type { RopeScaling } from "./types.js";
import { integerAt, isAbsent, layerEntry, numberAt, sameValue } from "./values.js";

/** The scalings in a config.json: one per kind of layer, one for all layers, or both. */
export interface GivenScalings {
  /** Maps names of kinds to their scaling, or to null for no RoPE. May have other keys too. */
  nested: Dict;
  nestedName: string;
  /** Keys of the scaling for all layers. */
  shared: RopeScaling;
  /** Whether there is one. */
  isFlat: boolean;
  sharedName: string;
}

/** The names of layer kinds. In rope_parameters they tell a scaling per kind from the keys of one scaling. */
export function kindNames(text: TextConfig, family: Partial<Family>): ReadonlySet<unknown> {
  return new Set([...COMMON_KINDS, ...listOf(text, "layer_types"), ...Object.keys(family.layers ?? {})]);
}

/** The keys of two objects that describe the same scaling. Keys in both must have the same value. */
export function mergeScalings(a: RopeScaling, b: RopeScaling, path: string): RopeScaling {
  for (const [key, value] of Object.entries(b)) {
    if (key in a && !sameValue(a[key as keyof RopeScaling], value)) {
      fail("INVALID_CONFIG", `${path}.${key}`, "disagrees with rope_scaling");
    }
  }
  return { ...a, ...b };
}

/** The kinds of layer of a model, each with its RoPE. */
export function readLayerKinds(
  text: TextConfig,
  family: Partial<Family>,
  given: GivenScalings,
): Map<string, LayerKind> {
  const { nested, nestedName, shared, sharedName } = given;
  const kinds = kindNames(text, family);
  // Keys next to the kinds are leftovers of conversions. transformers ignores them; here they are checked, then
  // ignored.
  readScaling(Object.fromEntries(Object.entries(nested).filter(([key]) => !kinds.has(key))), text.path + nestedName);
  const scales = Object.entries(shared).some(([key, value]) => key !== "rope_type" || value !== "default");
  const isRead = family.reads_flat_parameters ?? Object.values(family.layers ?? {}).some((layer) => layer.scaled);
  if (scales && !isRead) {
    fail("INVALID_CONFIG", text.path + sharedName, "isn't used by any kind of layer of this model");
  }
  const names = new Set([...Object.keys(nested).filter((key) => kinds.has(key)), ...Object.keys(family.layers ?? {})]);
  const layer_types = listOf(text, "layer_types").map((type) =>
    typeof type === "string" ? kindOf(family, type) : type,
  );
  const listed = [...names].some((name) => layer_types.includes(name));
  return new Map(
    [...names].map((name): [string, LayerKind] => {
      const present = !listed || layer_types.includes(name);
      return [name, { draft: nested[name] === null ? null : readKind(text, family, name, given), present }];
    }),
  );
}

function readKind(text: TextConfig, family: Partial<Family>, name: string, given: GivenScalings): ConfigDraft {
  const dict = given.nested[name];
  const where = isAbsent(dict) ? given.sharedName : `${given.nestedName}.${name}`;
  // transformers looks for YaRN's truncate next to the layer types, where no file has it, so it has no effect here.
  const own: RopeScaling = isAbsent(dict) ? {} : readScaling(dict, text.path + where);
  const reads = family.reads_flat_parameters;
  const isFlat = reads === "all" && isAbsent(dict) && given.isFlat;
  const layer: Partial<LayerRope> = family.layers?.[isFlat ? Object.keys(family.layers)[0]! : name] ?? {};
  const { rope_theta, partial_rotary_factor: _, ...others } = given.shared;
  const flat = isFlat && rope_theta !== undefined ? { ...others, rope_theta } : others;
  const shared = reads === undefined ? given.shared : flat;
  const merged = layer.scaled || isFlat ? mergeScalings(own, shared, text.path + where) : own;
  const { truncate: __, ...keys } = merged;
  const { rope_type, partial_rotary_factor, attention_factor } = layer;
  if (isAbsent(dict)) {
    if (rope_type !== undefined) keys.rope_type ??= rope_type;
    if (attention_factor !== undefined && keys.rope_type === "yarn") keys.attention_factor ??= attention_factor;
  }
  if ((isAbsent(dict) || layer.keeps_share) && partial_rotary_factor !== undefined)
    keys.partial_rotary_factor ??= partial_rotary_factor;
  if (layer.partial_means !== undefined && isShareByDefault(keys)) keys.rope_type = layer.partial_means;
  const at = firstLayerOf(text, name);
  const partial = listOf(text, "partial_rotary_factors")[at];
  if (partial !== undefined)
    keys.partial_rotary_factor ??= numberAt(partial, `${text.path}partial_rotary_factors[${at}]`);
  const head_dim = kindHeadDim(text, layer, name);
  if (layer.needs_keys && !isAbsent(dict)) {
    const share = family.rotates_last ? (keys.partial_rotary_factor ?? text.config["partial_rotary_factor"]) : 1;
    const missing =
      keys.rope_theta === undefined ? "rope_theta" : isAbsent(share) ? "partial_rotary_factor" : undefined;
    const message = "is missing, and its class takes another value than the released models have";
    if (missing !== undefined) fail("INVALID_CONFIG", `${text.path}${where}.${missing}`, message);
  }
  if (family.layers !== undefined) keys.rope_theta ??= kindTheta(text, layer, at);
  return readRope(text, family, keys, where, { head_dim });
}

/** Whether the keys name a share of the head, and no scaling. */
function isShareByDefault(keys: RopeScaling): boolean {
  return (keys.rope_type ?? "default") === "default" && (keys.partial_rotary_factor ?? 1) !== 1;
}

function kindTheta({ config, path }: TextConfig, { theta_key, rope_theta }: Partial<LayerRope>, at: number): number {
  const given = theta_key === undefined ? undefined : config[theta_key];
  const one: unknown = isArray(given) ? given[at] : given; // Step-3.5 lists a base per layer
  return isAbsent(one) ? (rope_theta ?? 10000) : numberAt(one, `${path}${theta_key ?? ""}`);
}

function firstLayerOf(text: TextConfig, kind: string, unlisted = 0): number {
  const at = listOf(text, "layer_types").indexOf(kind);
  return at < 0 ? unlisted : at;
}

function kindHeadDim(
  text: TextConfig,
  { head_dim, head_dim_key }: Partial<LayerRope>,
  kind: string,
): number | undefined {
  const { config, path } = text;
  const all = config["per_layer_config"];
  // beside it, even an empty one, the class doesn't read the key of this kind
  if (!isDict(all)) return integerOf(text, head_dim_key ? [head_dim_key] : []) ?? head_dim;
  // the last layer always is of the kind that has a key of its own
  const at = firstLayerOf(text, kind, head_dim_key ? (config["num_hidden_layers"] as number) - 1 : 0);
  const own = layerEntry(all, at);
  const width = isDict(own) ? own["head_dim"] : undefined;
  return isAbsent(width) ? undefined : integerAt(width, `${path}per_layer_config.${at}.head_dim`);
}
