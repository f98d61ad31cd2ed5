// What questions are answered with.
import { confidenceOf, type Distribution, modeOf, scoreOf } from "./readout.js";
import type { BooleanQuestion, DecisionQuestions, ReadQuestion } from "./questions.js";

/** What all answers have. */
export interface AnswerNumbers {
  /**
   * How far the probabilities are from saying nothing, 0 to 1, by TypeSafe's formula. It isn't a calibrated probability of being right. Of a choice
   * and of yes or no, (p - 1/n) / (1 - 1/n) with the largest p of n. Of a score, 1 minus the mean distance from the most probable level, divided
   * by that of equal probabilities from the middle, and at least 0.
   */
  confidence: number;
  /**
   * The probability that the model would have answered with one of the labels at all, 0 to 1. Far below 1, it would rather have written something
   * else, and the other numbers say little. The temperature doesn't change it.
   */
  label_mass: number;
}

/** The answer of a {@link ChoiceQuestion}. */
export interface ChoiceAnswer extends AnswerNumbers {
  type: "choice";
  /** The most probable option; of several, the first one. */
  choice: string;
  /** By option. They sum to 1. An object lists names that are integers first; the question has their order. */
  probabilities: Record<string, number>;
}

/** The answer of a {@link ScoreQuestion}. */
export interface ScoreAnswer extends AnswerNumbers {
  type: "score";
  /** The mean level, the lowest being 0: from 0 to the number of levels minus 1. */
  score: number;
  /** By level, lowest first. They sum to 1. */
  probabilities: number[];
}

/** The answer of a {@link BooleanQuestion}. */
export interface BooleanAnswer extends AnswerNumbers {
  type: "boolean";
  /** Of yes. */
  probability: number;
  /** They sum to 1. */
  probabilities: { true: number; false: number };
}

/** An answer of {@link Model.decide}. */
export type DecisionAnswer = ChoiceAnswer | ScoreAnswer | BooleanAnswer;

/** The answer of a question, by its type. */
export type AnswerTo<Question> = Question extends { readonly type: "choice" }
  ? ChoiceAnswer
  : Question extends { readonly type: "score" }
    ? ScoreAnswer
    : Question extends { readonly type: BooleanQuestion["type"] }
      ? BooleanAnswer
      : DecisionAnswer;

/** The answers of questions by the names of these, if TypeScript knows the names. */
export type AnswersTo<Questions> = Questions extends readonly unknown[] | ReadonlyMap<string, unknown>
  ? Record<string, DecisionAnswer>
  : { -readonly [Name in keyof Questions]: AnswerTo<Questions[Name]> };

/** What {@link Model.decide} returns. */
export interface Decisions<Questions = DecisionQuestions> {
  /** By the names of the questions. */
  answers: AnswersTo<Questions>;
  usage: {
    /** Tokens that the model read. What the prompts share counts once. */
    input_tokens: number;
    /** 0: nothing is generated. */
    output_tokens: number;
  };
}

/** @internal */
export function answerOf({ type, options }: ReadQuestion, { probabilities, mass }: Distribution): DecisionAnswer {
  const shared = { confidence: confidenceOf(type, probabilities), label_mass: mass };
  if (type === "choice") {
    const byName = Object.fromEntries(options.map(({ name }, i) => [name, probabilities[i]!]));
    return { type, choice: options[modeOf(probabilities)]!.name, probabilities: byName, ...shared };
  }
  if (type === "score") return { type, score: scoreOf(probabilities), probabilities: probabilities.slice(), ...shared };
  const [yes, no] = probabilities;
  return { type, probability: yes!, probabilities: { true: yes!, false: no! }, ...shared };
}
