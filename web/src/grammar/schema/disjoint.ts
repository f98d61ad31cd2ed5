// Checks that no generated value matches two options of oneOf.
import { isDict, type Dict } from "../../base/dict.js";
import { fail } from "../../base/errors.js";
import { chosenTypes, typesOf } from "./types.js";
import { listedValues } from "./values.js";

/** Returns the alternatives of a schema. */
type Alternatives = (schema: unknown) => readonly Dict[];

/** How deep properties are compared. */
const DEEPEST = 3;

/**
 * @param options - the alternatives of each option
 * @throws INVALID_ARGUMENT: two options could match the same value
 */
export function checkDisjoint(options: readonly (readonly Dict[])[], alternatives: Alternatives, path: string): void {
  options.forEach((option, i) =>
    options.forEach((other, j) => {
      if (i === j || areApart(option, other, alternatives, path, DEEPEST)) return;
      const message = `a value could match both option ${Math.min(i, j)} and ${Math.max(i, j)}; use anyOf, or give each a property with its own const`;
      fail("INVALID_ARGUMENT", path, message);
    }),
  );
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
  if (values !== undefined) return values.every((value) => !mayMatch(value, other, path));
  const types = chosenTypes(made, path).filter((type) => typesOf(other["type"], path).includes(type));
  if (types.length === 0) return true;
  const listed = listedValues(other, path);
  if (listed !== undefined && listed.every((value) => !mayMatch(value, made, path))) return true;
  if (types.every((type) => type === "integer" || type === "number")) return rangesAreApart(made, other);
  if (types.length > 1 || types[0] !== "object" || depth === 0) return false;
  return propertiesAreApart(made, other, (one, two) =>
    areApart(alternatives(one), alternatives(two), alternatives, path, depth - 1),
  );
}

/** Whether a value of enum or const could match: only its type, and limits of numbers and texts are looked at. */
function mayMatch(value: unknown, schema: Dict, path: string): boolean {
  const values = listedValues(schema, path);
  if (values !== undefined) return values.some((one) => JSON.stringify(one) === JSON.stringify(value));
  return listedValues({ ...schema, enum: [value] }, path)!.length > 0;
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
