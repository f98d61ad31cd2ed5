// Looks up a model family by config.json's model_type or GGUF's general.architecture.
import * as advise from "../base/advice.js";
import { fail } from "../base/errors.js";
import { nearest } from "../base/options.js";
import { quote } from "../base/show.js";
import { layeredRows } from "./families_by_layer.js";
import { IMAGE_ENCODERS, IMAGES, NESTING, REFUSED, WITHOUT_ROPE } from "./families_refused.js";
import { sharedRopeRows } from "./families.js";
import type { Family } from "./family.js";
import { failWithoutRope } from "./no_rope.js";
import type { Pairing } from "./types.js";

/** The kind of name: config.json's `model_type` (`hf`) or GGUF's `general.architecture` (`gguf`). */
export type Source = "hf" | "gguf";

const words = (names: string | undefined): string[] => names?.split(/\s+/) ?? [];

function byName(source: Source): ReadonlyMap<string, Family> {
  return new Map(
    [...sharedRopeRows(), ...layeredRows()].flatMap(({ both, hf = both, gguf = both, pairing, ...traits }) => {
      const [hf_pairing, gguf_pairing] = typeof pairing === "string" ? [pairing, pairing] : pairing;
      const family: Family = { ...traits, pairing: hf_pairing, gguf_pairing };
      return words(source === "hf" ? hf : gguf).map((name): [string, Family] => [name, family]);
    }),
  );
}

// Made on first use, so that bundlers can drop the table from apps that never read a model's files.
const families: { [source in Source]?: ReadonlyMap<string, Family> } = {};

function familiesOf(source: Source): ReadonlyMap<string, Family> {
  return (families[source] ??= byName(source));
}

/** The family of a nested config: some models change the defaults of the class that they nest (Voxtral). */
export function nestedFamily(outer: string | undefined, name: string | undefined): string | undefined {
  const both = `${outer}/${name}`;
  return familiesOf("hf").has(both) ? both : name;
}

/** A family by name; empty if this package doesn't know it. */
export function knownFamily(source: Source, name: string | undefined): Partial<Family> {
  return (name === undefined ? undefined : familiesOf(source).get(name)) ?? {};
}

/** Whether a family is known to have no RoPE on any layer. */
export function isWithoutRope(source: Source, name: string | undefined): boolean {
  return name !== undefined && words(WITHOUT_ROPE[source]).includes(name);
}

/**
 * A family by name. An unknown one is accepted if the caller passes a pairing, the only fact about it that can't be
 * read from its files or guessed.
 *
 * @param isNested whether a nested config has this name, or inherits it
 * @throws UNKNOWN_FAMILY; INVALID_CONFIG for a family without RoPE; UNSUPPORTED_ROPE_TYPE for one with another RoPE
 */
export function familyOf(
  source: Source,
  name: string | undefined,
  pairing: Pairing | undefined,
  isNested = false,
): Partial<Family> {
  const family = knownFamily(source, name);
  if (family.pairing !== undefined) return family;
  const field = fieldOf(source);
  if (isWithoutRope(source, name)) return failWithoutRope(field, `is ${quote(name!)}`);
  checkNotRefused(source, name);
  if (source === "hf" && IMAGE_ENCODERS.test(name ?? "")) failUnsupported(source, name!, IMAGES);
  if (pairing !== undefined) return family;
  if (source === "hf" && !isNested && words(NESTING).includes(name ?? "")) {
    return fail(
      "UNKNOWN_FAMILY",
      field,
      `${quote(name!)} has its RoPE in text_config, which is missing`,
      advise.other("pass the whole config.json"),
    );
  }
  const what = name === undefined ? "is missing" : `${quote(name)} is not a known family${similarFamily(source, name)}`;
  return fail("UNKNOWN_FAMILY", field, `${what}, so the pairing is unknown`, advise.pairing());
}

function similarFamily(source: Source, name: string): string {
  // Versions of a family may differ in their RoPE, so another number isn't taken for a slip.
  const digits = (text: string): string => text.replace(/\D/g, "");
  const names = [...familiesOf(source).keys()].filter((known) => digits(known) === digits(name));
  const near = nearest(name, names, Math.max(1, name.length / 5));
  return near === undefined ? "" : ` (did you mean ${quote(near)}?)`;
}

/** Why no config of this package describes the RoPE of a family; undefined if one does. */
export function refusalOf(source: Source, name: string | undefined): string | undefined {
  return Object.entries(REFUSED[source]).find(([, names]) => name !== undefined && words(names).includes(name))?.[0];
}

/** @throws UNSUPPORTED_ROPE_TYPE for a family whose RoPE no config of this package describes, with the reason */
export function checkNotRefused(source: Source, name: string | undefined): void {
  const reason = refusalOf(source, name);
  if (reason !== undefined) failUnsupported(source, name!, reason);
}

function failUnsupported(source: Source, name: string, reason: string): never {
  return fail("UNSUPPORTED_ROPE_TYPE", fieldOf(source), `${quote(name)} is not supported: ${reason}`);
}

const fieldOf = (source: Source): string => (source === "hf" ? "model_type" : "general.architecture");
