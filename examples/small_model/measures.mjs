// Measures a model on a text through the API of `ropewalk/worker`: losses and right answers.
import { TRAINED_LENGTH, tokensOf } from "./texts.mjs";

/** −ln p of each token of a text that is read in one window. NaN for the first token. */
export async function lossesOf(model, text) {
  const { losses } = await model.perplexity(await tokensOf(model, text), { window: text.length });
  return losses;
}

/** The same through a window of the trained length. When it is full, the older half is dropped, except the first token. */
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

/** For each question of a text, whether the most probable token is the answer: `{ distance, isRight }[]`. */
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

/** Appends tokens, shifting when full like `whenFull: "shift"` of `generate()`. */
async function append(session, tokens) {
  for (let read = 0; read < tokens.length;) {
    if (session.length === session.contextLength) await session.shift({ keep: 1, discard: (session.length - 1) >> 1 });
    const piece = tokens.slice(read, read + session.contextLength - session.length);
    await session.append(piece);
    read += piece.length;
  }
}

/** Means by bucket. A bucket to which nothing was added has the mean NaN. */
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

/** Octaves of distances in words: [8, 16), [16, 32), … */
export const distanceOctaves = {
  first: 8,
  of: (distance) => Math.floor(Math.log2(distance / distanceOctaves.first)),
  count: (length) => Math.log2(length / distanceOctaves.first),
};

/** Three steps per octave of positions, starting at 32: earlier steps hold too few tokens for a meaningful mean. */
export const positionSteps = {
  of: (position) => Math.floor(3 * Math.log2(position / 32)),
  count: (length) => 3 * Math.log2(length / 32),
  starts: (length) => Array.from({ length: positionSteps.count(length) }, (_, i) => 32 * 2 ** (i / 3)),
  /** Mean over an octave from the means of its steps. */
  octave: (means, octave) =>
    [0, 1, 2].reduce((sum, step) => sum + means[3 * octave + step] * (2 ** ((step + 1) / 3) - 2 ** (step / 3)), 0),
};
