// The texts that all contenders embed: token ids, as a tokenizer would give them.
import { randomNumbers } from "/examples/random_numbers.mjs";

const COUNT = 256;
const [SHORTEST, LONGEST] = [8, 40];

const random = randomNumbers(1);
const between = (low, high) => low + Math.floor(random() * (high - low + 1));

/** Lists of token ids. */
export const texts = Array.from({ length: COUNT }, () =>
  Array.from({ length: between(SHORTEST, LONGEST) }, () => between(1000, 21000)),
);

/** Milliseconds of a call. */
export async function timed(call) {
  const start = performance.now();
  await call();
  return performance.now() - start;
}
