// Turns a JSON schema into the grammar of the texts that match it. The engines on npm that have such a conversion write numbers beyond their
// limits and control characters in strings, and leave out keywords without a word, so that their texts don't always match.
import * as advise from "../../../core/base/advice.js";
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import {
  choice,
  choiceOf,
  type Expression,
  type Grammar,
  isNothing,
  NOTHING,
  ROOT,
  rule,
  text,
  usedRules,
} from "../expression.js";
import { spend } from "../work.js";
import { arrayExpression } from "./arrays.js";
import { Flattener, onlyKeyword } from "./flatten.js";
import { type JsonType, KEYWORDS_OF_TYPE, readSchema, type Schema } from "./nodes.js";
import { integerExpression, numberExpression } from "./numbers.js";
import { objectExpression } from "./objects.js";
import { type ResolvedSchema, resolveReferences } from "./references.js";
import { SPACE_RULE } from "./space.js";
import { ANY_STRING, stringExpression } from "./strings.js";
import { chosenTypes } from "./types.js";
import { listedValues } from "./values.js";

/** The keywords of texts and numbers, and those that merge.ts and negate.ts add. */
const SCALAR_KEYWORDS = [...KEYWORDS_OF_TYPE.string, ...KEYWORDS_OF_TYPE.number, "patterns", "not"];

/** Schemas inside each other. */
const MAX_NESTED = 100;

/**
 * The texts of JSON that match a schema. Objects have their properties in the schema's order, and others only where
 * `additionalProperties` is given.
 *
 * @throws INVALID_ARGUMENT: no schema, keywords that can't be followed, or no value matches
 */
export function schemaGrammar(schema: unknown, path: string): Grammar {
  const resolved = resolveReferences(schema);
  readSchema(resolved.schema, path);
  return new Converter(resolved).grammar(path);
}

class Converter {
  readonly #root: unknown;
  readonly #rules = new Map<string, Expression>([
    ["space", SPACE_RULE],
    ["string", ANY_STRING],
  ]);
  readonly #refs = new Map<unknown, Expression>();
  readonly #flattener: Flattener;
  /** Expressions of texts and numbers, by what their schemas say: the same schema takes room once. */
  readonly #scalars = new Map<string, Expression>();
  #isRecursive = false;
  #depth = 0;

  constructor({ schema, referred, hasUnevaluated }: ResolvedSchema) {
    this.#root = schema;
    this.#flattener = new Flattener(referred, hasUnevaluated);
  }

  grammar(path: string): Grammar {
    const root = this.#reserve(ROOT);
    this.#refs.set("#", root);
    this.#rules.set(ROOT, this.#convert(this.#root, path));
    const used = usedRules(this.#rules);
    if (!isNothing(used.get(ROOT)!)) return used;
    if (this.#flattener.hasLeftOut)
      fail(
        "INVALID_ARGUMENT",
        path,
        "allows no value that can be generated beside not, if and contains",
        advise.other("write what is allowed instead"),
      );
    fail("INVALID_ARGUMENT", path, `allows no value${this.#isRecursive ? " of finite length" : ""}`);
  }

  /** A rule that is made later. */
  #reserve(name: string): Expression {
    this.#rules.set(name, NOTHING);
    return rule(name);
  }

  readonly #addRule = (expression: Expression): Expression => {
    const name = `part_${this.#rules.size}`;
    this.#rules.set(name, expression);
    return rule(name);
  };

  readonly #convert = (given: unknown, path: string): Expression => {
    if (++this.#depth > MAX_NESTED) fail("INVALID_ARGUMENT", path, `is nested more than ${MAX_NESTED} deep`);
    spend(50, path);
    try {
      return this.#converted(readSchema(given, path), path);
    } finally {
      this.#depth -= 1;
    }
  };

  #converted(schema: Schema, path: string): Expression {
    if (schema === true || (isDict(schema) && Object.keys(schema).length === 0)) return this.#anyValue();
    if (schema === false) return NOTHING;
    if (onlyKeyword(schema, "$ref")) return this.#reference(schema["$ref"], path);
    if (onlyKeyword(schema, "anyOf") && Array.isArray(schema["anyOf"]))
      return choiceOf(schema["anyOf"].map((option, i) => this.#convert(option, `${path}.anyOf[${i}]`)));
    if (onlyKeyword(schema, "oneOf") && Array.isArray(schema["oneOf"])) {
      this.#flattener.alternatives(schema, path); // checks that no two options match the same value
      return choiceOf(schema["oneOf"].map((option, i) => this.#convert(option, `${path}.oneOf[${i}]`)));
    }
    return choiceOf(this.#flattener.alternatives(schema, path).map((one) => this.#value(one, path)));
  }

  /** A rule for what `$ref` names, so that a schema can contain itself. */
  #reference(ref: unknown, path: string): Expression {
    const known = this.#refs.get(ref);
    if (known !== undefined) {
      this.#isRecursive = true;
      return known;
    }
    const referred = this.#flattener.referred(ref, path);
    const name = `ref_${this.#refs.size}`;
    const reference = this.#reserve(name);
    this.#refs.set(ref, reference);
    this.#rules.set(name, this.#convert(referred, path));
    return reference;
  }

  /** A schema in which nothing is combined. */
  #value(schema: Dict, path: string): Expression {
    if (Object.keys(schema).length === 0) return this.#anyValue();
    const values = listedValues(schema, path);
    if (values === undefined)
      return choice(...chosenTypes(schema, path).map((type) => this.#valueOf(type, schema, path)));
    const hasInside = values.some((value) => typeof value === "object" && value !== null);
    const keywords: readonly string[] = [...KEYWORDS_OF_TYPE.object, ...KEYWORDS_OF_TYPE.array, "multipleOf"];
    const beside = keywords.find((keyword) => keyword in schema);
    if (hasInside && beside !== undefined)
      fail("INVALID_ARGUMENT", `${path}.${beside}`, "can't be used with enum or const of objects or arrays");
    return choiceOf(values.map((value) => text(JSON.stringify(value))));
  }

  #valueOf(type: JsonType, schema: Dict, path: string): Expression {
    switch (type) {
      case "object":
        return objectExpression(schema, path, this.#convert, this.#addRule);
      case "array":
        return arrayExpression(schema, path, this.#convert, this.#addRule);
      case "string":
        return this.#scalar(type, schema, path, stringExpression);
      case "number":
        return this.#scalar(type, schema, path, numberExpression);
      case "integer":
        if (chosenTypes(schema, path).includes("number")) return NOTHING;
        return this.#scalar(type, schema, path, integerExpression);
      case "boolean":
        return choice(text("true"), text("false"));
      case "null":
        return text("null");
    }
  }

  /** Makes a rule of what several schemas may say. */
  #scalar(type: JsonType, schema: Dict, path: string, make: (schema: Dict, path: string) => Expression): Expression {
    const key = JSON.stringify([type, ...SCALAR_KEYWORDS.map((keyword) => schema[keyword])]);
    spend(key.length / 10, path);
    let expression = this.#scalars.get(key);
    if (expression === undefined) {
      const made = make(schema, path);
      const isShort = made.kind === "text" || isNothing(made);
      expression = made === ANY_STRING ? rule("string") : isShort ? made : this.#addRule(made);
      this.#scalars.set(key, expression);
    }
    return expression;
  }

  #anyValue(): Expression {
    if (!this.#rules.has("value")) {
      this.#reserve("value");
      const types = ["object", "array", "string", "number", "boolean", "null"] as const;
      this.#rules.set("value", choice(...types.map((type) => this.#valueOf(type, {}, "value"))));
    }
    return rule("value");
  }
}
