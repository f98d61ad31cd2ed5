// diagnose() on configs that nobody should write: it answers or throws a RopewalkError, nothing else.
import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { RopewalkError } from "ropewalk";
import { diagnosed, llama31, llama31Gguf, qwen } from "./cases.mjs";

const numbers = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 1, 2 ** 31, 1e300, NaN, Infinity));
const anything = fc.oneof(
  numbers,
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.array(numbers),
  fc.dictionary(fc.string(), numbers),
);
const names = [
  "default",
  "linear",
  "dynamic",
  "yarn",
  "longrope",
  "llama3",
  "proportional",
  "ntk_by_parts",
  "dynamic_yarn",
  "mrope",
  "x",
];
const scaling = fc.record(
  {
    rope_type: fc.constantFrom(...names),
    type: fc.constantFrom(...names),
    factor: anything,
    original_max_position_embeddings: fc.oneof(fc.integer({ min: 1, max: 2 ** 31 }), anything),
    attention_factor: anything,
    attn_factor: anything,
    beta_fast: anything,
    mscale: anything,
    long_factor: anything,
    short_factor: anything,
    low_freq_factor: numbers,
    high_freq_factor: numbers,
    rope_theta: numbers,
  },
  { requiredKeys: [] },
);

async function survives(source, length) {
  try {
    const diagnosis = await diagnosed(source, length);
    assert.ok(diagnosis.verdict.text.length > 0);
    assert.deepEqual(JSON.parse(JSON.stringify(diagnosis)), diagnosis);
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    assert.fail(`threw ${error.message}`);
  }
}

test("random scalings", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom(qwen, llama31),
      fc.constantFrom("rope_scaling", "rope_parameters"),
      scaling,
      fc.integer({ min: 1, max: 2 ** 30 }),
      (config, name, value, length) => survives({ ...config, [name]: value }, length),
    ),
    { numRuns: 150 },
  ));

test("random values of any key of a config.json", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(llama31), "layer_types", "sliding_window", "text_config", "head_dim"),
      anything,
      (key, value) => survives({ ...llama31, [key]: value }),
    ),
    { numRuns: 150 },
  ));

test("random values of any key of GGUF metadata", () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        ...Object.keys(llama31Gguf),
        "llama.rope.scaling.type",
        "llama.rope.scaling.factor",
        "llama.rope.scaling.attn_factor",
      ),
      fc.oneof(anything, fc.bigInt()),
      (key, value) => survives({ metadata: { ...llama31Gguf, [key]: value } }),
    ),
    { numRuns: 150 },
  ));

test("objects that aren't configs", () =>
  fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), anything), (value) => survives(value)),
    { numRuns: 100 },
  ));
