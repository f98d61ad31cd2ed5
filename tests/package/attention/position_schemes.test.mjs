// Position encodings other than RoPE, compared with BLOOM, MPT, T5 and XLM (tests/golden/position_schemes.json) and with a reference
// implementation.
import assert from "node:assert/strict";
import test from "node:test";
import { close, product, randomFloats, sameBits } from "../helpers/arrays.mjs";
import { referenceAttention, attentionTolerance } from "../helpers/attention.mjs";
import { golden } from "../helpers/golden.mjs";
import { referenceRotate } from "../helpers/reference.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("position_schemes");

test("has all cases", () => assert.equal(cases.length, 21));

/** tests/golden/README.md: BLOOM's slopes have a relative error of up to 3e-7, XLM's table is rounded once, MPT rounds its bias to f32. */
const checks = {
  alibi_slopes({ heads, slopes, bias, bias_shape: [, , keys] }) {
    const actual = rw.alibiSlopes(heads);
    close(actual, slopes, (h) => 3e-7 * slopes[h] + 2 ** -24 * slopes[h]);
    close(
      Array.from({ length: bias.length }, (_, i) => -actual[Math.floor(i / keys)] * (keys - 1 - (i % keys))),
      bias,
      (i) => 3e-7 * Math.abs(bias[i]) + 1e-7,
    );
  },
  t5_buckets({ relative_positions, buckets, num_buckets, max_distance, bidirectional }) {
    assert.deepEqual(
      [...rw.t5Buckets(relative_positions, { buckets: num_buckets, maxDistance: max_distance, bidirectional })],
      buckets,
    );
  },
  sinusoidal({ table, table_shape: [rows, dim] }) {
    close(rw.sinusoidalTable(rows, dim), table, 2 ** -24);
  },
  attention({ q, k, v, q_shape: shape, kv_shape: kvShape, options, scheme, out }) {
    const { soft_cap: softCap, ...rest } = options;
    const [qf, kf, vf] = [q, k, v].map((x) => Float32Array.from(x));
    close(
      rw.attention(qf, kf, vf, { layout: "bhtd", shape, kvShape, softCap, ...rest, position: positionOf(scheme) }),
      out,
      2e-6,
    );
  },
};

function positionOf({ type, ...scheme }) {
  const table = scheme.table && Float32Array.from(scheme.table);
  return {
    alibi: { scheme: type, slopes: scheme.slopes },
    t5: { scheme: type, table, maxDistance: scheme.max_distance, bidirectional: scheme.bidirectional },
    sinusoidal: { scheme: type },
    learned: { scheme: type, table },
  }[type];
}

for (const given of cases) test(given.name, () => checks[given.kind](given));

const shape = [2, 30, 4, 16];
const kvShape = [2, 47, 2, 16];
const [q, k, v] = [
  randomFloats(product(shape), 1),
  randomFloats(product(kvShape), 2),
  randomFloats(product(kvShape), 3),
];
const options = { layout: "bthd", shape, kvShape };
const positions = Float64Array.from({ length: 60 }, (_, i) => (i < 30 ? 17 + i : 3 * i - 40));
const kvPositions = Float64Array.from({ length: 94 }, (_, i) => (i < 47 ? i : 2 * i - 7));

/** Reference implementation of attention, which first rotates each row of q and k by its position, or adds to it. */
function expected({ encode = (x) => x, bias, ...more }) {
  const { out, largest } = referenceAttention(
    encode(q, shape, positions, "query"),
    encode(k, kvShape, kvPositions, "key"),
    v,
    { ...options, ...more, bias },
  );
  return { out, tolerance: attentionTolerance(16, 47, largest) };
}

/** Adds row(position)[i] to element i of every head. */
const adding =
  (row) =>
  (x, [b, t, h, d], at) =>
    Float64Array.from(x, (value, i) => value + row(at[Math.floor(i / (h * d)) % (b * t)])[i % d]);

const distance = (b, t, n) => kvPositions[b * 47 + n] - positions[b * 30 + t];

function expectScheme(position, reference, more = {}) {
  const { out, tolerance } = expected({ ...reference, ...more });
  close(
    rw.attention(q, k, v, { ...options, position, positions, kvPositions, ...more }),
    out,
    tolerance,
    JSON.stringify([position.scheme, more]),
  );
}

const sine = (base) => (p) =>
  Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? Math.sin : Math.cos)(p / base ** ((i - (i % 2)) / 16)));

test("attention with each scheme equals the reference, with separate positions for each row", () => {
  const table = randomFloats(160 * 16, 4);
  const t5Table = randomFloats(8 * 4, 5);
  const bucket = (b, t, n, bidirectional) =>
    rw.t5Buckets([distance(b, t, n)], { buckets: 8, maxDistance: 20, bidirectional })[0];
  for (const more of [{}, { window: 9 }, { causal: false, softCap: 5 }]) {
    expectScheme({ scheme: "sinusoidal" }, { encode: adding(sine(10000)) }, more);
    expectScheme({ scheme: "sinusoidal", base: 50 }, { encode: adding(sine(50)) }, more);
    expectScheme(
      { scheme: "alibi" },
      { bias: (h, b, t, n) => -(2 ** (-2 * (h + 1))) * Math.abs(distance(b, t, n)) },
      more,
    );
    expectScheme(
      { scheme: "alibi", slopes: [1, 0, -0.5, 0.25] },
      { bias: (h, b, t, n) => -[1, 0, -0.5, 0.25][h] * Math.abs(distance(b, t, n)) },
      more,
    );
    const t5 = (bidirectional) => ({ bias: (h, b, t, n) => t5Table[bucket(b, t, n, bidirectional) * 4 + h] });
    expectScheme({ scheme: "t5", table: t5Table, maxDistance: 20 }, t5(more.causal === false), more);
    expectScheme({ scheme: "t5", table: t5Table, maxDistance: 20, bidirectional: true }, t5(true), more);
  }
  const within = (x) => x.map((p) => Math.abs(p) % 160);
  const [at, kvAt] = [within(positions), within(kvPositions)];
  const encode = (x, extents, _, role) =>
    adding((p) => table.subarray(p * 16, p * 16 + 16))(x, extents, role === "query" ? at : kvAt);
  const { out, tolerance } = expected({ encode });
  const learned = { ...options, positions: at, kvPositions: kvAt };
  close(rw.attention(q, k, v, { ...learned, position: { scheme: "learned", table } }), out, tolerance, "learned");
  const tensor = rw.tensor([160, 16]).set(table);
  sameBits(
    rw.attention(q, k, v, { ...learned, position: { scheme: "learned", table: tensor } }),
    rw.attention(q, k, v, { ...learned, position: { scheme: "learned", table } }),
  );
  tensor.dispose();
});

const ropes = {
  half: { head_dim: 16, pairing: "half" },
  interleaved: { head_dim: 16, pairing: "interleaved", rope_theta: 500 },
  "reads interleaved, writes half": { head_dim: 16, pairing: "interleaved_to_half" },
  "part of a head": { head_dim: 16, rotary_dim: 8, rotary_offset: 4, pairing: "half" },
  yarn: {
    head_dim: 16,
    pairing: "half",
    rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32 },
  },
  "two axes": { head_dim: 16, pairing: "half", rope_scaling: { rope_type: "default", mrope_section: [5, 3] } },
};

for (const [name, config] of Object.entries(ropes)) {
  test(`attention with a rope rotates q and k: ${name}`, () => {
    withRope(rw.rope(config), (rope) => {
      const plan = rope.plan(200);
      const encode = (x, extents, at) => {
        const [, t] = extents;
        const position = (b, token) => at[b * t + token];
        return referenceRotate(x, plan, { layout: "bthd", shape: extents, position }).rotated;
      };
      // with two axes, 60 ids could mean 30 tokens per axis, so each axis gets separate ids
      const [at, kvAt] =
        rope.axes === 1
          ? [positions, kvPositions]
          : [
              [...positions, ...positions],
              [...kvPositions, ...kvPositions],
            ];
      const given = { positions: at, kvPositions: kvAt, rope };
      const { out, tolerance } = expected({ encode, scale: plan.softmax_scale });
      close(rw.attention(q, k, v, { ...options, ...given }), out, 3 * tolerance);
      // same bits as attention over q and k rotated by rope.rotate()
      const rotated = rope.rotate(q.slice(), { layout: "bthd", shape, positions: at });
      const rotatedK = rope.rotate(k.slice(), { layout: "bthd", shape: kvShape, positions: kvAt, role: "key" });
      sameBits(
        rw.attention(q, k, v, { ...options, ...given }),
        rw.attention(rotated, rotatedK, v, { ...options, scale: plan.softmax_scale }),
      );
    });
  });
}

test("a rope with length-dependent plans uses the largest position of all", () => {
  const config = {
    head_dim: 16,
    pairing: "half",
    max_position_embeddings: 32,
    rope_scaling: { rope_type: "dynamic", factor: 2 },
  };
  withRope(rw.rope(config), (rope) => {
    const rotated = rope.rotate(q.slice(), { layout: "bthd", shape, positions, seqLen: 180 });
    const rotatedK = rope.rotate(k.slice(), { layout: "bthd", shape: kvShape, positions: kvPositions, seqLen: 180 });
    sameBits(
      rw.attention(q, k, v, { ...options, rope, positions, kvPositions }),
      rw.attention(rotated, rotatedK, v, options),
    );
  });
});

test("without positions, queries are the last tokens", () => {
  withRope(rw.rope(ropes.half), (rope) => {
    const placed = { positions: 17, kvPositions: 0 };
    for (const scheme of [{ rope }, { position: { scheme: "alibi" } }, { position: { scheme: "sinusoidal" } }]) {
      sameBits(
        rw.attention(q, k, v, { ...options, ...scheme }),
        rw.attention(q, k, v, { ...options, ...scheme, ...placed }),
      );
    }
  });
});

test("positions of several axes", () => {
  withRope(rw.rope(ropes["two axes"]), (rope) => {
    const ids = (tokens) => Float64Array.from({ length: 2 * 2 * tokens }, (_, i) => (i * 7) % 31);
    const [at, kvAt] = [ids(30), ids(47)];
    const rotated = rope.rotate(q.slice(), { layout: "bthd", shape, positions: at });
    const rotatedK = rope.rotate(k.slice(), { layout: "bthd", shape: kvShape, positions: kvAt });
    const out = rw.attention(q, k, v, { ...options, rope, positions: at, kvPositions: kvAt });
    sameBits(out, rw.attention(rotated, rotatedK, v, options));
  });
});

test("tables: any positions, odd columns, other bases", () => {
  close(
    rw.sinusoidalTable([0.5, -3, 1e6], 7, { base: 100 }),
    [0.5, -3, 1e6].flatMap((p) =>
      Array.from({ length: 7 }, (_, i) => (i % 2 === 0 ? Math.sin : Math.cos)(p / 100 ** ((i - (i % 2)) / 7))),
    ),
    2 ** -24 + 1e-9,
  );
  const large = rw.sinusoidalTable(3000, 512);
  sameBits(rw.sinusoidalTable(Float64Array.of(2999), 512), large.slice(2999 * 512), "rows don't depend on other rows");
  assert.equal(rw.t5Buckets([]).length, 0);
  assert.deepEqual([...rw.t5Buckets([0, -1, -15, -16, -127, -128, -1e6, 5])], [0, 1, 15, 16, 31, 31, 31, 0]);
});

test("invalid arguments", () => {
  for (const none of [0, -1, 1.5, NaN, "8", null, 65537])
    raises(() => rw.alibiSlopes(none), "INVALID_ARGUMENT", "heads");
  for (const none of [0, NaN, [], [NaN], "8", [2 ** 32]])
    raises(() => rw.sinusoidalTable(none, 8), "INVALID_POSITION", "positions");
  for (const dim of [0, 1.5, undefined, 8193]) raises(() => rw.sinusoidalTable(4, dim), "INVALID_ARGUMENT", "dim");
  for (const base of [1, 0, -5, NaN, "10000", 1e31])
    raises(() => rw.sinusoidalTable(4, 8, { base }), "INVALID_ARGUMENT", "base");
  for (const none of [5, "1", [NaN], ["1"], undefined])
    raises(() => rw.t5Buckets(none), "INVALID_POSITION", "relativePositions");
  for (const buckets of [1, 0, 2.5, "32"]) raises(() => rw.t5Buckets([1], { buckets }), "INVALID_ARGUMENT", "buckets");
  for (const maxDistance of [0, 16, NaN, "128"])
    raises(() => rw.t5Buckets([1], { maxDistance }), "INVALID_ARGUMENT", "maxDistance");
});
