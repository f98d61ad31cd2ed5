import { fail } from "../base/errors.js";
import { integerAt, isAbsent, isDict, numberAt, sameValue, type Dict } from "./check.js";
import { COMMON_KINDS, type Draft, type LayerKind } from "./draft.js";
import type { Family, LayerRope } from "./family.js";
import { draftOf, integerOf, listOf, type TextConfig } from "./huggingface_draft.js";
import { readScaling } from "./scaling.js";
import type { RopeScaling } from "./types.js";

/** The scalings a config.json holds: by kind of layer, or one for all, or both. */
export interface GivenScalings {
  /** Names of kinds to dicts, or to null for no RoPE; beside them whatever else was there. */
  nested: Dict;
  nestedName: string;
  /** Keys of the dict that is meant for all layers. */
  shared: RopeScaling;
  sharedName: string;
}

/**
 * Tells the names of kinds of layer from keys of scaling, in the rope_parameters of a model whose layers differ. Under
 * each stands a dict, or null where that kind carries no RoPE.
 */
export function kindsOf(config: Dict, family: Partial<Family>): (key: string) => boolean {
  const names = new Set([...COMMON_KINDS, ...listOf(config, "layer_types"), ...Object.keys(family.layers ?? {})]);
  return (key) => names.has(key);
}

/** The keys of two dicts that describe the same scaling: what both say must be the same. */
export function agreeing(a: RopeScaling, b: RopeScaling, path: string): RopeScaling {
  for (const [key, value] of Object.entries(b)) {
    if (key in a && !sameValue(a[key as keyof RopeScaling], value)) {
      fail("INVALID_CONFIG", `${path}.${key}`, "disagrees with rope_scaling");
    }
  }
  return { ...a, ...b };
}

/** The kinds of layer of a model whose layers differ, each with its RoPE. */
export function layerKinds(text: TextConfig, family: Partial<Family>, given: GivenScalings): Map<string, LayerKind> {
  const { nested, nestedName, shared, sharedName } = given;
  const namesKind = kindsOf(text.config, family);
  // Keys beside the kinds are leftovers of conversions; transformers ignores them. Checked all the same.
  readScaling(Object.fromEntries(Object.entries(nested).filter(([key]) => !namesKind(key))), text.path + nestedName);
  const scales = Object.entries(shared).some(([key, value]) => key !== "rope_type" || value !== "default");
  if (scales && !Object.values(family.layers ?? {}).some((layer) => layer.scaled)) {
    fail("INVALID_CONFIG", text.path + sharedName, "belongs to none of this model's kinds of layer");
  }
  const names = new Set([...Object.keys(nested).filter(namesKind), ...Object.keys(family.layers ?? {})]);
  const layer_types = listOf(text.config, "layer_types");
  const listed = [...names].some((name) => layer_types.includes(name));
  return new Map(
    [...names].map((name): [string, LayerKind] => {
      const present = !listed || layer_types.includes(name);
      return [name, { draft: nested[name] === null ? null : kindDraft(text, family, name, given), present }];
    }),
  );
}

function kindDraft(text: TextConfig, family: Partial<Family>, name: string, given: GivenScalings): Draft {
  const dict = given.nested[name];
  const where = isAbsent(dict) ? given.sharedName : `${given.nestedName}.${name}`;
  // transformers reads YaRN's truncate beside the layer types, where no file has it, so it never holds here.
  const { truncate: _, ...own }: RopeScaling = isAbsent(dict) ? {} : readScaling(dict, text.path + where);
  const layer: Partial<LayerRope> = family.layers?.[name] ?? {};
  const keys: RopeScaling = layer.scaled ? agreeing(own, given.shared, text.path + where) : { ...own };
  if (isAbsent(dict)) {
    if (layer.rope_type !== undefined) keys.rope_type ??= layer.rope_type;
    if (layer.partial_rotary_factor !== undefined) keys.partial_rotary_factor ??= layer.partial_rotary_factor;
  }
  if (layer.attention_factor !== undefined && keys.rope_type === "yarn")
    keys.attention_factor ??= layer.attention_factor;
  const at = firstLayerOf(text.config, name);
  const partial = listOf(text.config, "partial_rotary_factors")[at];
  if (partial !== undefined)
    keys.partial_rotary_factor ??= numberAt(partial, `${text.path}partial_rotary_factors[${at}]`);
  const head_dim = kindHeadDim(text, layer, at);
  if (family.layers !== undefined) keys.rope_theta ??= kindTheta(text, layer, at);
  return draftOf(text, family, keys, where, { head_dim });
}

function kindTheta({ config, path }: TextConfig, { theta_key, rope_theta }: Partial<LayerRope>, at: number): number {
  const given = theta_key === undefined ? undefined : config[theta_key];
  const one: unknown = Array.isArray(given) ? given[at] : given; // Step-3.5 lists a base for each layer
  return isAbsent(one) ? (rope_theta ?? 10000) : numberAt(one, `${path}${theta_key ?? ""}`);
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
