// rope.plan: fields, reference numbers, valid lengths of length-dependent plans, and ramps.
import assert from "node:assert/strict";
import test from "node:test";
import { overrideRopeConfig, ropeConfig } from "ropewalk";
import { sameBits } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const plain = { head_dim: 128, pairing: "half" };
const near = (actual, expected, relative, name) =>
  assert.ok(Math.abs(actual - expected) <= relative * Math.abs(expected), `${name}: ${actual} instead of ${expected}`);
const planOf = (config, seqLen) => withRope(rw.rope(config), (rope) => rope.plan(seqLen));
const scaled = (rope_scaling, more = {}) => ({ ...plain, ...more, rope_scaling });

test("every field of a plain plan", () => {
  const { inv_freq, axis_of_pair, ...rest } = planOf({
    ...plain,
    rotary_dim: 64,
    rotary_offset: 32,
    pairing: "interleaved",
    max_position_embeddings: 4096,
  });
  assert.deepEqual(rest, {
    head_dim: 128,
    rotary_dim: 64,
    rotary_offset: 32,
    reversed: false,
    pairing: "interleaved",
    attention_factor: 1,
    softmax_scale: 1 / Math.sqrt(128),
    valid_from: 1,
    valid_to: Infinity,
    correction_range: null,
    axes: 1,
    query_temperature: null,
    xpos: null,
    max_length: 4096,
    table_length: 0,
  });
  assert.deepEqual(axis_of_pair, new Uint8Array(32));
  assert.ok(inv_freq instanceof Float64Array);
  inv_freq.forEach((w, j) => near(w, 10000 ** ((-2 * j) / 64), 1e-15, `pair ${j}`));
});

test("a plan is a copy: changing it doesn't change the rope", () => {
  withRope(rw.rope(plain), (rope) => {
    const plan = rope.plan();
    const kept = plan.inv_freq.slice();
    plan.inv_freq.fill(0);
    plan.attention_factor = 9;
    sameBits(rope.plan().inv_freq, kept);
    assert.equal(rope.plan().attention_factor, 1);
  });
});

test("a config may be a Proxy, as the reactive objects of web frameworks are", () => {
  const reactive = (value) =>
    new Proxy(value, { get: (target, key) => (typeof target[key] === "object" ? reactive(target[key]) : target[key]) });
  const given = { head_dim: 8, pairing: "half", rope_scaling: { rope_type: "custom", inv_freq: [1, 2, 3, 4] } };
  withRope(rw.rope(reactive(given)), (rope) => {
    assert.deepEqual(rope.config, given);
    assert.deepEqual([...rope.plan().inv_freq], [1, 2, 3, 4]);
  });
});

test("rope.config is a frozen copy of the given config", () => {
  const given = scaled({ rope_type: "linear", factor: 2 });
  withRope(rw.rope(given), (rope) => {
    assert.deepEqual(rope.config, given);
    assert.throws(() => {
      rope.config.head_dim = 64;
    }, TypeError);
    given.rope_scaling.factor = 8;
    assert.equal(rope.config.rope_scaling.factor, 2);
  });
});

// Frequencies by the formulas of transformers 5.24 (modeling_rope_utils.py) in f64: w[1], w[n/4], w[n/2], w[n−1], Σw
const yarn = (factor, original_max_position_embeddings, more) => ({
  rope_type: "yarn",
  factor,
  original_max_position_embeddings,
  ...more,
});
const llama3 = (factor) => ({
  rope_type: "llama3",
  factor,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
});
const references = {
  "Llama-2": [plain, [0.865964323, 0.1, 0.01, 0.000115478198, 7.4599541336]],
  "Llama-3.1-8B": [
    scaled(llama3(8), { rope_theta: 5e5 }),
    [0.814617234, 0.0376060309, 0.000524846161, 3.06892599e-7, 5.38605820073],
  ],
  "Llama-3.2-1B": [
    scaled(llama3(32), { rope_theta: 5e5, head_dim: 64 }),
    [0.663601238, 0.0376060309, 0.000429556797, 9.41830673e-8, 2.96820229784],
  ],
  "Qwen2.5 YaRN ×4": [
    scaled(yarn(4, 32768), { rope_theta: 1e6 }),
    [0.805842188, 0.0316227766, 0.000602941176, 3.1023444e-7, 5.14403472174],
  ],
  "gpt-oss": [
    scaled(yarn(32, 4096, { truncate: false }), { rope_theta: 150000, head_dim: 64 }),
    [0.689044306, 0.0508132748, 0.000456483919, 3.02351143e-7, 3.18043827693],
  ],
  "gpt-oss by llama.cpp": [
    scaled(yarn(32, 4096, { truncate: false }), { rope_theta: 150000, head_dim: 64, compat: "llama.cpp" }),
    [0.689044306, 0.0508132748, 0.000580947502, 3.02351143e-7, 3.1816594922],
  ],
  "DeepSeek-V3": [scaled(yarn(40, 4096), { head_dim: 64 }), [0.749894209, 0.1, 0.0055, 3.33380358e-6, 3.94893627408]],
  "Kimi-K2": [
    scaled(yarn(32, 4096, { beta_fast: 1, beta_slow: 1 }), { rope_theta: 50000, head_dim: 64 }),
    [0.713111085, 0.0668740305, 0.00447213595, 8.76441291e-7, 3.48176234064],
  ],
  "Yarn-Llama-2-7b-64k": [scaled(yarn(16, 4096)), [0.865964323, 0.1, 0.00567307692, 7.2173874e-6, 7.36523470081]],
  "Yarn-Llama-2-7b-128k": [scaled(yarn(32, 4096)), [0.865964323, 0.1, 0.00552884615, 3.6086937e-6, 7.36207738638]],
  "HunYuan α 1000": [
    scaled({ rope_type: "ntk_alpha", alpha: 1000 }),
    [0.776034363, 0.0173019574, 0.000299357729, 1.15478198e-7, 4.4649702695],
  ],
  "Gemma-4 proportional": [
    scaled({ rope_type: "proportional" }, { rope_theta: 1e6, head_dim: 512, partial_rotary_factor: 0.25 }),
    [0.947463526, 0, 0, 0, 18.4324744947],
  ],
  "Gemma-3 linear 8": [
    scaled({ rope_type: "linear", factor: 8 }, { rope_theta: 1e6 }),
    [0.100730273, 0.00395284708, 0.000125, 1.5511722e-7, 0.64380553921],
  ],
  "GPT-NeoX-20B": [
    { head_dim: 96, rotary_dim: 24, pairing: "half" },
    [0.464158883, 0.1, 0.01, 0.000215443469, 1.86603821348],
  ],
};

for (const [name, [config, [w1, wQuarter, wHalf, wLast, sum]]] of Object.entries(references)) {
  test(`reference numbers: ${name}`, () => {
    const { inv_freq } = planOf(config);
    const n = inv_freq.length;
    for (const [j, expected] of [
      [1, w1],
      [n / 4, wQuarter],
      [n / 2, wHalf],
      [n - 1, wLast],
    ])
      near(inv_freq[j], expected, 6e-9, `w[${j}]`); // the references have nine digits
    near(
      inv_freq.reduce((a, b) => a + b),
      sum,
      1e-11,
      "sum",
    );
  });
}

test("reference numbers: InternLM2.5, dynamic ×2 from 32768, at 65536", () => {
  const { inv_freq } = planOf(
    scaled({ rope_type: "dynamic", factor: 2 }, { rope_theta: 1e6, max_position_embeddings: 32768 }),
    65536,
  );
  for (const [j, expected] of [
    [1, 0.791911495],
    [16, 0.0239235898],
    [32, 0.000572338151],
    [63, 4.1364592e-7],
  ])
    near(inv_freq[j], expected, 6e-9, `w[${j}]`);
});

test("YaRN's correction ranges and attention factors", () => {
  const cases = [
    [scaled(yarn(4, 32768), { rope_theta: 1e6 }), [23, 40], 1.1386294361],
    [scaled(yarn(32, 4096), { rope_theta: 150000, head_dim: 64 }), [8, 18], 1.3465735903],
    [scaled(yarn(40, 4096, { mscale: 1, mscale_all_dim: 1 }), { head_dim: 64 }), [10, 23], 1],
    [
      scaled(yarn(32, 4096, { beta_fast: 1, beta_slow: 1 }), { rope_theta: 50000, head_dim: 64 }),
      [19, 20],
      1.3465735903,
    ],
    [scaled(yarn(8, 8192), { rope_theta: 5e5 }), [18, 35], 1.2079441542],
    [scaled(yarn(16, 4096)), [20, 46], 1.2772588722],
    [scaled(yarn(16, 8192)), [25, 50], 1.2772588722],
  ];
  for (const [config, range, factor] of cases) {
    const plan = planOf(config);
    assert.deepEqual(plan.correction_range, range);
    near(plan.attention_factor, factor, 1e-10, "attention_factor");
  }
  const raw = planOf(
    scaled(yarn(32, 4096, { truncate: false }), { rope_theta: 150000, head_dim: 64 }),
  ).correction_range;
  near(raw[0], 8.0928, 5e-5, "low");
  near(raw[1], 17.398, 5e-5, "high");
});

test("softmax scale: 1/√head_dim, the scale in the config, and DeepSeek's factor", () => {
  assert.equal(planOf(plain).softmax_scale, 1 / Math.sqrt(128));
  assert.equal(planOf({ ...plain, softmax_scale: 0.25 }).softmax_scale, 0.25);
  const deepseek = scaled(yarn(40, 4096, { mscale: 1, mscale_all_dim: 1 }), {
    head_dim: 64,
    model_type: "deepseek_v3",
    softmax_scale: 192 ** -0.5,
  });
  near(planOf(deepseek).softmax_scale * Math.sqrt(192), 1.8738542, 1e-8, "softmax_scale");
});

test("a plan is valid for exactly its range of lengths", () => {
  const dynamic = scaled({ rope_type: "dynamic", factor: 2 }, { max_position_embeddings: 4096 });
  const ones = (n) => new Array(n).fill(1);
  const longrope = scaled(
    {
      rope_type: "longrope",
      short_factor: ones(64),
      long_factor: new Array(64).fill(8),
      original_max_position_embeddings: 4096,
    },
    { max_position_embeddings: 131072 },
  );
  const cases = [
    [plain, 1, 1, Infinity],
    [scaled(yarn(4, 32768)), 100000, 1, Infinity],
    [dynamic, 1, 1, 4096],
    [dynamic, 4096, 1, 4096],
    [dynamic, 4097, 4097, 4097],
    [longrope, 4096, 1, 4096],
    [longrope, 4097, 4097, Infinity],
    [longrope, 131072, 4097, Infinity],
  ];
  for (const [config, seqLen, valid_from, valid_to] of cases) {
    const plan = planOf(config, seqLen);
    assert.deepEqual(
      [plan.valid_from, plan.valid_to],
      [valid_from, valid_to],
      `${config.rope_scaling?.rope_type ?? "default"} at ${seqLen}`,
    );
    for (const length of [valid_from, Math.min(valid_to, 2 ** 31)])
      sameBits(planOf(config, length).inv_freq, plan.inv_freq, `at ${length}`);
  }
  assert.notDeepEqual(planOf(dynamic, 4097).inv_freq, planOf(dynamic, 4096).inv_freq);
  assert.notDeepEqual(planOf(dynamic, 4098).inv_freq, planOf(dynamic, 4097).inv_freq);
  assert.notDeepEqual(planOf(longrope, 4097).inv_freq, planOf(longrope, 4096).inv_freq);
});

test("a plan doesn't depend on earlier calls", () => {
  const dynamic = scaled({ rope_type: "dynamic", factor: 2 }, { max_position_embeddings: 4096 });
  withRope(rw.rope(dynamic), (rope) => {
    const lengths = [1, 5000, 4096, 100000, 5000, 1];
    const fresh = lengths.map((length) => planOf(dynamic, length).inv_freq);
    lengths.forEach((length, i) => sameBits(rope.plan(length).inv_freq, fresh[i], `at ${length}`));
    sameBits(rope.plan().inv_freq, fresh[0], "without a length, the plan for short sequences");
  });
});

test("both ramps of YaRN are equal at their ends and differ in between", () => {
  const config = (ramp) => scaled(yarn(4, 4096, { ramp, truncate: false }));
  const byIndex = planOf(config("pair_index"));
  const byRotations = planOf(config("rotations"));
  assert.deepEqual(byRotations.correction_range, [1, 32], "in rotations: beta_slow and beta_fast");
  const base = planOf(plain).inv_freq;
  let different = 0;
  base.forEach((w, j) => {
    const rotations = (4096 * w) / (2 * Math.PI);
    if (rotations >= 32)
      for (const plan of [byIndex, byRotations]) near(plan.inv_freq[j], w, 1e-15, `pair ${j} is kept`);
    else if (rotations <= 1)
      for (const plan of [byIndex, byRotations]) near(plan.inv_freq[j], w / 4, 1e-15, `pair ${j} is interpolated`);
    else different += Math.abs(byIndex.inv_freq[j] / byRotations.inv_freq[j] - 1) > 1e-3 ? 1 : 0;
  });
  assert.ok(different > 5, `${different} pairs differ`);
});

test("the longest sequence that vLLM serves, and the rows of its table", () => {
  const { max_length, table_length } = planOf(
    scaled(yarn(4, 32768), { compat: "vllm", max_position_embeddings: 131072 }),
  );
  assert.deepEqual([max_length, table_length], [131072, 131072]);
});

test("xPos: one scale per pair", () => {
  const { xpos } = planOf({ ...plain, xpos: { scale_base: 512, center: 7 } });
  assert.deepEqual([xpos.scale_base, xpos.center], [512, 7]);
  xpos.scale.forEach((scale, j) => near(scale, (2 * j + 0.4 * 128) / (1.4 * 128), 1e-15, `pair ${j}`));
});

test("an odd share of a head is rounded up to whole pairs, and its frequencies are those of the odd width", () => {
  const config = ropeConfig(
    { model_type: "phi", hidden_size: 240, num_attention_heads: 8, max_position_embeddings: 2048 },
    { overrides: { partial_rotary_factor: 0.5 } },
  );
  assert.deepEqual([config.head_dim, config.rotary_dim, config.frequency_dim], [30, 16, 15]);
  const { rotary_dim, inv_freq } = planOf(config);
  assert.equal(rotary_dim, 16);
  inv_freq.forEach((frequency, j) => near(frequency, 10000 ** ((-2 * j) / 15), 1e-15, `pair ${j}`));
  const even = overrideRopeConfig(config, { partial_rotary_factor: 0.4 });
  assert.deepEqual([even.rotary_dim, even.frequency_dim], [12, undefined]);
  assert.throws(() => rw.rope({ ...plain, rotary_dim: 15 }), { code: "INVALID_CONFIG", field: "rotary_dim" });
  assert.throws(() => rw.rope({ ...plain, rotary_dim: 16, frequency_dim: 14 }), { field: "frequency_dim" });
});
