// Parsed templates. Each is parsed once.
import { FILTERS } from "./filters/filters.js";
import { parse } from "./parse/parser.js";
import type { Program } from "./parse/syntax.js";
import { isTest } from "./tests.js";

/** Templates that are kept. A model has few. */
const MAX_KEPT = 16;

const kept = new Map<string, Program>();

/** A template, parsed when it is used for the first time. @throws SyntaxError */
export function programOf(template: string): Program {
  const program = kept.get(template) ?? parse(template, { isFilter: (name) => FILTERS.has(name), isTest });
  kept.delete(template);
  kept.set(template, program);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!);
  return program;
}
