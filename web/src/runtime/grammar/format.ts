// The option `format`: what the generated text may look like.
import * as advise from "../../core/base/advice.js";
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { listOf } from "../../core/base/lists.js";
import { messageOf, show } from "../../core/base/show.js";
import { UnknownSyntax } from "../text/pattern/parse.js";
import {
  choiceOf,
  EMPTY,
  type Expression,
  type Grammar,
  intersectRanges,
  isNothing,
  type Range,
  ROOT,
  set,
  text,
  usedRules,
} from "./expression.js";
import { readGbnf } from "./gbnf.js";
import { patternExpression } from "./pattern.js";
import { schemaGrammar } from "./schema/convert.js";
import { spend } from "./work.js";

/**
 * What the generated text may look like:
 *
 * - `"json"`: a JSON object
 * - `{ schema }`: JSON that matches a JSON schema
 * - `{ regex }`: a text that a regular expression matches as a whole, as its source (read with the flag u) or a RegExp
 * - `{ choices }`: one of these texts
 * - `{ grammar }`: a text of a grammar in llama.cpp's format GBNF
 */
export type OutputFormat =
  | "json"
  | { readonly schema: object | boolean }
  | { readonly regex: string | RegExp }
  | { readonly choices: readonly string[] }
  | { readonly grammar: string };

/** Characters of one UTF-16 unit. */
const BASIC: readonly Range[] = [[0, 0xffff]];

const KINDS = ["schema", "regex", "choices", "grammar"] as const;

/** @throws INVALID_ARGUMENT, with the field below `format` @internal */
export function formatGrammar(format: unknown): Grammar {
  return withinStack(() => readFormat(format));
}

/** Calls a function that may call itself too often for the stack. @throws INVALID_ARGUMENT @internal */
export function withinStack<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    fail("INVALID_ARGUMENT", "format", "is too large or nested too deeply", { cause });
  }
}

function readFormat(format: unknown): Grammar {
  if (format === "json") return schemaGrammar({ type: "object" }, "format");
  const keys = isDict(format) ? Object.keys(format) : [];
  const kind = KINDS.find((known) => known === keys[0]);
  if (!isDict(format) || kind === undefined || keys.length > 1 || format[kind] === undefined) {
    const got = keys.length > 0 ? `an object with ${keys.join(", ")}` : show(format);
    fail("INVALID_ARGUMENT", "format", `must be "json" or an object with one of ${KINDS.join(", ")} (got ${got})`);
  }
  const value = format[kind];
  if (kind === "schema") return schemaGrammar(value, "format.schema");
  if (kind === "choices") return choicesGrammar(value);
  if (kind === "regex") return regexGrammar(value);
  if (typeof value !== "string") fail("INVALID_ARGUMENT", "format.grammar", `must be a text (got ${show(value)})`);
  return checked(usedRules(readGbnf(value)), "format.grammar");
}

function choicesGrammar(value: unknown): Grammar {
  const choices = listOf(value, "format.choices", "a list of texts");
  const wrong = choices.find((one) => typeof one !== "string");
  if (choices.length === 0 || wrong !== undefined)
    fail("INVALID_ARGUMENT", "format.choices", `must be one or more texts (got ${show(wrong ?? choices)})`);
  spend(20 * choices.length);
  return new Map([[ROOT, choiceOf((choices as string[]).map(text))]]);
}

function regexGrammar(value: unknown): Grammar {
  const field = "format.regex";
  if (value instanceof RegExp) checkFlags(value, field);
  const source = value instanceof RegExp ? value.source : value;
  if (typeof source !== "string") fail("INVALID_ARGUMENT", field, `must be a regular expression (got ${show(value)})`);
  try {
    // Without the flag u, a character above U+FFFF would be two.
    const isBasic = value instanceof RegExp && !value.flags.includes("u");
    const character = (ranges: readonly Range[]): Expression => set(isBasic ? intersectRanges(ranges, BASIC) : ranges);
    return checked(new Map([[ROOT, patternExpression(source, character, EMPTY)]]), field);
  } catch (error) {
    if (!(error instanceof UnknownSyntax)) throw error;
    fail("INVALID_ARGUMENT", field, `can't be generated: ${messageOf(error)} (got ${show(source)})`);
  }
}

/** Sources are read as with the flag u. Without it, these mean something else. */
const NEEDS_U = /\\u\{|\\[pP]\{|[\u{10000}-\u{10ffff}]|\\u[dD][89a-fA-F][\da-fA-F]{2}/u;

function checkFlags({ source, flags }: RegExp, field: string): void {
  const other = flags.replace(/[dgvuy]/g, "");
  if (other !== "")
    fail(
      "INVALID_ARGUMENT",
      field,
      `must not have the flags ${other}`,
      advise.other("write what they mean, such as [aA] for i"),
    );
  if (flags.includes("v"))
    fail("INVALID_ARGUMENT", field, "must not have the flag v", advise.other("write it with the flag u"));
  if (!flags.includes("u") && NEEDS_U.test(source))
    fail(
      "INVALID_ARGUMENT",
      field,
      `needs the flag u for \\u{…}, \\p{…} and characters above U+FFFF (got ${show(source)})`,
    );
}

function checked(grammar: Grammar, field: string): Grammar {
  if (isNothing(grammar.get(ROOT)!)) fail("INVALID_ARGUMENT", field, "allows no text of finite length");
  return grammar;
}
