// Loss by position, and LongPPL: the perplexity of the tokens that need a long context (Fang et al. 2024, arXiv 2410.23771).
import { textOf } from "../../small_model/texts.mjs";

const MAX_TEXTS = 8;
/** The authors' thresholds, in nats: what a long context must gain over a short one, and the loss that it must reach. */
const GAIN = 2;
const REACHED = 2;
/** Tokens of the short context: a sixteenth of the trained length, as the authors' 4,096 of 64k and more. */
const shortContext = (trained) => Math.max(64, Math.round(trained / 16));
/** Spans of positions, as shares of the text. */
export const SPANS = 8;

/** Number of texts of a length in a cell of `total` tokens. */
export const textCount = (total, length) => Math.max(1, Math.min(MAX_TEXTS, Math.floor(total / length)));

/**
 * The texts of a cell as tokens: stories whose questions are about facts at all distances, or parts of a text of one's own.
 * @param cell - `{ length, tokens, seed, prose }`: `tokens` of all texts, of which there are up to MAX_TEXTS and at least one.
 */
export async function textsOf(model, { length, tokens: total, seed, prose }) {
  const count = textCount(total, length);
  if (prose !== undefined) return partsOf(model, prose, { length, seed, count });
  const texts = [];
  for (let i = 0; i < count; i++) {
    const { text } = textOf({ seed: 5_000_000 + 10_000 * seed + i, length, near: false });
    texts.push([...(await model.tokenizer.encode(text))].slice(0, length));
  }
  return texts;
}

async function partsOf(model, text, { length, seed, count }) {
  const tokens = [...(await model.tokenizer.encode(text))];
  const places = Array.from({ length: count }, (_, i) => (seed * count + i) * length);
  const parts = places.map((at) => tokens.slice(at, at + length)).filter((part) => part.length === length);
  if (parts.length === 0) throw new Error(`the text has ${tokens.length} tokens: too few for a part of ${length}`);
  return parts;
}

/**
 * The tokens of a text that need a long context: those that a judge predicts well, and much better than from the nearest tokens alone.
 * @param long - the judge's −ln p with a long context.
 * @param short - and with a short one.
 */
const keysOf = (long, short) => [...long.keys()].filter((i) => short[i] - long[i] > GAIN && long[i] < REACHED);

/**
 * The key tokens of a cell's texts: their indices by text. A model that judges itself reads them through windows of half its trained length,
 * because it can't be trusted beyond.
 */
export async function judge(setup, { trained, judgesItself, ...cell }) {
  const keys = [];
  for (const tokens of await textsOf(setup.model, cell)) {
    const inWindows = async (length) => {
      const window = Math.min(length, tokens.length);
      return (await setup.model.perplexity(tokens, { window, stride: Math.ceil(window / 2) })).losses;
    };
    const long = judgesItself ? await inWindows(trained / 2) : await setup.losses(tokens);
    keys.push(keysOf(long, await inWindows(shortContext(trained))));
  }
  return { keys };
}

/** Mean loss, mean loss of the key tokens (null without a judge) and their number, and the mean loss in each eighth of the texts. */
export async function perplexity(setup, { keys, ...cell }) {
  const [all, ofKeys] = [[], []];
  const spans = Array.from({ length: SPANS }, () => []);
  for (const [i, tokens] of (await textsOf(setup.model, cell)).entries()) {
    const losses = await setup.losses(tokens);
    losses.forEach((loss, at) => {
      if (Number.isNaN(loss)) return;
      all.push(loss);
      spans[Math.floor((at * SPANS) / tokens.length)].push(loss);
    });
    ofKeys.push(...(keys?.[i] ?? []).map((at) => losses[at]));
  }
  return { loss: mean(all), keyLoss: mean(ofKeys), keys: ofKeys.length, bySpan: spans.map(mean) };
}

/** Mean of numbers, null if there are none. */
const mean = (numbers) => (numbers.length === 0 ? null : numbers.reduce((sum, one) => sum + one, 0) / numbers.length);
