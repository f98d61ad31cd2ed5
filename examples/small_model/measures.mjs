// What is measured of a model on a text, by the API of `ropewalk/worker`: losses, and questions answered.
import { TRAINED_LENGTH, tokensOf } from "./texts.mjs";

/** −ln p of each token of a text that is read as one; NaN for the first. */
export async function lossesOf(model, text) {
  const { losses } = await model.perplexity(await tokensOf(model, text), { window: text.length });
  return losses;
}

/** The same through a window of the trained length: when it is full, the older half is taken out, but for the first token. */
export async function lossesByShifting(model, text) {
  const tokens = await tokensOf(model, text);
  const session = await model.session({ contextLength: TRAINED_LENGTH });
  const losses = new Float64Array(tokens.length).fill(NaN);
  for (let at = 0; at + 1 < tokens.length; at++) {
    await append(session, tokens.slice(at, at + 1));
    losses[at + 1] = -(await session.logprobOf(tokens[at + 1]));
  }
  await session.dispose();
  return losses;
}

/** Of each question of a text, whether the most probable token in the answer's place is the answer. `{ distance, isRight }[]` */
export async function answersOf(model, text, contextLength = text.length) {
  const tokens = await tokensOf(model, text);
  const session = await model.session({ contextLength });
  const answers = [];
  let read = 0;
  for (const { at, distance } of text.questions) {
    await append(session, tokens.slice(read, at));
    read = at;
    const [{ token }] = await session.logprobs(1);
    answers.push({ distance, isRight: token === tokens[at] });
  }
  await session.dispose();
  return answers;
}

/** Reads on, as `whenFull: "shift"` of `generate()` does. */
async function append(session, tokens) {
  for (let read = 0; read < tokens.length;) {
    if (session.length === session.contextLength) await session.shift({ keep: 1, discard: (session.length - 1) >> 1 });
    const piece = tokens.slice(read, read + session.contextLength - session.length);
    await session.append(piece);
    read += piece.length;
  }
}

/** Sum and number, by bucket: `add()` to one, `means()` of all; NaN where nothing was added. */
export class Buckets {
  constructor(count) {
    [this.sums, this.counts] = [new Array(count).fill(0), new Array(count).fill(0)];
  }

  add(bucket, value) {
    if (!(bucket >= 0 && bucket < this.sums.length) || Number.isNaN(value)) return;
    this.sums[bucket] += value;
    this.counts[bucket]++;
  }

  means() {
    return this.sums.map((sum, i) => sum / this.counts[i]);
  }
}

/** Octaves of distances, in words: from 8 up to 16, from 16 up to 32, … */
export const distanceOctaves = {
  first: 8,
  of: (distance) => Math.floor(Math.log2(distance / distanceOctaves.first)),
  count: (length) => Math.log2(length / distanceOctaves.first),
};

/** Three steps to an octave of positions, from 32 on: near ones hold few tokens, and the mean of few tells little. */
export const positionSteps = {
  of: (position) => Math.floor(3 * Math.log2(position / 32)),
  count: (length) => 3 * Math.log2(length / 32),
  starts: (length) => Array.from({ length: positionSteps.count(length) }, (_, i) => 32 * 2 ** (i / 3)),
  /** Mean over an octave, from the means over its steps. */
  octave: (means, octave) =>
    [0, 1, 2].reduce((sum, step) => sum + means[3 * octave + step] * (2 ** ((step + 1) / 3) - 2 ** (step / 3)), 0),
};
