// Checks the values of keywords, so that all other files can rely on them.
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { messageOf, show } from "../../../core/base/show.js";
import { spend } from "../work.js";

/** What a keyword's value must be, and whether it is. */
type Check = readonly [what: string, test: (value: unknown) => boolean];

const isText = (value: unknown): boolean => typeof value === "string";
const TEXT: Check = ["a text", isText];
const OBJECT: Check = ["an object", isDict];
const NAMES: Check = ["a list of names", (value) => Array.isArray(value) && value.every(isText)];
const VALUES: Check = ["a list of values", Array.isArray];
const SCHEMAS: Check = ["a list of schemas", Array.isArray];
const NUMBER: Check = ["a number", Number.isFinite];
const LENGTH: Check = ["an integer from 0", (value) => Number.isSafeInteger(value) && (value as number) >= 0];

const CHECKS: Readonly<Record<string, Check>> = {
  enum: VALUES,
  allOf: SCHEMAS,
  anyOf: SCHEMAS,
  oneOf: SCHEMAS,
  prefixItems: SCHEMAS,
  required: NAMES,
  properties: OBJECT,
  patternProperties: OBJECT,
  dependentRequired: OBJECT,
  dependentSchemas: OBJECT,
  dependencies: OBJECT,
  minimum: NUMBER,
  maximum: NUMBER,
  exclusiveMinimum: NUMBER,
  exclusiveMaximum: NUMBER,
  multipleOf: ["a number above 0", (value) => Number.isFinite(value) && (value as number) > 0],
  minLength: LENGTH,
  maxLength: LENGTH,
  minItems: LENGTH,
  maxItems: LENGTH,
  minProperties: LENGTH,
  maxProperties: LENGTH,
  minContains: LENGTH,
  maxContains: LENGTH,
  uniqueItems: ["true or false", (value) => typeof value === "boolean"],
  pattern: TEXT,
  format: TEXT,
};

/** @throws INVALID_ARGUMENT */
export function checkValues(schema: Dict, path: string): void {
  for (const [keyword, value] of Object.entries(schema)) {
    const check = Object.hasOwn(CHECKS, keyword) ? CHECKS[keyword] : undefined;
    if (check === undefined) continue;
    const [what, test] = check;
    const field = `${path}.${keyword}`;
    if (Array.isArray(value)) spend(value.length, field);
    if (!test(value)) fail("INVALID_ARGUMENT", field, `must be ${what} (got ${show(value)})`);
    if (keyword === "pattern") checkPattern(value as string, field);
    if (keyword === "patternProperties") for (const pattern of Object.keys(value as Dict)) checkPattern(pattern, field);
  }
}

function checkPattern(source: string, field: string): void {
  spend(source.length, field);
  try {
    new RegExp(source, "u");
  } catch (error) {
    fail("INVALID_ARGUMENT", field, `can't be generated: ${messageOf(error)} (got ${show(source)})`);
  }
}
