// What a prompt lacks of what was given.
import { fail } from "../../../core/base/errors.js";
import type { WarningListener } from "../../../core/base/warnings.js";

/** Something that was given and isn't in a prompt. */
export interface ChatProblem {
  /** Such as `messages[2].content`. */
  readonly field: string;
  readonly problem: string;
  /** Whether it is a text of someone else than the assistant: the model would answer something else. */
  readonly isAsked: boolean;
}

/** Refuses a prompt for a model that can't see what it is asked. @throws INVALID_ARGUMENT */
export function checkAsked(problems: readonly ChatProblem[]): void {
  const asked = problems.find(({ isAsked }) => isAsked);
  if (asked !== undefined) fail("INVALID_ARGUMENT", asked.field, asked.problem);
}

/** Problems as warnings, one for each kind. */
export function warningsOf(problems: readonly ChatProblem[], fieldOf = (field: string): string => field): string[] {
  const kinds = new Map<string, string[]>();
  for (const { field, problem } of problems) {
    const fields = kinds.get(problem) ?? [];
    kinds.set(problem, fields);
    fields.push(field);
  }
  return Array.from(kinds, ([problem, [field, ...others]]) => {
    const more =
      others.length === 0 ? "" : ` (and of ${others.length} more, up to ${fieldOf(others[others.length - 1]!)})`;
    return `${fieldOf(field!)}: ${problem}${more}`;
  });
}

/** What gets warnings. */
export type OnWarning = WarningListener | undefined;

/** Passes on problems as warnings; to the console if nobody asks for them, for nothing is left out in silence. */
export function warn(problems: readonly ChatProblem[], onWarning: OnWarning): void {
  warningsOf(problems).forEach((message) => (onWarning ?? printWarning)(message));
}

/** Where warnings go that nobody asks for. */
export function printWarning(message: string): void {
  console.warn(message);
}
