// Every key of GGUF files, changed on tiny models: the logits are those of llama.cpp, or the key is refused.
import assert from "node:assert/strict";
import test from "node:test";
import { RopewalkError } from "ropewalk";
import { changedGguf, ggufKeysOf } from "../../helpers/changed_models.mjs";
import { isNear, resultOf } from "../../helpers/field_results.mjs";
import { drawn } from "../../helpers/random.mjs";
import { DIFFERENCES } from "./gguf_differences.mjs";

const { absent, models } = drawn("gguf_keys.json");

/** llama.cpp computes GELU from a table of f16. */
const LIMITS = /^(gemma|phi$|gpt_neox|starcoder2)/;
const limitOf = (name) => (LIMITS.test(name) ? 5e-3 : 1e-4);

/**
 * llama.cpp takes a list of LongRoPE by the length of the context, which is 256 in the generator, and this package by that
 * of the text, which is longer than this.
 */
const LONG_ROPE = /^phi(3|4_mini)$/;
const SHORT = ["u32", 32];

/** The changes of a case: its own, or all keys that the file doesn't have but some. */
function changesOf(name, { set, absent_without }) {
  const long = LONG_ROPE.test(name) ? { "rope.scaling.original_context_length": SHORT } : {};
  if (absent_without === undefined) return { ...set, ...long };
  const { keys, layers } = ggufKeysOf(name);
  const others = Object.entries(absent).filter(([key]) => !keys.includes(key) && !isLeftOut(name, key, absent_without));
  return { ...Object.fromEntries(others.map(([key, change]) => [key, byLayer(change, layers)])), ...long };
}

/** Keys that aren't set with the other absent ones: those that matter in llama.cpp, and those that differ in this package. */
const isLeftOut = (name, key, without) =>
  without.includes(key) || DIFFERENCES.some(({ models, keys }) => models.includes(name) && keys.includes(key));

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
    if (error instanceof RopewalkError && (isTensor || (isNamed && one.result !== "same"))) return undefined;
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
  const listed = DIFFERENCES.filter(({ models }) => models.includes(name)).flatMap(({ keys }) => keys);
  const cases = all.filter((one, index) => isRun(one, index) || listed.some((key) => key in (one.set ?? {})));
  test(`${name}: llama.cpp's result for ${cases.length} changes of its keys, or a refusal`, async () => {
    const unchanged = await resultOf(name, changedGguf(name, changesOf(name, { set: {} })));
    const mistakes = [];
    const differing = new Set();
    for (const one of cases) {
      const mistake = await mistakeIn(name, changesOf(name, one), one, unchanged);
      const known = listed.filter((key) => key in (one.set ?? {}));
      if (known.length === 0) mistakes.push(mistake);
      else if (mistake !== undefined) known.forEach((key) => differing.add(key));
    }
    for (const key of isWhole ? [] : listed.filter((key) => !differing.has(key))) {
      const one = { set: { [key]: absent[key] }, result: "same" };
      assert.ok(await mistakeIn(name, changesOf(name, one), one, unchanged), `${key} is listed and doesn't differ`);
    }
    const found = mistakes.filter((mistake) => mistake !== undefined);
    assert.equal(found.length, 0, `${found.length} of ${cases.length}\n${found.join("\n")}`);
  });
}
