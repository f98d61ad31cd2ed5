// Cases that a generator in tests/golden/generate/random/ drew, and comparisons of models with them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formulaFiles } from "../../files/formula_models.mjs";
import { largestDifference } from "./models.mjs";

const FOLDER = process.env.ROPEWALK_RANDOM ?? fileURLToPath(new URL("../../golden/random", import.meta.url));

/** What a generator wrote: the committed file, or that of a longer run. */
export const drawn = (name) => JSON.parse(readFileSync(join(FOLDER, name), "utf8"));

/** The cases in a file. */
export const casesOf = (name) => drawn(name).cases;

const LIMIT = 1e-4; // f32 against f64, as in parity.test.mjs
const STEPS = 4;

/** Compares the logits after the last token, some tokens read at once and the last ones one by one. Returns what differs. */
export async function comparedLogits(rw, cases, filesOf = formulaFiles, limit = LIMIT) {
  const failures = [];
  for (const [index, one] of cases.entries()) {
    const { tokens, logits } = one;
    try {
      const model = await rw.model(filesOf(one), { kv: { dtype: "f32" }, contextLength: 256 });
      const session = model.session();
      await session.append(tokens.slice(0, -STEPS));
      for (const token of tokens.slice(-STEPS)) await session.append([token]);
      const difference = largestDifference([session.logits()], [logits]);
      model.dispose();
      if (!(difference < limit)) failures.push(`${index} ${one.name}: off by ${difference}`);
    } catch (error) {
      failures.push(`${index} ${one.name}: ${error.message}`);
    }
  }
  return failures;
}

/** All cases give the reference's logits. */
export async function assertLogits(rw, cases, ...options) {
  const failures = await comparedLogits(rw, cases, ...options);
  assert.equal(failures.length, 0, `${failures.length} of ${cases.length} cases\n${failures.join("\n")}`);
}
