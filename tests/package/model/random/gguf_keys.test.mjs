// Every key of GGUF files, changed on tiny models: the logits are those of llama.cpp, or the key is refused.
import assert from "node:assert/strict";
import test from "node:test";
import { RopewalkError } from "ropewalk";
import { changedGguf, ggufFactsOf } from "../../helpers/changed_models.mjs";
import { isNear, resultOf } from "../../helpers/field_results.mjs";
import { drawn } from "../../helpers/random.mjs";
import { asLlamaCppReads, OTHER_GROUPS, REFUSED } from "./gguf_differences.mjs";

const { absent, models } = drawn("gguf_keys.json");

/** llama.cpp computes GELU from a table of f16. */
const LIMITS = /^(gemma|phi$|gpt2|gpt_neox|starcoder2)/;
const limitOf = (name) => (LIMITS.test(name) ? 5e-3 : 1e-4);

/**
 * llama.cpp takes a list of LongRoPE by the length of the context, which is 256 in the generator, and this package by that
 * of the text, which is longer than this.
 */
const LONG_ROPE = /^phi(3|4_mini)$/;
const SHORT = ["u32", 32];

/** The changes of a case, as llama.cpp reads them: its own, or all keys that the file doesn't have but some. */
function changesOf(name, { set, absent_without }) {
  const facts = ggufFactsOf(name);
  const long = LONG_ROPE.test(name) ? { "rope.scaling.original_context_length": SHORT } : {};
  if (absent_without === undefined) return asLlamaCppReads(facts, { ...set, ...long });
  const isLeftOut = (key) =>
    facts.keys.includes(key) || absent_without.includes(key) || isRefused(name, { [key]: true });
  const others = Object.entries(absent).filter(([key]) => !isLeftOut(key));
  const changes = Object.fromEntries(others.map(([key, change]) => [key, byLayer(change, facts.layers)]));
  return asLlamaCppReads(facts, { ...changes, ...long });
}

const isListed = ({ models, keys }, name, set) => models.includes(name) && keys.some((key) => key in (set ?? {}));

const isRefused = (name, set) => REFUSED.some((row) => isListed(row, name, set));

const byLayer = ([type, value], layers) =>
  Array.isArray(type)
    ? [type, Array.from({ length: layers }, (_, layer) => value[layer % value.length])]
    : [type, value];

async function mistakeIn(name, changes, one, unchanged) {
  const title = JSON.stringify(one.set ?? "all absent keys");
  let numbers;
  try {
    numbers = await resultOf(name, changedGguf(name, changes));
  } catch (error) {
    const isNamed = Object.keys(one.set ?? {}).some((key) => error.message.includes(key.split(".").at(-1)));
    const isTensor = /rope_factors_(long|short)/.test(error.message); // what rope.scaling.type asks for
    if (
      error instanceof RopewalkError &&
      (isTensor || (isNamed && (one.result !== "same" || isRefused(name, one.set))))
    )
      return undefined;
    return `${title}: ${error.message}`;
  }
  const expected = one.result === "same" ? unchanged : one.result;
  if (isNear(numbers, expected, limitOf(name))) return undefined;
  return `${title}: ${numbers.map((number) => number.toPrecision(6))}, llama.cpp has ${expected}`;
}

/** In the committed file, every change that matters and one of four of the others. */
const isWhole = process.env.ROPEWALK_RANDOM !== undefined;
const isRun = (one, index) => isWhole || one.result !== "same" || one.set === undefined || index % 4 === 0;

for (const [name, all] of Object.entries(models)) {
  const cases = all.filter((one, index) => isRun(one, index) && !isListed(OTHER_GROUPS, name, one.set));
  test(`${name}: llama.cpp's result for ${cases.length} changes of its keys, or a refusal`, async () => {
    const unchanged = await resultOf(name, changedGguf(name, changesOf(name, { set: {} })));
    const mistakes = [];
    for (const one of cases) mistakes.push(await mistakeIn(name, changesOf(name, one), one, unchanged));
    const found = mistakes.filter((mistake) => mistake !== undefined);
    assert.equal(found.length, 0, `${found.length} of ${cases.length}\n${found.join("\n")}`);
  });
}
