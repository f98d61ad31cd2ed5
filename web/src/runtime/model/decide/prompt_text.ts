// The text of a question: one message with the state, the question, a line for each option, and what to answer with.
import { indented } from "./decision_text.js";
import type { ReadQuestion } from "./questions.js";

/** What the labels of options are. @internal */
export type LabelKind = "letter" | "code" | "number" | "word";

/** Questions that have no instructions. @internal */
export const ASKED = {
  choice: "Which option fits best?",
  score: "Which level fits best?",
  boolean: "Which is true, yes or no?",
};

/** The first line of the state makes the prompts of all questions begin alike, so that the model reads it once. @internal */
export function stateText(state: string): string {
  return `State: ${indented(state)}\n\n`;
}

/**
 * The question and its options.
 * @param order - the options as they are listed
 * @param labelOf - the label of an option
 * @internal
 */
export function questionText(
  { type, instructions, options }: ReadQuestion,
  order: readonly number[],
  labelOf: (option: number) => string,
  kind: LabelKind,
): string {
  const lines = order.flatMap((option) => {
    const { name, description } = options[option]!;
    const label = labelOf(option);
    if (type !== "choice") return description === undefined ? [] : [`${label}: ${indented(description)}`];
    return [`${label}: ${indented(name)}${description === undefined ? "" : ` - ${indented(description)}`}`];
  });
  const question = `Question: ${indented(instructions ?? ASKED[type])}`;
  return [question, ...lines, lastLine(kind, order.map(labelOf))].join("\n");
}

/** What a model is to answer with: the end of each prompt. @internal */
export function lastLine(kind: LabelKind, labels: readonly string[]): string {
  if (kind === "word") return `Answer ${labels.join(" or ")} only.`;
  return `Answer with one ${kind} only.`;
}
