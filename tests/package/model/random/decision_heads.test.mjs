// Decision checkpoints drawn at random, safetensors and GGUF, against the laya package in double precision.
import assert from "node:assert/strict";
import test from "node:test";
import { checkpointFiles } from "../../helpers/decision_heads.mjs";
import { casesOf } from "../../helpers/random.mjs";
import { rw } from "../../helpers/runtime.mjs";

/** f32 against f64, as in parity.test.mjs. */
const LIMIT = 1e-4;

/** In the order of the reference: false before true. */
const inOrder = ({ type, probabilities }, { criteria }) =>
  type === "boolean"
    ? [probabilities.false, probabilities.true]
    : type === "choice"
      ? criteria.map(([name]) => probabilities[name])
      : probabilities;

test("heads on encoders answer as the laya package does", async () => {
  const cases = casesOf("decision_heads.json");
  const failures = [];
  for (const [number, one] of cases.entries()) {
    const { state, questions, expected } = one;
    try {
      const decider = await rw.model(checkpointFiles(one), { onWarning() {} });
      assert.ok(decider.info.decides);
      const { answers, usage } = await decider.decide(state, questions);
      for (const [name, { probabilities }] of Object.entries(expected)) {
        const own = inOrder(answers[name], questions[name]);
        const error = Math.max(...own.map((p, i) => Math.abs(p - probabilities[i])));
        assert.ok(error < LIMIT, `${name}: ${own.join()} instead of ${probabilities.join()}`);
      }
      assert.equal(
        usage.input_tokens,
        Object.values(expected).reduce((sum, { tokens }) => sum + tokens, 0),
      );
      decider.dispose();
    } catch (error) {
      failures.push(`${number} (${one.form}${one.gguf ? ", GGUF" : ""}): ${error.message}`);
    }
  }
  assert.equal(failures.length, 0, `${failures.length} of ${cases.length} cases\n${failures.join("\n")}`);
});
