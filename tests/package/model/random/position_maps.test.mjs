// Self-Extend, ReRoPE, Dual Chunk Attention and LM-Infinite on tiny models drawn at random, compared with their definitions.
import assert from "node:assert/strict";
import test from "node:test";
import { formulaFiles } from "../../../files/formula_models.mjs";
import { largestDifference } from "../../helpers/models.mjs";
import { casesOf } from "../../helpers/random.mjs";
import { rw } from "../../helpers/runtime.mjs";

const LIMIT = 1e-4; // f32 against f64, as in parity.test.mjs
const cases = casesOf("position_maps.json");

/** Reads the tokens of a case by `read(session, tokens)` up to each length that has logits, and returns what differs. */
async function failuresOf(read, prepare = ({ position_map }) => ({ rope: { position_map } })) {
  const failures = [];
  for (const [index, one] of cases.entries()) {
    const title = `${index} ${one.name} ${JSON.stringify(one.position_map)}`;
    try {
      const model = await rw.model(formulaFiles(one), { kv: { dtype: "f32" }, contextLength: 256, ...prepare(one) });
      let session = model.session();
      let at = 0;
      for (const [end, logits] of Object.entries(one.logits)) {
        session = (await read(session, one.tokens.slice(at, Number(end)), one)) ?? session;
        at = Number(end);
        const difference = largestDifference([session.logits()], [logits]);
        if (!(difference < LIMIT)) failures.push(`${title}, ${end} tokens: off by ${difference}`);
      }
      model.dispose();
    } catch (error) {
      failures.push(`${title}: ${error.message}`);
    }
  }
  return failures;
}

const assertNone = (failures) =>
  assert.equal(failures.length, 0, `${failures.length} of ${cases.length} cases\n${failures.join("\n")}`);

test("a prompt at once: the logits of the definitions", async () =>
  assertNone(await failuresOf((session, tokens) => session.append(tokens))));

test("token by token, and over a fork: the same logits", async () =>
  assertNone(
    await failuresOf(async (session, tokens, { logits }) => {
      if (Object.keys(logits).length === 1) return void (await session.append(tokens)); // frequencies by length
      for (const token of tokens) await session.append([token]);
      return session.fork();
    }),
  ));

test("session.retune() sets a map on a cache with raw keys", async () =>
  assertNone(
    await failuresOf(
      async (session, tokens, { position_map }) => {
        if (session.length === 0) session.retune({ position_map });
        await session.append(tokens);
      },
      () => ({ kv: { dtype: "f32", keys: "raw" } }),
    ),
  ));
