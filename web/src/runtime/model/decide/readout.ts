// From the logarithms of the labels' probabilities to what a question is answered with.
import { exponential } from "./exponential.js";
import type { DecisionType } from "./questions.js";

/** What the labels of a question have in one order of its options. @internal */
export interface Distribution {
  /** By option; they sum to 1. */
  readonly probabilities: readonly number[];
  /** The share of all that the model could have answered with. */
  readonly mass: number;
}

/**
 * The softmax of all labels, divided by the temperature first. An option that has several labels has their sum.
 * @param logprobs - of the labels of each option
 * @internal
 */
export function distributionOf(logprobs: readonly (readonly number[])[], temperature: number): Distribution {
  const most = Math.max(...logprobs.flat());
  const weights = logprobs.map((own) => sum(own.map((logprob) => exponential((logprob - most) / temperature))));
  const total = sum(weights);
  return {
    probabilities: weights.map((weight) => weight / total),
    mass: Math.min(1, sum(logprobs.flat().map(exponential))),
  };
}

/** The mean of the distributions of several orders. @internal */
export function meanOf(distributions: readonly Distribution[]): Distribution {
  const mean = (numbers: readonly number[]): number => sum(numbers) / numbers.length;
  const [first] = distributions;
  return {
    probabilities: first!.probabilities.map((_, i) =>
      mean(distributions.map(({ probabilities }) => probabilities[i]!)),
    ),
    mass: mean(distributions.map(({ mass }) => mass)),
  };
}

/** The option with the largest probability, the first of several. @internal */
export function modeOf(probabilities: readonly number[]): number {
  return probabilities.indexOf(Math.max(...probabilities));
}

/** The mean of the levels, the lowest being 0. @internal */
export function scoreOf(probabilities: readonly number[]): number {
  return sum(probabilities.map((p, level) => p * level));
}

/**
 * How far a distribution is from one that says nothing: 1 for one option or level alone. It isn't the probability of being right. The formulas are
 * those of TypeSafe, which llama.cpp and SGLang use too: (p - 1/n) / (1 - 1/n) of the largest p, and of a score 1 - D(p) / D(uniform), at least 0,
 * with the mean distances from the most probable and from the middle level.
 * @internal
 */
export function confidenceOf(type: DecisionType, probabilities: readonly number[]): number {
  const n = probabilities.length;
  if (n < 2) return 1;
  const mode = modeOf(probabilities);
  if (type !== "score") return (probabilities[mode]! - 1 / n) / (1 - 1 / n);
  const distance = sum(probabilities.map((p, level) => p * Math.abs(level - mode)));
  const ofUniform = sum(probabilities.map((_, level) => Math.abs(level - (n - 1) / 2))) / n;
  return Math.max(0, 1 - distance / ofUniform);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
