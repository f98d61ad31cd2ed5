// The recorded story of the front page, prepared when the site is built: a visitor's browser gets four kilobytes of it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { words } from "../../../examples/small_model/stories.mjs";
import { textOf, TRAINED_LENGTH } from "../../../examples/small_model/texts.mjs";
import type { RecordedAnswer, RecordedStory } from "./story.js";

type Answer = [at: number, distance: number, isRight: number, word: string];
interface Part {
  readonly losses: readonly (number | null)[];
  readonly answers: readonly Answer[];
}
interface Switched {
  readonly seed: number;
  readonly length: number;
  readonly at: number;
  readonly before: Part;
  readonly after: { readonly none: Part; readonly yarn: Part };
}

/** Tokens between two losses of the picture, and the standard deviation of the Gaussian that smooths them. */
const STEP = 4;
const SPREAD = 8;

/** Reads the run that `node examples/small_model/switched.mjs` has written. */
export function recordedStory(): RecordedStory {
  const path = join(import.meta.dirname, "../../../examples/small_model/results/switched.json");
  const { seed, length, at: switchAt, before, after } = JSON.parse(readFileSync(path, "utf8")) as Switched;
  const text = ["", ...(words(textOf({ seed, length }).text) ?? [])];
  const wordOf = new Map(after.yarn.answers.map(([at, , , word]) => [at, word]));
  const answer = ([at, distance, , plain]: Answer): RecordedAnswer => ({
    at,
    distance,
    question: text.slice(text.lastIndexOf("?", at) + 1, at).join(" "),
    truth: text[at]!,
    plain,
    yarn: wordOf.get(at) ?? plain,
  });
  return {
    trained: TRAINED_LENGTH,
    length,
    switchAt,
    step: STEP,
    losses: {
      plain: smooth([...before.losses, ...after.none.losses]),
      yarn: smooth([...before.losses, ...after.yarn.losses]),
    },
    answers: [...before.answers, ...after.none.answers].map(answer),
  };
}

/** Means of the losses around each `STEP`th token. */
function smooth(losses: readonly (number | null)[]): number[] {
  return Array.from({ length: losses.length / STEP }, (_, i) => {
    let [sum, weights] = [0, 0];
    for (let at = i * STEP - 3 * SPREAD; at <= i * STEP + 3 * SPREAD; at++) {
      const loss = losses[at];
      if (loss === undefined || loss === null) continue;
      const weight = Math.exp(-((at - i * STEP) ** 2) / (2 * SPREAD ** 2));
      sum += weight * loss;
      weights += weight;
    }
    return Number((sum / weights).toFixed(2));
  });
}
