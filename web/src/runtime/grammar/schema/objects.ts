// The texts of JSON objects. Properties stand in the order of the schema.
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { choice, EMPTY, type Expression, isNothing, NOTHING, optional, repeat, sequence, text } from "../expression.js";
import { type AddRule, type Convert, named } from "./arrays.js";
import { ANY_STRING, lengthOf, otherStrings } from "./strings.js";
import { COMMA, SPACE } from "./space.js";
import { readSchema } from "./nodes.js";
import { listedValues, patternMatcher } from "./values.js";
import { failTooLarge } from "../work.js";

/** Keywords that {@link listedValues} knows of texts, but for those that make other schemas. */
const LISTING = new Set(["enum", "const", "type", "minLength", "maxLength", "pattern", "format"]);

/** The most properties whose number matters: there is a rule for each count at each of them. */
const MAX_COUNTED = 300;

/** A property that the schema names. */
interface Property {
  /** Its name, colon and value. */
  readonly text: Expression;
  readonly isRequired: boolean;
}

/** @throws INVALID_ARGUMENT: keywords that can't be combined, or counts that a grammar can't follow */
export function objectExpression(schema: Dict, path: string, convert: Convert, addRule: AddRule): Expression {
  const listed = namedProperties(schema, path);
  const required = new Set((schema["required"] ?? []) as string[]);
  const rest = named(otherProperties(schema, path, Object.keys(listed), convert), addRule);
  const unnamed = [...required].filter((name) => !Object.hasOwn(listed, name));
  const { propertyNames } = schema;
  if (unnamed.length > 0 && propertyNames !== undefined && propertyNames !== true) return NOTHING; // a name that isn't listed
  const others = schema["additionalProperties"] ?? true;
  const all = { ...listed, ...Object.fromEntries(unnamed.map((name) => [name, others])) };
  if (unnamed.length > 0 && schema["patternProperties"] !== undefined)
    fail(
      "INVALID_ARGUMENT",
      `${path}.required`,
      `${show(unnamed[0])} must be one of properties beside patternProperties`,
    );
  const properties = Object.entries(all).map(([name, value]): Property => {
    const written = sequence(text(JSON.stringify(name)), text(":"), SPACE);
    const isRequired = required.has(name);
    return { text: sequence(written, convert(value, `${path}.properties.${name}`)), isRequired };
  });
  const counts = countsOf(schema, path, properties, rest);
  return sequence(text("{"), SPACE, new Members(properties, rest, counts, addRule, path).all(), SPACE, text("}"));
}

function namedProperties(schema: Dict, path: string): Dict {
  const { properties = {}, propertyNames, additionalProperties, required, patternProperties } = schema;
  const field = `${path}.propertyNames`;
  if (propertyNames === undefined || propertyNames === true) return properties as Dict;
  const names = propertyNames === false ? [] : listedNames(propertyNames, field);
  if (patternProperties !== undefined) fail("INVALID_ARGUMENT", field, "can't be used beside patternProperties");
  if (names === undefined) {
    if (schema["properties"] === undefined && required === undefined) return {};
    fail("INVALID_ARGUMENT", field, "must list the names with enum beside properties or required");
  }
  const value = (name: string): unknown =>
    Object.hasOwn(properties as Dict, name) ? (properties as Dict)[name] : (additionalProperties ?? true);
  return Object.fromEntries(names.map((name) => [name, value(name)]));
}

/** The names that propertyNames lists; undefined if it doesn't list them. */
function listedNames(rule: unknown, field: string): string[] | undefined {
  const schema = readSchema(rule, field);
  if (!isDict(schema) || !("enum" in schema || "const" in schema)) return undefined;
  const beside = Object.keys(schema).find((keyword) => !LISTING.has(keyword));
  if (beside !== undefined)
    fail("INVALID_ARGUMENT", `${field}.${beside}`, "can't be used beside enum or const of names");
  return listedValues(schema, field)!.filter((name) => typeof name === "string");
}

/** A property that the schema doesn't name. There is none unless it says so. */
function otherProperties(schema: Dict, path: string, names: readonly string[], convert: Convert): Expression {
  const { additionalProperties, patternProperties, properties } = schema;
  const { propertyNames: rule } = schema;
  if (isDict(rule) && ("enum" in rule || "const" in rule)) return NOTHING;
  if (rule === false) return NOTHING;
  const member = (name: Expression, value: Expression): Expression => sequence(name, text(":"), SPACE, value);
  if (patternProperties !== undefined) {
    const field = `${path}.patternProperties`;
    const [first, ...more] = isDict(patternProperties) ? Object.entries(patternProperties) : [];
    if (first === undefined || more.length > 0) fail("INVALID_ARGUMENT", field, "must have one pattern");
    const [pattern, value] = first;
    const both = names.find(patternMatcher(pattern, field));
    if (both !== undefined) fail("INVALID_ARGUMENT", field, `must not match the property ${show(both)}`);
    return member(convert({ type: "string", pattern }, field), convert(value, `${field}.${pattern}`));
  }
  const isOpen = properties === undefined && schema["required"] === undefined;
  const value = additionalProperties ?? isOpen;
  if (value === false) return NOTHING;
  if (rule !== undefined && rule !== true)
    return member(
      convert({ allOf: [{ type: "string" }, rule] }, `${path}.propertyNames`),
      convert(value, `${path}.additionalProperties`),
    );
  const known = [...names, ...((schema["required"] ?? []) as string[])];
  return member(known.length === 0 ? ANY_STRING : otherStrings(known), convert(value, `${path}.additionalProperties`));
}

/** How many properties an object may have. */
interface Counts {
  readonly least: number;
  readonly most: number;
}

function countsOf(schema: Dict, path: string, properties: readonly Property[], rest: Expression): Counts {
  const least = lengthOf(schema["minProperties"], 0);
  const most = lengthOf(schema["maxProperties"], Infinity);
  if (!isNothing(rest) && least > properties.length + 1) {
    const message = "can't be more than one above the named properties: a name could be generated twice";
    fail("INVALID_ARGUMENT", `${path}.minProperties`, message);
  }
  return { least, most };
}

/** The members of an object. */
class Members {
  /** Whether the number of properties matters. Else all counts share a rule. */
  readonly #counts: boolean;
  readonly #rules = new Map<string, Expression>();

  constructor(
    private readonly properties: readonly Property[],
    private readonly rest: Expression,
    private readonly limits: Counts,
    private readonly addRule: AddRule,
    path: string,
  ) {
    const required = properties.filter(({ isRequired }) => isRequired).length;
    const canExceed = limits.most < properties.length || (limits.most < Infinity && !isNothing(rest));
    this.#counts = limits.least > required || canExceed;
    if (this.#counts && properties.length > MAX_COUNTED)
      failTooLarge(
        path,
        "use fewer properties, or check the result",
        `: it has more than ${MAX_COUNTED} properties beside minProperties or maxProperties`,
      );
  }

  all(): Expression {
    // From the last property on, so that calls don't nest as deep as there are properties.
    for (let i = this.properties.length; i > 0; i--)
      for (let count = this.#counts ? i : 1; count >= 0; count--) this.#from(i, count);
    return this.#from(0, 0);
  }

  /** The members from the property `i` on, after `count` members. Rules keep the text small, for each is used twice. */
  #from(i: number, count: number): Expression {
    const key = `${i} ${this.#counts ? count : Math.min(count, 1)}`;
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const made = this.#make(i, count);
    const expression = made.kind === "text" || isNothing(made) ? made : this.addRule(made);
    this.#rules.set(key, expression);
    return expression;
  }

  #make(i: number, count: number): Expression {
    const { least, most } = this.limits;
    const comma = count === 0 ? EMPTY : COMMA;
    const property = this.properties[i];
    if (property === undefined) return this.#others(least - count, most - count, comma);
    const taken = count < most ? sequence(comma, property.text, this.#from(i + 1, count + 1)) : NOTHING;
    return property.isRequired ? taken : choice(taken, this.#from(i + 1, count));
  }

  /** Properties that aren't named, at least and at most so many. */
  #others(least: number, most: number, comma: Expression): Expression {
    if (most < 0 || (isNothing(this.rest) && least > 0)) return NOTHING;
    if (isNothing(this.rest) || most === 0) return EMPTY;
    const all = sequence(comma, this.rest, repeat(sequence(COMMA, this.rest), Math.max(0, least - 1), most - 1));
    return least > 0 ? all : optional(all);
  }
}
