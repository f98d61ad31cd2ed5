// A story as far as it has been read: the losses, the answers and the switches. Either measured here or from the committed results.
import type { Answer } from "../../../../examples/small_model/reading.mjs";
import { words } from "../../../../examples/small_model/stories.mjs";
import { textOf } from "../../../../examples/small_model/texts.mjs";
import switched from "../../../../examples/small_model/results/switched.json";

export const LENGTH = 2048;

/** A change of the scaling before the token `at`. Those measured here have the time it took. */
export interface Switch {
  readonly at: number;
  readonly scaling: string;
  readonly milliseconds?: number;
}

/** An answer with the word that the model gave. */
export type GivenAnswer = Omit<Answer, "token"> & { readonly word?: string };

/** What has been read. */
export interface Run {
  /** The word of each token; the begin token's is empty. */
  readonly words: string[];
  /** −ln p of each token; NaN for the first. */
  readonly losses: number[];
  readonly answers: GivenAnswer[];
  readonly switches: Switch[];
}

/** The words of a story by token. */
export function wordsOf(seed: number): string[] {
  return ["", ...(words(textOf({ seed, length: LENGTH }).text) ?? [])].slice(0, LENGTH);
}

/** What the form asks for. */
export interface Wanted {
  readonly text: string;
  readonly seed: number;
  readonly first: string;
  readonly later: string;
  readonly at: number;
  /** How fast it is read, for a reader who follows. 0 is as fast as the model can. */
  readonly tokensPerSecond: number;
}

type CommittedAnswer = [at: number, distance: number, isRight: number, word: string];
interface Part {
  readonly losses: (number | null)[];
  readonly answers: CommittedAnswer[];
}

/** The committed run of that story with that switch, if there is one. */
export function committedRun({ text, seed, first, later, at }: Wanted): Run | undefined {
  if (text !== "read" || seed !== switched.seed || first !== "none" || at !== switched.at) return undefined;
  const after = (switched.after as unknown as Record<string, Part>)[later];
  if (after === undefined) return undefined;
  const parts = [switched.before as unknown as Part, after];
  return {
    words: wordsOf(seed),
    losses: parts.flatMap(({ losses }) => losses.map((loss) => loss ?? NaN)),
    answers: parts.flatMap(({ answers }) =>
      answers.map(([at, distance, isRight, word]) => ({ at, distance, isRight: isRight === 1, word })),
    ),
    switches: [{ at: 0, scaling: first }, ...(later === first ? [] : [{ at, scaling: later }])],
  };
}

/** How many answers are right, among those to tokens from `from` up to `to`. */
export function count({ answers }: Run, from = 0, to = Infinity): { right: number; asked: number } {
  const asked = answers.filter(({ at }) => at >= from && at < to);
  return { right: asked.filter(({ isRight }) => isRight).length, asked: asked.length };
}
