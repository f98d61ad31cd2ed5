// Chooses the RoPE of one kind of layer, in models whose layers differ.
import * as advise from "../base/advice.js";
import { show } from "../base/show.js";
import { fail } from "../base/errors.js";
import type { Family } from "./family.js";
import type { ConfigDraft } from "./read_config.js";
import { sameValue } from "./values.js";

/** One kind of layer of a model. */
export interface LayerKind {
  /** Null if these layers have no RoPE. */
  draft: ConfigDraft | null;
  /** Whether the model has layers of this kind, as far as its files say. */
  present: boolean;
}

/** The kinds of layer that any config may be asked for: transformers defines them for all models. */
export const COMMON_KINDS = ["full_attention", "sliding_attention", "chunked_attention"];

/** Layers that mix tokens without attention, or not at all, so they have no RoPE. */
export const KINDS_WITHOUT_ATTENTION = ["linear_attention", "conv", "mamba", "mamba2", "recurrent", "mlp"];

/** The kind of layer of a `layer_type`: families may have one RoPE for several values of layer_types (DeepSeek-V4). */
export function kindOf(family: Partial<Family>, layer_type: string | undefined): string | undefined {
  if (layer_type === undefined) return undefined;
  const kind = Object.entries(family.layers ?? {}).find(([, { also }]) => also?.includes(layer_type));
  return kind?.[0] ?? layer_type;
}

/**
 * The RoPE of the requested kind of layer. Without `layer_type`, the one that all kinds share.
 *
 * @throws INVALID_ARGUMENT if the kinds differ and none is named, or the named one doesn't exist;
 *   INVALID_CONFIG if the named one has no RoPE
 */
export function chooseKind(kinds: ReadonlyMap<string, LayerKind>, layer_type: string | undefined): ConfigDraft {
  if (layer_type !== undefined) {
    const kind = kinds.get(layer_type);
    if (kind === undefined && KINDS_WITHOUT_ATTENTION.includes(layer_type)) return failWithoutRope(layer_type);
    if (kind === undefined) return failUnknownKind(layer_type, [...kinds.keys()]);
    return kind.draft ?? failWithoutRope(layer_type);
  }
  const present = [...kinds].filter(([, { draft, present }]) => present && draft !== null);
  const [first, ...others] = present.map(([, { draft }]) => draft);
  if (first === undefined || first === null) {
    return fail("INVALID_CONFIG", "layer_types", "no layer of this model has RoPE");
  }
  if (others.some((other) => !sameValue(other, first))) {
    const names = present.map(([name]) => name).join(", ");
    fail(
      "INVALID_ARGUMENT",
      "layer_type",
      "the layers of this model differ in their RoPE",
      advise.other(`pass one of ${names}`),
    );
  }
  return first;
}

/** Checks the requested `layer_type` of a model whose layers share one RoPE, or whose sliding layers alone have it. */
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
  return fail("INVALID_CONFIG", "layer_type", `${show(layer_type)} layers of this model have no RoPE`);
}

function failUnknownKind(layer_type: string, names: readonly string[]): never {
  return fail("INVALID_ARGUMENT", "layer_type", `must be one of ${names.join(", ")} (got ${show(layer_type)})`);
}
