// The texts that all contenders embed: token ids, as a tokenizer would give them.
import { randomNumbers } from "/examples/random_numbers.mjs";

const COUNT = 64;
const [SHORTEST, LONGEST] = [8, 40];
/** Texts embedded for one sample, unless a call has more: a single short text would take too little time to measure. */
const TEXTS_OF_SAMPLE = 16;

const random = randomNumbers(1);
const between = (low, high) => low + Math.floor(random() * (high - low + 1));

/** Lists of token ids. */
const texts = Array.from({ length: COUNT }, () =>
  Array.from({ length: between(SHORTEST, LONGEST) }, () => between(1000, 21000)),
);

/**
 * Embeds texts in calls of `batch`, the same ones for all contenders: `call(texts)` returns their vectors. Returns the milliseconds of a call and the
 * vectors of the last one.
 */
export async function timed(batch, call) {
  const calls = Math.ceil(TEXTS_OF_SAMPLE / batch);
  const lists = Array.from({ length: calls }, (_, i) => texts.slice(i * batch, (i + 1) * batch));
  let vectors;
  const start = performance.now();
  for (const list of lists) vectors = await call(list);
  return { ms: (performance.now() - start) / calls, vectors };
}
