// Analysis of a config: decay (RoFormer, arXiv:2104.09864, section 3.4.3), smallest base (arXiv:2405.14591), describe, warnings, query temperature.
import assert from "node:assert/strict";
import test from "node:test";
import { describe, ropeConfig } from "ropewalk";
import { sameBits } from "../helpers/arrays.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const plain = { head_dim: 128, pairing: "half" };
const near = (actual, expected, tolerance, name) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${name}: ${actual} instead of ${expected}`);

test("decay of equal vectors: d = 512, base 10000", () => {
  withRope(rw.rope({ head_dim: 512, pairing: "half" }), (rope) => {
    for (const [distance, score, digits] of [
      [0, 512, 1e-9],
      [100, 223.9, 0.05],
      [4096, 25.2, 0.05],
      [19200, -69, 1],
    ]) {
      near(rope.decay({ first: distance, count: 1 })[0], score, digits, `at ${distance}`);
    }
    assert.ok(rope.decay({ first: 65535, count: 1 })[0] > 0, "above zero later");
    const first = rope.firstNegativeDistance(65536);
    const before = rope.decay({ first: 1, count: first });
    assert.ok(before.at(-1) < 0 && before.slice(0, -1).every((score) => score >= 0), `first below zero at ${first}`);
    assert.equal(rope.firstNegativeDistance(first - 1), null);
    assert.equal(rope.firstNegativeDistance(first), first);
  });
});

test("decay is S(Δ) = 2 Σ cos(Δ w), at any distance", () => {
  withRope(rw.rope({ ...plain, rope_theta: 5e5 }), (rope) => {
    const { inv_freq } = rope.plan();
    const values = rope.decay({ first: -3.5, step: 0.25, count: 1000 });
    values.forEach((value, i) => {
      const expected = 2 * inv_freq.reduce((sum, w) => sum + Math.cos((-3.5 + 0.25 * i) * w), 0);
      near(value, expected, 1e-11, `at ${-3.5 + 0.25 * i}`);
    });
    // more values than fit in the scratch block; each equals the value computed alone
    const many = rope.decay({ count: 70000, step: 3 });
    for (const i of [0, 65535, 65536, 69999])
      assert.equal(many[i], rope.decay({ first: 3 * i, count: 1 })[0], `value ${i}`);
  });
});

test("RoFormer's bound: the mean over i of |Σ e^{iΔw}|", () => {
  withRope(rw.rope({ ...plain, head_dim: 16 }), (rope) => {
    const { inv_freq } = rope.plan();
    rope.decay({ curve: "bound", count: 50, step: 7 }).forEach((value, i) => {
      let [cos, sin, sum] = [0, 0, 0];
      for (const w of inv_freq) {
        cos += Math.cos(7 * i * w);
        sin += Math.sin(7 * i * w);
        sum += Math.hypot(cos, sin);
      }
      near(value, sum / inv_freq.length, 1e-12, `at ${7 * i}`);
    });
  });
});

test("random vectors: the seed determines the curve, and the mean curve is that of equal vectors", () => {
  withRope(rw.rope(plain), (rope) => {
    const random = (seed, draws) => rope.decay({ curve: "random", count: 200, step: 20, seed, draws });
    sameBits(random(1, 16), random(1, 16));
    assert.notDeepEqual(random(1, 16), random(2, 16));
    const ones = rope.decay({ count: 200, step: 20 });
    // |z|² of a pair has mean 2, the weight in the curve of ones, and deviation 2: the sum of 64 means of 4096 draws deviates by √64 · 2/√4096
    random(3, 4096).forEach((value, i) => near(value, ones[i], 6 * 0.25, `at ${20 * i}`));
  });
});

test("the smallest base keeps scores above zero over the window, and a slightly smaller one doesn't", () => {
  for (const [rotary_dim, window] of [
    [128, 1024],
    [64, 4096],
    [128, 4096],
  ]) {
    const base = rw.smallestBase(rotary_dim, window);
    const negative = (rope_theta) =>
      withRope(rw.rope({ head_dim: rotary_dim, pairing: "half", rope_theta }), (rope) =>
        rope.firstNegativeDistance(window),
      );
    assert.equal(negative(base), null, `base ${base} keeps ${rotary_dim} dimensions above zero up to ${window}`);
    assert.notEqual(negative(base / 1.002), null, `base ${base / 1.002} does not`);
  }
  assert.ok(rw.smallestBase(128, 4096) > rw.smallestBase(128, 1024));
  assert.equal(rw.smallestBase(2, 100), null, "a single pair rotates by one radian per position with any base");
});

test("describe: Llama 3.1 8B, pairs kept, blended and interpolated as in transformers' _compute_llama3_parameters", () => {
  const config = {
    head_dim: 128,
    pairing: "half",
    rope_theta: 5e5,
    max_position_embeddings: 131072,
    rope_scaling: {
      rope_type: "llama3",
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    },
  };
  const d = rw.describe(config);
  assert.deepEqual(d.counts, { kept: 29, blended: 6, interpolated: 29, scaled: 0, unrotated: 0 });
  assert.deepEqual([d.rope_type, d.seqLen, d.window, d.factor, d.over_extrapolated], ["llama3", 8192, 8192, 8, null]);
  assert.deepEqual(d.config, config);
  d.pairs.forEach(({ pair, inv_freq, wavelength, rotations, kept_share, treatment, axis }, i) => {
    assert.equal(pair, i);
    assert.equal(inv_freq, d.plan.inv_freq[i]);
    near(wavelength * inv_freq, 2 * Math.PI, 1e-14, `wavelength ${i}`);
    const unscaled = 5e5 ** ((-2 * i) / 128);
    near(rotations, (8192 * unscaled) / (2 * Math.PI), 1e-12 * rotations, `rotations ${i}`);
    near(kept_share, (inv_freq - unscaled / 8) / (unscaled - unscaled / 8), 1e-6, `kept share ${i}`);
    assert.equal(treatment, rotations > 4 ? "kept" : rotations < 1 ? "interpolated" : "blended", `pair ${i}`);
    assert.equal(axis, 0);
  });
});

test("describe: the pairs that NTK-aware scaling rotates past the angles seen in training", () => {
  const { over_extrapolated, factor } = rw.describe({
    ...plain,
    max_position_embeddings: 4096,
    rope_scaling: { rope_type: "ntk", factor: 40 },
  });
  assert.equal(factor, 40);
  near(over_extrapolated.first, 45.03, 0.005, "first");
  near(over_extrapolated.last, 63, 0.005, "last");
  assert.equal(
    rw.describe({ ...plain, max_position_embeddings: 4096, rope_scaling: { rope_type: "linear", factor: 40 } })
      .over_extrapolated,
    null,
  );
});

test("describe: treatment of pairs in the other types", () => {
  const of = (rope_scaling, more) =>
    rw.describe({ ...plain, max_position_embeddings: 4096, ...more, rope_scaling }).counts;
  assert.deepEqual(of({ rope_type: "default" }), { kept: 64, blended: 0, interpolated: 0, scaled: 0, unrotated: 0 });
  assert.deepEqual(of({ rope_type: "linear", factor: 4 }), {
    kept: 0,
    blended: 0,
    interpolated: 64,
    scaled: 0,
    unrotated: 0,
  });
  const yarn = of({ rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096 });
  assert.deepEqual([yarn.kept, yarn.interpolated, yarn.blended], [21, 18, 25], "ramp from 20 to 46");
  assert.deepEqual(of({ rope_type: "proportional" }, { partial_rotary_factor: 0.25 }), {
    kept: 16,
    blended: 0,
    interpolated: 0,
    scaled: 0,
    unrotated: 48,
  });
});

test("describe: decay, lengths and base at the given length", () => {
  const config = { ...plain, max_position_embeddings: 4096, rope_scaling: { rope_type: "dynamic", factor: 2 } };
  const d = rw.describe(config, 16384);
  assert.equal(d.seqLen, 16384);
  assert.equal(d.factor, 2 * 4 - 1);
  withRope(rw.rope(config), (rope) => {
    sameBits(d.plan.inv_freq, rope.plan(16384).inv_freq);
    for (const { distance, score } of d.decay)
      assert.equal(score, rope.decay({ first: distance, count: 1, seqLen: 16384 })[0]);
    assert.equal(d.first_negative_distance, rope.firstNegativeDistance(d.decay_limit, 16384));
    assert.deepEqual({ ...rope.describe(16384), toString: 0 }, { ...d, toString: 0 }, "rope.describe returns the same");
  });
  assert.deepEqual(
    d.decay.slice(0, 4).map(({ distance }) => distance),
    [0, 1, 2, 4],
  );
  assert.equal(d.decay_limit, 65536);
  assert.equal(d.smallest_base, rw.smallestBase(128, 16384));
});

test("the exported describe() uses the module that was loaded last", () => {
  const config = { ...plain, max_position_embeddings: 4096 };
  assert.deepEqual({ ...describe(config), toString: 0 }, { ...rw.describe(config), toString: 0 });
});

test("describe as text: the type, the base, each treatment, and every warning", () => {
  const d = rw.describe({
    ...plain,
    rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 4096, beta_fast: 1, beta_slow: 1 },
  });
  const text = String(d);
  assert.match(text, /RoPE yarn, base 10000, half pairing/);
  for (const warning of d.warnings) assert.ok(text.includes(warning), warning);
  for (const { treatment } of d.pairs) assert.ok(text.includes(treatment), treatment);
  assert.ok(
    text.split("\n").every((line) => !/undefined|NaN|\[object/.test(line)),
    text,
  );
});

/** Asserts that a config has one warning for each pattern, and no others. */
function expectWarnings(config, patterns, seqLen) {
  const { warnings } = rw.describe(config, seqLen);
  assert.equal(warnings.length, patterns.length, JSON.stringify(warnings));
  for (const pattern of patterns)
    assert.equal(
      warnings.filter((warning) => pattern.test(warning)).length,
      1,
      `${pattern} in ${JSON.stringify(warnings)}`,
    );
}

test("warnings: none for correct released configs", () => {
  const llama = {
    model_type: "llama",
    hidden_size: 4096,
    num_attention_heads: 32,
    max_position_embeddings: 131072,
    rope_theta: 5e5,
  };
  expectWarnings(
    ropeConfig({
      ...llama,
      rope_scaling: {
        rope_type: "llama3",
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 8192,
      },
    }),
    [],
  );
  expectWarnings({ ...plain, rope_theta: 1e6, max_position_embeddings: 4096 }, []);
});

test("warnings: each for its config", () => {
  const given = { ...plain, rope_theta: 1e6, max_position_embeddings: 131072 };
  const yarn = (more) => ({
    ...given,
    rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768, ...more },
  });
  const long = 65536; // beyond the original length, where static YaRN is expected
  expectWarnings(yarn(), [], long);
  expectWarnings(yarn(), [/static/], 1000);
  expectWarnings({ ...plain, max_position_embeddings: 4096 }, [/rope_theta is not given/]);
  expectWarnings(given, [/longer than the 131072/], 200000);
  expectWarnings({ ...given, rope_scaling: { rope_type: "dynamic", factor: 2 } }, [/these frequencies hold for/], 1000);
  expectWarnings(yarn({ factor: 8 }), [/max_position_embeddings is 131072/], long);
  expectWarnings(yarn({ beta_fast: 1, beta_slow: 1 }), [/the ramp is a step/], long);
  expectWarnings(yarn({ mscale: 0.7 }), [/mscale without mscale_all_dim/], long);
  expectWarnings(yarn({ attn_factor: 1.1 }), [/attn_factor is not read by transformers/], long);
  expectWarnings(
    { ...yarn({ attention_factor: 1.1 }), compat: "vllm", model_type: "deepseek_v3" },
    [/attention_factor is not read by vllm/],
    long,
  );
  expectWarnings({ ...yarn({ attention_factor: 1.1 }), compat: "vllm" }, [], long);
  expectWarnings({ ...yarn({ attention_factor: 1.1 }), compat: "llama.cpp" }, [/attention_factor is not read/], long);
  expectWarnings({ ...yarn({ attn_factor: 1.1 }), compat: "vllm" }, [/attn_factor is not read by vllm/], long);
  expectWarnings({ ...yarn({ extrapolation_factor: 0.5 }), compat: "vllm" }, [/extrapolation_factor is not/], long);
  expectWarnings({ ...yarn({ truncate: false }), compat: "llama.cpp" }, [/truncate has no effect/], long);
  expectWarnings({ ...yarn({ beta_fast: 16 }), compat: "llama.cpp" }, [/betas/], long);
  expectWarnings({ ...yarn({ beta_fast: 16 }), compat: "llama.cpp", model_type: "ministral3" }, [], long);
  expectWarnings(
    { ...given, compat: "llama.cpp", rope_scaling: { rope_type: "dynamic", factor: 2 } },
    [/no dynamic scaling/],
    1000,
  );
  expectWarnings(
    { ...given, compat: "vllm", rope_scaling: { rope_type: "dynamic", factor: 2 } },
    [/scales nothing/],
    1000,
  );
});

test("query temperature: 1 + scale · ln(1 + ⌊(p + offset) / floor_scale⌋)", () => {
  withRope(rw.rope({ ...plain, query_temperature: { scale: 0.1, floor_scale: 8192, offset: 1 } }), (rope) => {
    assert.deepEqual(rope.plan().query_temperature, { scale: 0.1, floor_scale: 8192, offset: 1 });
    const positions = [0, 8190, 8191, 16382, 16383, 100000, 1e6, 5.5];
    rope.queryTemperature(positions).forEach((factor, i) => {
      near(factor, 1 + 0.1 * Math.log(1 + Math.floor((positions[i] + 1) / 8192)), 1e-15, `at ${positions[i]}`);
    });
    assert.deepEqual(rope.queryTemperature(8190), Float64Array.of(1), "one position");
    near(rope.queryTemperature(Int32Array.of(8191))[0], 1 + 0.1 * Math.log(2), 1e-15, "typed");
  });
  withRope(rw.rope(plain), (rope) => assert.deepEqual(rope.queryTemperature([0, 1e6]), Float64Array.of(1, 1)));
});
