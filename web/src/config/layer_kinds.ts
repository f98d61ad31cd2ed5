import { fail } from "../base/errors.js";
import { sameValue } from "./check.js";
import type { Family } from "./family.js";
import type { SettledScaling } from "./scaling.js";
import type { RopeConfig } from "./types.js";

/**
 * What a reader makes of a model's files, before the caller's overrides: a {@link RopeConfig} whose rotary_dim,
 * original length and YaRN factor are not worked out yet, so that an override of what they depend on still counts.
 * Base and rotated share stand at the top, everything else of the scaling in `rope_scaling`.
 */
export interface Draft extends Partial<Omit<RopeConfig, "rope_scaling" | "rope_parameters">> {
  rope_theta: number;
  rope_scaling: SettledScaling;
}

/** One kind of layer of a model; `draft` is null where this kind carries no RoPE. */
export interface LayerKind {
  draft: Draft | null;
  /** Whether the model has layers of this kind, as far as its files tell. */
  present: boolean;
}

/** What a reader hands on: the model's family and its RoPE, by kind of layer where the kinds differ. */
export interface ModelRope {
  family: Partial<Family>;
  draft: Draft;
}

/** The kinds of layer that every config may be asked for, since transformers gives them to all models. */
export const COMMON_KINDS = ["full_attention", "sliding_attention", "chunked_attention"];

/** Layers that mix tokens in another way than by attention, and so carry no RoPE. */
export const KINDS_WITHOUT_ATTENTION = ["linear_attention", "conv", "mamba", "mamba2", "recurrent"];

/**
 * The RoPE of the layers asked for. Without `layer_type` it is the one that all kinds of layer share.
 *
 * @throws INVALID_ARGUMENT where the kinds differ and none is named, or the named one is not there;
 *   INVALID_CONFIG where the named one carries no RoPE
 */
export function chooseKind(kinds: ReadonlyMap<string, LayerKind>, layer_type: string | undefined): Draft {
  if (layer_type !== undefined) {
    const kind = kinds.get(layer_type);
    if (kind === undefined) return failUnknownKind(layer_type, [...kinds.keys()]);
    return kind.draft ?? failWithoutRope(layer_type);
  }
  const present = [...kinds].filter(([, { draft, present }]) => present && draft !== null);
  const [first, ...others] = present.map(([, { draft }]) => draft);
  if (first === undefined || first === null)
    return fail("INVALID_CONFIG", "layer_types", "no layer of this model carries RoPE");
  if (others.some((other) => !sameValue(other, first))) {
    const names = present.map(([name]) => name).join(", ");
    fail("INVALID_ARGUMENT", "layer_type", `this model's layers differ in their RoPE; name one of ${names}`);
  }
  return first;
}

/** Checks a `layer_type` asked of a model whose layers share one RoPE, or have it on the sliding layers only. */
export function checkSharedKind(
  layer_type: string | undefined,
  kinds: readonly unknown[],
  sliding_only: boolean,
): void {
  if (layer_type === undefined) return;
  if (KINDS_WITHOUT_ATTENTION.includes(layer_type) || (sliding_only && layer_type === "full_attention")) {
    failWithoutRope(layer_type);
  }
  if (!kinds.includes(layer_type) && !COMMON_KINDS.includes(layer_type)) failUnknownKind(layer_type, COMMON_KINDS);
}

function failWithoutRope(layer_type: string): never {
  return fail("INVALID_CONFIG", "layer_type", `${layer_type} layers of this model carry no rotary position embedding`);
}

function failUnknownKind(layer_type: string, names: readonly string[]): never {
  return fail("INVALID_ARGUMENT", "layer_type", `${JSON.stringify(layer_type)} is not one of ${names.join(", ")}`);
}
