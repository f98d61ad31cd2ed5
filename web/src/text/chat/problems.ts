// What a prompt lacks of what was given.

/** Something that was given and isn't in a prompt. */
export interface ChatProblem {
  /** Such as `messages[2].content`. */
  readonly field: string;
  readonly problem: string;
  /** Whether it is a text of someone else than the assistant: the model would answer something else. */
  readonly isAsked: boolean;
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

/** Passes on problems as warnings; to the console if nobody asks for them, for nothing is left out in silence. */
export function warn(problems: readonly ChatProblem[], onWarning: ((message: string) => void) | undefined): void {
  warningsOf(problems).forEach((message) => (onWarning ?? printWarning)(message));
}

/** Where warnings go that nobody asks for. */
export function printWarning(message: string): void {
  console.warn(message);
}
