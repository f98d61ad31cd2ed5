// Checks that no generated value matches two options of oneOf.
import * as advise from "../../../core/base/advice.js";
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { sizeOf, spend } from "../work.js";
import { chosenTypes, typesOf } from "./types.js";
import { listedValues } from "./values.js";

/** Returns the alternatives of a schema. */
type Alternatives = (schema: unknown) => readonly Dict[];

/** How deep properties are compared. */
const DEEPEST = 3;

/** The most properties that are tried as the one that tells the options apart. */
const MAX_TAGS = 5;

/**
 * @param options - the alternatives of each option
 * @throws INVALID_ARGUMENT: two options could match the same value
 */
export function checkDisjoint(options: readonly (readonly Dict[])[], alternatives: Alternatives, path: string): void {
  if (haveOwnValues(options, path) || haveOwnTags(options, alternatives, path)) return;
  options.forEach((option, i) =>
    options.forEach((other, j) => {
      for (const schemas of [option, other])
        for (const schema of schemas) spend(0.3 * schemas.length * sizeOf(schema), path);
      if (i === j || areApart(option, other, alternatives, path, DEEPEST)) return;
      const message = `a value could match both option ${Math.min(i, j)} and ${Math.max(i, j)}`;
      fail("INVALID_ARGUMENT", path, message, advise.other("use anyOf, or give each a property with its own const"));
    }),
  );
}

/** Whether all options list their values, and no two list the same one. */
function haveOwnValues(options: readonly (readonly Dict[])[], path: string): boolean {
  const owners = new Map<string, number>();
  return options.every((option, i) =>
    option.every((schema) => {
      spend(sizeOf(schema), path);
      const values = listedValues(schema, path);
      return values?.every((value) => {
        const text = JSON.stringify(value);
        const owner = owners.get(text) ?? i;
        owners.set(text, owner);
        return owner === i;
      });
    }),
  );
}

/** Whether all options are objects with a required property whose values tell them apart. */
function haveOwnTags(options: readonly (readonly Dict[])[], alternatives: Alternatives, path: string): boolean {
  const isTagged = ({ properties, required, enum: values, ...schema }: Dict, name: string): boolean =>
    values === undefined &&
    !("const" in schema) &&
    chosenTypes({ properties, ...schema }, path).join() === "object" &&
    isDict(properties) &&
    Object.hasOwn(properties, name) &&
    listOf(required).includes(name);
  const names = listOf(options[0]?.[0]?.["required"]).slice(0, MAX_TAGS);
  return names.some((name) => {
    if (!options.every((option) => option.every((schema) => isTagged(schema, name)))) return false;
    const tags = options.map((option) => option.flatMap(({ properties }) => alternatives((properties as Dict)[name])));
    return haveOwnValues(tags, path);
  });
}

/** Whether no text that is generated for `made` matches `other`. */
function areApart(
  made: readonly Dict[],
  other: readonly Dict[],
  alternatives: Alternatives,
  path: string,
  depth: number,
): boolean {
  return made.every((one) => other.every((schema) => isApart(one, schema, alternatives, path, depth)));
}

function isApart(made: Dict, other: Dict, alternatives: Alternatives, path: string, depth: number): boolean {
  const values = listedValues(made, path);
  const listed = listedValues(other, path);
  if (values !== undefined) return !mayMatch(values, listed, other, path);
  const types = chosenTypes(made, path).filter((type) => typesOf(other["type"], path).includes(type));
  if (types.length === 0) return true;
  if (listed !== undefined && !mayMatch(listed, undefined, made, path)) return true;
  if (types.every((type) => type === "integer" || type === "number")) return rangesAreApart(made, other);
  if (types.length > 1 || types[0] !== "object" || depth === 0) return false;
  return propertiesAreApart(made, other, (one, two) =>
    areApart(alternatives(one), alternatives(two), alternatives, path, depth - 1),
  );
}

/** Whether one of some values could match, only by their types, and limits of numbers and texts. */
function mayMatch(
  values: readonly unknown[],
  listed: readonly unknown[] | undefined,
  schema: Dict,
  path: string,
): boolean {
  if (listed === undefined) return listedValues({ ...schema, enum: values }, path)!.length > 0;
  const texts = new Set(listed.map((value) => JSON.stringify(value)));
  return values.some((value) => texts.has(JSON.stringify(value)));
}

function rangesAreApart(one: Dict, other: Dict): boolean {
  const isBelow = (low: Dict, high: Dict): boolean => {
    const most = Math.min(numberOf(low["maximum"], Infinity), numberOf(low["exclusiveMaximum"], Infinity));
    const least = Math.max(numberOf(high["minimum"], -Infinity), numberOf(high["exclusiveMinimum"], -Infinity));
    const isOpen = low["exclusiveMaximum"] === most || high["exclusiveMinimum"] === least;
    return most < least || (most === least && isOpen);
  };
  return isBelow(one, other) || isBelow(other, one);
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

/** Generated objects have no properties but those that their schema names, unless it says so. */
function propertiesAreApart(made: Dict, other: Dict, areApart: (one: unknown, other: unknown) => boolean): boolean {
  const [own, others] = [made, other].map(({ properties }) => (isDict(properties) ? properties : {})) as [Dict, Dict];
  const required = listOf(made["required"]);
  const hasOthers = made["additionalProperties"] !== undefined && made["additionalProperties"] !== false;
  const isNamed = (name: string): boolean =>
    Object.hasOwn(own, name) || hasOthers || made["patternProperties"] !== undefined;
  if (listOf(other["required"]).some((name) => !isNamed(name))) return true;
  if (other["additionalProperties"] === false && required.some((name) => !Object.hasOwn(others, name))) return true;
  return required.some(
    (name) => Object.hasOwn(own, name) && Object.hasOwn(others, name) && areApart(own[name], others[name]),
  );
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? (value as string[]) : [];
}
