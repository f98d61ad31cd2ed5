import { fail } from "../base/errors.js";
import { familyRows, WITHOUT_ROPE } from "./families.js";
import type { Family } from "./family.js";
import type { Pairing } from "./types.js";

/** Whose names: config.json's `model_type` or GGUF's `general.architecture`. */
export type Source = "hf" | "gguf";
const words = (names: string | undefined): string[] => names?.split(/\s+/) ?? [];

function byName(source: Source): ReadonlyMap<string, Family> {
  return new Map(
    familyRows().flatMap(({ hf, gguf, pairing, ...traits }) => {
      const [hf_pairing, gguf_pairing] = typeof pairing === "string" ? [pairing, pairing] : pairing;
      const family: Family = { ...traits, pairing: hf_pairing, gguf_pairing };
      return words(source === "hf" ? hf : gguf).map((name): [string, Family] => [name, family]);
    }),
  );
}

// Made when first asked for, so that an app which never asks need not carry the table.
const families: { [source in Source]?: ReadonlyMap<string, Family> } = {};

function familiesOf(source: Source): ReadonlyMap<string, Family> {
  return (families[source] ??= byName(source));
}

/** Every `model_type` (`hf`) or `general.architecture` (`gguf`) this package knows the RoPE of. */
export function knownFamilies(source: Source): string[] {
  return [...familiesOf(source).keys()];
}

/** A family by name; empty where this package does not know it. */
export function knownFamily(source: Source, name: string | undefined): Partial<Family> {
  return (name === undefined ? undefined : familiesOf(source).get(name)) ?? {};
}

/** Whether a family is known to have no RoPE on any layer. */
export function isWithoutRope(source: Source, name: string | undefined): boolean {
  return name !== undefined && words(WITHOUT_ROPE[source]).includes(name);
}

/**
 * The family of a `model_type` or `general.architecture`. An unknown one is let through where the caller names the
 * pairing, which is the one thing about it that can neither be read nor guessed.
 *
 * @throws UNKNOWN_FAMILY; INVALID_CONFIG for a family that has no RoPE
 */
export function familyOf(source: Source, name: string | undefined, pairing: Pairing | undefined): Partial<Family> {
  const family = knownFamily(source, name);
  if (family.pairing !== undefined || pairing !== undefined) return family;
  const field = source === "hf" ? "model_type" : "general.architecture";
  const shown = name === undefined ? "none is given" : `"${name}"`;
  if (isWithoutRope(source, name)) return fail("INVALID_CONFIG", field, `${shown} has no rotary position embedding`);
  return fail(
    "UNKNOWN_FAMILY",
    field,
    `${shown}, so the pairing is unknown; pass overrides: { pairing: "half" | "interleaved" | "interleaved_to_half" }`,
  );
}
