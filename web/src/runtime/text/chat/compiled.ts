// A chat template that is parsed once, and what trials have found out about it.
import * as advise from "../../../core/base/advice.js";
import { fail, RopewalkError } from "../../../core/base/errors.js";
import { messageOf, printable, show } from "../../../core/base/show.js";
import { OverBudget } from "../template/values/budget.js";
import { Budget, globalsOf, programOf, runTemplate, TemplateException, valueOf } from "../template/engine.js";
import { textsOf } from "../template/parse/lexer.js";
import type { Program } from "../template/parse/syntax.js";
import type { Value } from "../template/values/values.js";

/** The variables of a template, by name. */
export type Inputs = Readonly<Record<string, unknown>>;

/** Characters of a reason that an error message quotes. */
const MAX_QUOTED = 400;

/** The most templates that stay parsed. */
const KEPT = 8;
const kept = new Map<string, ChatTemplate>();

/** A parsed template. */
export class ChatTemplate {
  readonly #program: Program;
  readonly #found = new Map<string, unknown>();
  #isTooSlow = false;

  constructor(
    readonly source: string,
    program: Program,
  ) {
    this.#program = program;
  }

  /**
   * Runs the template.
   * @param given - what decides how long it may take: the variables, if they aren't made of larger ones
   * @throws INVALID_ARGUMENT (messages): they have values that aren't JSON; and what the template throws
   */
  run(inputs: Inputs, now: Date, given: unknown = inputs): string {
    const budget = new Budget(given);
    return runTemplate(this.#program, [...globalsOf(now, budget), ...convert(inputs)], budget);
  }

  /** What the template writes for messages that are a trial; undefined if it fails. */
  trial(messages: readonly object[], more: Inputs = {}): string | undefined {
    if (this.#isTooSlow) return undefined;
    const inputs = { bos_token: "", eos_token: "", tools: [], documents: null, add_generation_prompt: true };
    try {
      return this.run({ ...inputs, ...more, messages }, new Date());
    } catch (error) {
      this.#isTooSlow = error instanceof OverBudget; // further trials would take as long
      return undefined;
    }
  }

  /** All texts that the source has, between its tags and in quotes. */
  literals(): string {
    return textsOf(this.source).join("\0");
  }

  /** The result of trials, which run once. */
  found<Result>(what: string, tryOut: () => Result): Result {
    if (!this.#found.has(what)) this.#found.set(what, tryOut());
    return this.#found.get(what) as Result;
  }
}

/** Parses a template. @throws INVALID_FILE (chat_template) */
export function chatTemplateOf(source: unknown): ChatTemplate {
  if (typeof source !== "string")
    return fail("INVALID_FILE", "chat_template", `must be a string (got ${show(source)})`);
  const template = kept.get(source) ?? new ChatTemplate(source, parse(source));
  kept.delete(source); // the one that was used last is the last to go
  kept.set(source, template);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
  return template;
}

function parse(template: string): Program {
  try {
    return programOf(template);
  } catch (error) {
    return failTemplate("the template cannot be parsed", error);
  }
}

/** Says why a template failed: it rejects the messages, or it is at fault. Errors of this package stay. */
export function failRun(error: unknown): never {
  if (error instanceof RopewalkError) throw error;
  if (error instanceof TemplateException)
    fail("INVALID_ARGUMENT", "messages", `the model's chat template rejects them: ${error.message}`, { cause: error });
  failTemplate("the template failed for these messages", error);
}

function failTemplate(what: string, error: unknown): never {
  const isStackFull = error instanceof RangeError && /call stack|recursion/i.test(error.message);
  const reason = isStackFull ? "it nests too deeply" : messageOf(error);
  const short = reason.length > MAX_QUOTED ? `${reason.slice(0, MAX_QUOTED)}…` : reason;
  fail("INVALID_FILE", "chat_template", `${what}: ${printable(short)}`, {
    ...advise.other("use another template, or write the prompt without one"),
    cause: error,
  });
}

/** Converts variables to the template's values. */
function convert(inputs: Inputs): [string, Value][] {
  try {
    return Object.entries(inputs).map(([name, value]) => [name, valueOf(value)]);
  } catch (cause) {
    fail(
      "INVALID_ARGUMENT",
      "messages",
      "they, or the tools or variables, have values that aren't JSON, or that are nested too deeply",
      { cause },
    );
  }
}
