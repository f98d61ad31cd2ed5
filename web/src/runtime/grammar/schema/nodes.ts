// The keywords of JSON Schema: which are read, which mean nothing for a text, and which are refused.
import * as advise from "../../../core/base/advice.js";
import { isDict, type Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { spend } from "../work.js";
import { checkValues } from "./keyword_values.js";

/** A schema: true allows everything, false nothing. */
export type Schema = boolean | Dict;

/** The types of JSON values. An integer is a number too. */
export const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
export type JsonType = (typeof TYPES)[number];

/** The keywords that only say something about values of a type. */
export const KEYWORDS_OF_TYPE = {
  object: [
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
  ],
  array: ["items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
} as const;

/** Keywords that a text needn't follow. */
const ANNOTATIONS = new Set([
  "title",
  "description",
  "markdownDescription",
  "default",
  "example",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  // OpenAPI's
  "discriminator",
  "xml",
  "externalDocs",
  // those of editors and generators of code
  "markdownEnumDescriptions",
  "enumDescriptions",
  "enumNames",
  "deprecationMessage",
  "defaultSnippets",
  "doNotSuggest",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "$schema",
  "$id",
  "id",
  "$comment",
  "$defs",
  "definitions",
  "$anchor",
  "$dynamicAnchor",
  "$vocabulary",
]);

/** Keywords that say something only of some values. */
export const CONDITIONS = [
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "contains",
  "minContains",
  "maxContains",
] as const;

const READ = new Set<string>([
  "type",
  "enum",
  "const",
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "unevaluatedProperties",
  "unevaluatedItems",
  "not",
  ...CONDITIONS,
  ...Object.values(KEYWORDS_OF_TYPE).flat(),
]);

/** What to write instead of keywords that a grammar can't follow. */
const ADVICE: Readonly<Record<string, string>> = {
  $dynamicRef: "use $ref",
  $recursiveRef: "use $ref",
  nullable: 'use "type": ["…", "null"]',
};

/** Whether a keyword says nothing about the text. */
export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword) || keyword.startsWith("x-");
}

/** A schema with the keywords that count. @throws INVALID_ARGUMENT */
export function readSchema(value: unknown, path: string): Schema {
  if (typeof value === "boolean") return value;
  if (!isDict(value))
    fail("INVALID_ARGUMENT", path, `must be a JSON schema, an object or a boolean (got ${show(value)})`);
  const kept: Record<string, unknown> = {};
  for (const [keyword, given] of Object.entries(value)) {
    spend(5, path);
    if (given === undefined || isAnnotation(keyword) || saysNothing(keyword, given)) continue;
    if (!READ.has(keyword)) {
      const advice = ADVICE[keyword] ?? "remove it, or begin its name with x- if it is an annotation";
      fail(
        "INVALID_ARGUMENT",
        `${path}.${keyword}`,
        "isn't supported in a schema for generated text",
        advise.other(advice),
      );
    }
    kept[keyword] = given;
  }
  const current = withCurrentKeywords(kept);
  checkValues(current, path);
  return current;
}

/** Writes what drafts 4 to 7 wrote differently as the draft of 2020 does. */
function withCurrentKeywords(schema: Record<string, unknown>): Dict {
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (schema[exclusive] === true && schema[limit] !== undefined) {
      schema[exclusive] = schema[limit];
      delete schema[limit];
    } else if (typeof schema[exclusive] === "boolean") delete schema[exclusive];
  }
  if (Array.isArray(schema["items"])) {
    schema["prefixItems"] = schema["items"];
    if (schema["additionalItems"] === undefined) delete schema["items"];
    else schema["items"] = schema["additionalItems"];
  }
  delete schema["additionalItems"]; // without a list of items it means nothing
  return schema;
}

/** Whether a keyword has a value that allows everything. */
function saysNothing(keyword: string, value: unknown): boolean {
  return (keyword === "uniqueItems" && value === false) || (keyword === "nullable" && value === false);
}
