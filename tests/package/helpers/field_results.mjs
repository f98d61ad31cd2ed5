// What this package computes for a tiny model with another config or other keys, in the form of tests/golden/random/config_fields.json.
import { existsSync } from "node:fs";
import { readExpected, tinyModel } from "./models.mjs";
import { rw } from "./runtime.mjs";

/** As in tests/golden/generate/fields/references.py. */
const POSITIONS = [1, 8, 15, 22, 29, 36, 42, 47];
const DIMENSIONS = 8;
const ENCODER_TOKENS = Array.from({ length: 40 }, (_, index) => 5 + ((7 * index) % 50));
/** f32 against f64, as in parity.test.mjs. */
const F32_LIMIT = 1e-4;

/** The losses of a few tokens, the first numbers of a mean vector, or the scores of pairs. */
export async function resultOf(name, files, contextLength = 64) {
  const isDecoder = existsSync(tinyModel(`${name}/expected.json`));
  const model = await rw.model(files, { kv: { dtype: "f32" }, ...(isDecoder && { contextLength }) });
  try {
    if (isDecoder) {
      const { losses } = await model.perplexity(readExpected(name, "expected.json").prompt);
      return POSITIONS.map((position) => losses[position]);
    }
    const { query, documents } = readExpected(name, "expected_embeddings.json");
    if (query === undefined) {
      const [vector] = await model.embed([ENCODER_TOKENS], { pooling: "mean", normalize: false });
      return [...vector.slice(0, DIMENSIONS)];
    }
    const ranked = await model.rank(query, documents);
    return ranked.toSorted((a, b) => a.index - b.index).map(({ score }) => Math.log(score / (1 - score)));
  } finally {
    model.dispose();
  }
}

/** Whether numbers are those of a reference, up to the rounding of f32. */
export function isNear(numbers, reference, limit = F32_LIMIT) {
  return numbers.every(
    (number, index) => Math.abs(number - reference[index]) <= limit * Math.max(1, Math.abs(reference[index])),
  );
}
