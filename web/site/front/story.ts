// A story that the small model has read twice from one token on: with plain RoPE, and with its cached keys rotated to YaRN.

/** A question of the story, and what the model answered. */
export interface RecordedAnswer {
  /** Token of the answer. */
  readonly at: number;
  /** Words between the fact and the answer. */
  readonly distance: number;
  /** The sentence up to the answer. */
  readonly question: string;
  readonly truth: string;
  readonly plain: string;
  readonly yarn: string;
}

/** Which of the two readings is shown. */
export type Reading = "plain" | "yarn";

export interface RecordedStory {
  readonly trained: number;
  readonly length: number;
  /** The token before which the cache is rotated. Both readings are the same up to it. */
  readonly switchAt: number;
  /** Tokens between two of the losses. */
  readonly step: number;
  /** −ln p of the tokens, smoothed. */
  readonly losses: Readonly<Record<Reading, readonly number[]>>;
  readonly answers: readonly RecordedAnswer[];
}

export const isRight = (answer: RecordedAnswer, reading: Reading): boolean => answer[reading] === answer.truth;

/** The smoothed loss at a token. */
export function lossAt({ losses, step }: RecordedStory, reading: Reading, token: number): number {
  const all = losses[reading];
  return all[Math.min(all.length - 1, Math.floor(token / step))]!;
}

/** Right answers from the switch on, and how many were asked. */
export function scoreOf({ answers, switchAt }: RecordedStory, reading: Reading): { right: number; asked: number } {
  const asked = answers.filter(({ at }) => at >= switchAt);
  return { right: asked.filter((answer) => isRight(answer, reading)).length, asked: asked.length };
}
