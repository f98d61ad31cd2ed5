// Answers whose options keep the order of the question, for JSON: an object lists names that are integers first.
import type { ChoiceAnswer, DecisionAnswer, Decisions } from "../../runtime/model/decide/answers.js";
import type { DecisionQuestion, DecisionQuestions } from "../../runtime/model/decide/questions.js";

const entriesOf = (given: object): (readonly [string, unknown])[] => {
  if (given instanceof Map) return [...(given as Map<string, unknown>)];
  return Array.isArray(given) ? (given as [string, unknown][]) : Object.entries(given);
};

/** The value of a key, also of `__proto__`. */
export const ownValue = <Value>(of: Readonly<Record<string, Value>>, key: string): Value =>
  Object.getOwnPropertyDescriptor(of, key)!.value as Value;

/** The names of the options of each question that was answered: options, levels as they are written, or yes and no. */
export function optionNamesOf(questions: DecisionQuestions): Map<string, readonly string[]> {
  return new Map(
    (entriesOf(questions) as [string, DecisionQuestion][]).map(([name, question]) => [name, namesOf(question)]),
  );
}

function namesOf(question: DecisionQuestion): readonly string[] {
  if (question.type === "score")
    return question.criteria.map((level, i) => `${i} ${typeof level === "string" ? level : JSON.stringify(level)}`);
  if (question.type !== "choice") return ["yes", "no"];
  return entriesOf(question.criteria).map((entry) => (typeof entry === "string" ? entry : entry[0]));
}

/** An answer whose probabilities by option are a Map. */
export type OrderedAnswer =
  | Exclude<DecisionAnswer, ChoiceAnswer>
  | (Omit<ChoiceAnswer, "probabilities"> & { probabilities: Map<string, number> });

/** The same answers and probabilities as Maps, in the order of the questions and their options. */
export function withOrder(
  { answers, usage }: Decisions,
  questions: DecisionQuestions,
): { answers: Map<string, OrderedAnswer>; usage: object } {
  const names = optionNamesOf(questions);
  const ordered = [...names].map(([name, options]): [string, OrderedAnswer] => {
    const answer = ownValue<DecisionAnswer>(answers, name);
    if (answer.type !== "choice") return [name, answer];
    const probabilities = new Map(options.map((option) => [option, ownValue(answer.probabilities, option)]));
    return [name, { ...answer, probabilities }];
  });
  return { answers: new Map(ordered), usage };
}
