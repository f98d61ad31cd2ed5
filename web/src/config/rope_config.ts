import { fail } from "../base/errors.js";
import { deepFreeze, isAbsent, isDict, oneOf, stringAt, withoutAbsent, type Dict } from "./check.js";
import { betaTemperature, rotaryDimOf } from "./derived.js";
import type { Draft, ModelRope } from "./draft.js";
import type { Family } from "./family.js";
import { readGguf, type GgufSource } from "./gguf.js";
import { readHuggingFace } from "./huggingface.js";
import { applyOverrides, draftOfConfig, type RopeOverrides } from "./overrides.js";
import { reads } from "./scaling.js";
import { PAIRINGS, type Pairing, type RopeConfig, type RopeScaling } from "./types.js";

/** What to read, and what to change. */
export interface RopeConfigOptions {
  /**
   * Kind of layer, as transformers names them (`full_attention`, `sliding_attention`; DeepSeek-V4's `main` and
   * `compress`). Needed only by models whose layers differ in their RoPE.
   */
  layer_type?: string;
  /** Merged into what the model has; see {@link RopeOverrides}. */
  overrides?: RopeOverrides;
}

/**
 * Everything that decides a model's rotation, from its files: a Hugging Face config.json (parsed) or the metadata of a
 * GGUF file (as `@huggingface/gguf` returns it, alone or as `{ metadata, tensors }`).
 *
 * The result is plain frozen data with one spelling of everything: pairing, rope_theta and rotary_dim at the top,
 * `rope_scaling` with its `rope_type` and only the keys that type reads. Missing values are those that transformers
 * would take. For DeepSeek-style attention head_dim and rotary_dim are both the width of the part that rotates.
 * `compat` stays `hf`, for GGUF files too: its converter has read the same config.json.
 *
 * @throws RopewalkError with the path of the key: UNKNOWN_FAMILY (name the pairing in the overrides), UNKNOWN_KEY,
 *   UNSUPPORTED_ROPE_TYPE, INVALID_CONFIG, INVALID_ARGUMENT (`layer_type` missing or not one of the model's)
 *
 * @example
 * ropeConfig(await (await fetch("config.json")).json(), { overrides: { rope_scaling: { rope_type: "yarn", factor: 4 } } });
 */
export function ropeConfig(source: object, options: RopeConfigOptions = {}): RopeConfig {
  const { layer_type, overrides, ...unknown } = options;
  const [strange] = Object.keys(unknown);
  if (strange !== undefined) fail("INVALID_ARGUMENT", `options.${strange}`, "is not one of layer_type, overrides");
  if (!isDict(source)) return fail("INVALID_ARGUMENT", "source", "must be a parsed config.json or GGUF metadata");
  if (!isAbsent(layer_type)) stringAt(layer_type, "layer_type");
  const { family, draft } = readModel(source, layer_type ?? undefined, pairingOf(overrides));
  return finish(applyOverrides(draft, overrides), family);
}

/** Merges overrides into a finished config by the same rules, for a model that is retuned while it runs. */
export function overrideRopeConfig(config: RopeConfig, overrides: RopeOverrides): RopeConfig {
  return finish(applyOverrides(draftOfConfig(config), overrides), {});
}

function readModel(source: Dict, layer_type: string | undefined, pairing: Pairing | undefined): ModelRope {
  const gguf = ggufSourceOf(source);
  return gguf === undefined ? readHuggingFace(source, layer_type, pairing) : readGguf(gguf, layer_type, pairing);
}

/** A source is GGUF's where it names an architecture the way GGUF does. */
export function ggufSourceOf(source: Dict): GgufSource | undefined {
  if ("general.architecture" in source) return { metadata: source };
  const { metadata, tensors } = source;
  if (!isDict(metadata) || !("general.architecture" in metadata)) return undefined;
  return { metadata, ...(isDict(tensors) && { tensors }) };
}

function pairingOf(overrides: unknown): Pairing | undefined {
  const pairing = isDict(overrides) ? overrides["pairing"] : undefined;
  return isAbsent(pairing) ? undefined : oneOf(pairing, "overrides.pairing", PAIRINGS);
}

/** Works out what depends on values an override may have changed, and freezes the result. */
function finish(draft: Draft, family: Partial<Family>): RopeConfig {
  const { head_dim, pairing, max_position_embeddings: max, rope_scaling: scaling } = draft;
  if (pairing === undefined) return fail("INVALID_CONFIG", "pairing", "must be named");
  if (head_dim === undefined) {
    return fail(
      "INVALID_CONFIG",
      "head_dim",
      "is neither given nor derivable from hidden size and heads; name it in overrides",
    );
  }
  const rotary_dim = rotaryDimOf(head_dim, draft, scaling.rope_type);
  const { llama_4_scaling_beta: beta, ...rest } = scaling;
  // transformers' default, for the types that need the length before extension.
  const original = draft.original_max_position_embeddings ?? max;
  const reads_original = reads(scaling.rope_type, "original_max_position_embeddings");
  const rope_scaling = withoutAbsent<RopeScaling>({
    ...rest,
    ...(scaling.rope_type === "yarn" && { factor: scaling.factor ?? ratio(max, original) }),
    original_max_position_embeddings: reads_original ? original : undefined,
  });
  return deepFreeze(
    withoutAbsent<RopeConfig>({
      model_type: draft.model_type,
      head_dim,
      pairing,
      rope_theta: draft.rope_theta,
      rotary_dim,
      rotary_offset:
        draft.rotary_offset ?? (family.rotates_last && head_dim > rotary_dim ? head_dim - rotary_dim : undefined),
      partial_rotary_factor: scaling.rope_type === "proportional" ? draft.partial_rotary_factor : undefined,
      max_position_embeddings: max,
      original_max_position_embeddings: reads_original ? undefined : draft.original_max_position_embeddings,
      context_length: draft.context_length,
      rope_scaling,
      freq_factors: draft.freq_factors,
      xpos: draft.xpos,
      query_temperature: draft.query_temperature ?? (beta === undefined ? undefined : betaTemperature(beta, original)),
      softmax_scale: draft.softmax_scale,
      compat: draft.compat,
      precision: draft.precision,
    }),
  );
}

function ratio(extended: number | undefined, original: number | undefined): number | undefined {
  return extended === undefined || original === undefined ? undefined : extended / original;
}
