// Whole configs of LFM3, EmbeddingGemma 2, MPNet, DistilBERT and GPT-2, drawn at random: transformers' logits, vectors or scores.
import assert from "node:assert/strict";
import test from "node:test";
import { formulaFiles } from "../../../files/formula_models.mjs";
import { largestDifference } from "../../helpers/models.mjs";
import { casesOf } from "../../helpers/random.mjs";
import { rw } from "../../helpers/runtime.mjs";

const LIMIT = 1e-4; // f32 against f64, as in parity.test.mjs
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** The largest difference from the reference: after a prompt and each step, of the vectors of some texts, or of scores. */
async function differenceOf(one) {
  const { tokens, logits, query, documents, scores, texts } = one;
  const model = await rw.model(formulaFiles(one), logits ? { kv: { dtype: "f32" }, contextLength: tokens.length } : {});
  try {
    if (logits) {
      const session = model.session();
      const steps = logits.length - 1;
      await session.append(tokens.slice(0, -steps));
      const found = [Float32Array.from(session.logits())];
      for (const token of tokens.slice(-steps)) {
        await session.append([token]);
        found.push(Float32Array.from(session.logits()));
      }
      return largestDifference(found, logits);
    }
    if (scores) {
      const ranked = await model.rank(query, documents);
      return Math.max(...ranked.map(({ index, score }) => Math.abs(score - sigmoid(scores[index][0]))));
    }
    const differences = [];
    for (const pooling of ["mean", "last"]) {
      const vectors = await model.embed(texts, { pooling, normalize: false });
      differences.push(largestDifference(vectors, one[pooling]));
    }
    return Math.max(...differences);
  } finally {
    model.dispose();
  }
}

test("whole configs: transformers' logits, vectors and scores", async () => {
  const cases = casesOf("whole_configs.json");
  const failures = [];
  for (const [index, one] of cases.entries()) {
    const difference = await differenceOf(one).catch((error) => error);
    if (!(difference < LIMIT)) failures.push(`${index} ${one.name}: ${difference.message ?? `off by ${difference}`}`);
  }
  assert.equal(failures.length, 0, `${failures.length} of ${cases.length} cases\n${failures.join("\n")}`);
});
