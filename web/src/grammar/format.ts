// The option `format`: what the generated text may look like.
import { isDict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { listOf } from "../base/lists.js";
import { messageOf, show } from "../base/show.js";
import { UnknownSyntax } from "../text/pattern/parse.js";
import { choice, EMPTY, type Grammar, isNothing, ROOT, set, text, usedRules } from "./expression.js";
import { readGbnf } from "./gbnf.js";
import { patternExpression } from "./pattern.js";
import { schemaGrammar } from "./schema/convert.js";

/**
 * What the generated text may look like:
 *
 * - `"json"`: a JSON object
 * - `{ schema }`: JSON that matches a JSON schema
 * - `{ regex }`: a text that a regular expression matches as a whole, as its source or a RegExp
 * - `{ choices }`: one of these texts
 * - `{ grammar }`: a text of a grammar in llama.cpp's format GBNF
 */
export type OutputFormat =
  | "json"
  | { readonly schema: object | boolean }
  | { readonly regex: string | RegExp }
  | { readonly choices: readonly string[] }
  | { readonly grammar: string };

const KINDS = ["schema", "regex", "choices", "grammar"] as const;

/** @throws INVALID_ARGUMENT, with the field below `format` @internal */
export function formatGrammar(format: unknown): Grammar {
  if (format === "json") return schemaGrammar({ type: "object" }, "format");
  const given = isDict(format) ? KINDS.filter((kind) => format[kind] !== undefined) : [];
  const [kind] = given;
  if (!isDict(format) || kind === undefined || given.length > 1 || Object.keys(format).length > 1)
    fail(
      "INVALID_ARGUMENT",
      "format",
      `must be "json" or an object with one of ${KINDS.join(", ")} (got ${show(format)})`,
    );
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
  return new Map([[ROOT, choice(...(choices as string[]).map(text))]]);
}

function regexGrammar(value: unknown): Grammar {
  const field = "format.regex";
  const flags = value instanceof RegExp ? value.flags.replace(/[dgvuy]/g, "") : "";
  if (flags !== "")
    fail("INVALID_ARGUMENT", field, `must not have the flags ${flags}; write what they mean, such as [aA] for i`);
  const source = value instanceof RegExp ? value.source : value;
  if (typeof source !== "string") fail("INVALID_ARGUMENT", field, `must be a regular expression (got ${show(value)})`);
  try {
    return checked(new Map([[ROOT, patternExpression(source, set, EMPTY)]]), field);
  } catch (error) {
    if (!(error instanceof UnknownSyntax)) throw error;
    fail("INVALID_ARGUMENT", field, `can't be generated: ${messageOf(error)} (got ${show(source)})`);
  }
}

function checked(grammar: Grammar, field: string): Grammar {
  if (isNothing(grammar.get(ROOT)!)) fail("INVALID_ARGUMENT", field, "allows no text of finite length");
  return grammar;
}
