// rw.attention equals the reference implementation, in every layout, with every option, and for arrays inside and outside wasm memory.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { close, product, randomFloats, randomNumbers, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { referenceAttention, attentionTolerance, inLayout, shapeIn } from "../helpers/attention.mjs";
import { isExact, rw } from "../helpers/runtime.mjs";

/** Queries, keys and values in a layout, with the options that describe them. */
function inputs(layout, { b = 1, t, n = t, h, kh = h, d }, seed = 1) {
  const [query, key] = [
    { b, t, h, d },
    { b, t: n, h: kh, d },
  ];
  const make = (extents, s) =>
    inLayout(randomFloats(product([extents.b, extents.t, extents.h, extents.d]), s), layout, extents);
  return {
    q: make(query, seed),
    k: make(key, seed + 1),
    v: make(key, seed + 2),
    options: { layout, shape: shapeIn(layout, query), kvShape: shapeIn(layout, key) },
  };
}

/** Asserts that rw.attention equals the reference implementation, and returns its output. */
function expectReference({ q, k, v, options }, more = {}, message = JSON.stringify(more)) {
  const { shape, kvShape, layout } = options;
  const actual = rw.attention(q, k, v, { ...options, ...more });
  const { out, largest } = referenceAttention(q, k, v, { ...options, ...more });
  close(actual, out, attentionTolerance(shape.at(-1), kvShape[layout.indexOf("t")], largest), message);
  return actual;
}

const sizes = {
  "one token": { t: 1, h: 2, d: 8 },
  "a few tokens": { t: 7, h: 2, d: 16 },
  "grouped heads": { t: 9, h: 6, kh: 2, d: 20 },
  "one key head": { t: 5, h: 4, kh: 1, d: 64 },
  "newest of many keys": { t: 3, n: 70, h: 4, kh: 2, d: 8 },
  "one query and many keys": { t: 1, n: 200, h: 8, kh: 2, d: 33 },
  "more query rows than one block": { t: 130, h: 2, kh: 1, d: 4 },
  "a head_dim of 1": { t: 6, h: 2, d: 1 },
  "a head_dim of 7": { t: 40, h: 2, d: 7 },
  "a head_dim of 128": { t: 34, h: 2, kh: 1, d: 128 },
};

for (const [name, size] of Object.entries(sizes)) {
  test(name, () => {
    for (const layout of ["thd", "bthd", "bhtd"]) {
      const given = inputs(layout, { ...size, b: layout === "thd" ? 1 : 2 });
      expectReference(given, {}, layout);
      expectReference(given, { causal: false }, `${layout}, not causal`);
    }
  });
}

const variants = [
  { window: 1 },
  { window: 4 },
  { window: 33 },
  { window: 1000 },
  { window: null },
  { window: 5, sinkTokens: 3 },
  { window: 5, sinkTokens: 1000 },
  { sinkTokens: 4 },
  { causal: false, window: 5 },
  { causal: false, window: 5, sinkTokens: 40 },
  { sinks: [-1.5, 0, 0.73, 3.25] },
  { sinks: Float32Array.of(30, -200, 1, 2), window: 6 },
  { sinks: null, softCap: null, temperature: null },
  { softCap: 50 },
  { softCap: 2, window: 7 },
  { scale: 1 },
  { scale: 0 },
  { scale: -0.3 },
  { scale: 20 },
];

test("windows, sinks, caps and scales", () => {
  for (const layout of ["thd", "bhtd"]) {
    const given = inputs(layout, { t: 50, h: 4, kh: 2, d: 16 });
    for (const more of variants) expectReference(given, more);
    const newest = inputs(layout, { t: 4, n: 77, h: 4, kh: 2, d: 16 });
    for (const more of variants) expectReference(newest, more, `newest of many, ${JSON.stringify(more)}`);
  }
});

test("a temperature per query token", () => {
  const given = inputs("bthd", { b: 2, t: 6, h: 2, d: 8 });
  const temperature = [1, 1.5, 0.5, 2, 0, -1];
  expectReference(given, { temperature });
  expectReference(given, { temperature: Float64Array.from(temperature), softCap: 3 });
});

test("more queries than keys, if attention isn't causal", () => {
  expectReference(inputs("bhtd", { b: 2, t: 9, n: 4, h: 2, d: 8 }), { causal: false });
});

test("a query without visible keys gives zeros, with or without a sink", () => {
  const given = inputs("thd", { t: 60, n: 3, h: 2, d: 8 });
  const out = expectReference(given, { causal: false, window: 4 });
  assert.ok(out.subarray(0, 16).every((value) => value === 0));
  expectReference(given, { causal: false, window: 4, sinks: [1, 2] });
});

for (const kvDtype of ["f16", "bf16"]) {
  test(`keys and values of ${kvDtype}`, () => {
    for (const size of Object.values(sizes)) {
      const { q, k, v, options } = inputs("bhtd", { b: 2, ...size });
      const [keys, values] = [to16Bits(k, kvDtype), to16Bits(v, kvDtype)];
      const expected = rw.attention(q, keys.floats, values.floats, options);
      sameBits(rw.attention(q, keys.bits, values.bits, { ...options, kvDtype }), expected);
      const tensors = [keys, values].map(({ bits }) => rw.tensor(options.kvShape, kvDtype).set(bits));
      sameBits(rw.attention(q, ...tensors, { layout: "bhtd", shape: options.shape }), expected, "tensors");
      sameBits(
        rw.attention(q, tensors[0], values.bits, { layout: "bhtd", shape: options.shape }),
        expected,
        "a tensor and an array",
      );
      for (const tensor of tensors) tensor.dispose();
    }
  });
}

test("tensors, arrays and views of wasm memory give the same bits", () => {
  const { q, k, v, options } = inputs("bthd", { b: 2, t: 37, h: 4, kh: 2, d: 24 });
  const { layout, shape, kvShape } = options;
  const expected = rw.attention(q, k, v, options);
  const [tq, tk, tv] = [rw.tensor(shape).set(q), rw.tensor(kvShape).set(k), rw.tensor(kvShape).set(v)];
  const result = rw.attention(tq, tk, tv, { layout });
  assert.deepEqual(result.shape, shape);
  sameBits(result.data.slice(), expected, "a new tensor");
  result.dispose();
  sameBits(rw.attention(tq.data, tk.data, tv.data, options), expected, "views");
  sameBits(rw.attention(q, tk, v, { layout, shape }), expected, "mixed");
  const out = rw.tensor(shape);
  assert.equal(rw.attention(tq, tk, tv, { layout, out }), out);
  sameBits(out.data.slice(), expected, "out");
  assert.equal(rw.attention(q, k, v, { ...options, out }), out);
  sameBits(out.data.slice(), expected, "a tensor for the output of arrays");
  const array = new Float32Array(q.length).fill(7);
  assert.equal(rw.attention(tq, tk, tv, { layout, out: array }), array);
  sameBits(array, expected, "an array for the output of tensors");
  sameBits(tq.data.slice(), q, "q is unchanged");
  sameBits(tk.data.slice(), k, "k is unchanged");
  sameBits(tv.data.slice(), v, "v is unchanged");
  for (const tensor of [tq, tk, tv, out]) tensor.dispose();
});

test("in place: out may be q", () => {
  for (const layout of ["thd", "bhtd"]) {
    const { q, k, v, options } = inputs(layout, { t: 200, h: 4, kh: 2, d: 12 });
    const expected = rw.attention(q, k, v, options);
    const own = q.slice();
    assert.equal(rw.attention(own, k, v, { ...options, out: own }), own);
    sameBits(own, expected, "an array");
    const tensor = rw.tensor(options.shape).set(q);
    assert.equal(rw.attention(tensor, k, v, { layout, kvShape: options.kvShape, out: tensor }), tensor);
    sameBits(tensor.data.slice(), expected, "a tensor");
    tensor.set(q);
    rw.attention(tensor, k, v, { layout, kvShape: options.kvShape, out: tensor.data });
    sameBits(tensor.data.slice(), expected, "a view of the tensor");
    tensor.dispose();
  }
});

test("parts of one buffer, as in a fused projection", () => {
  const shape = [5, 2, 8];
  const size = product(shape);
  const fused = randomFloats(3 * size, 9);
  const [q, k, v] = [0, 1, 2].map((part) => fused.subarray(part * size, (part + 1) * size));
  const expected = rw.attention(q.slice(), k.slice(), v.slice(), { layout: "thd", shape });
  rw.attention(q, k, v, { layout: "thd", shape, out: q });
  sameBits(q.slice(), expected);
  sameBits(fused.slice(size), randomFloats(3 * size, 9).slice(size), "k and v");
});

test("batch rows, heads and tokens are independent", () => {
  const { q, k, v, options } = inputs("bthd", { b: 3, t: 20, h: 4, kh: 2, d: 8 });
  const expected = rw.attention(q, k, v, options);
  for (let b = 0; b < 3; b++) {
    const row = (x) => x.slice((b * x.length) / 3, ((b + 1) * x.length) / 3);
    const alone = rw.attention(row(q), row(k), row(v), { layout: "thd", shape: [20, 4, 8], kvShape: [20, 2, 8] });
    sameBits(alone, row(expected), `row ${b}`);
  }
});

test("the newest tokens alone give the same output as among all tokens", () => {
  const { q, k, v, options } = inputs("thd", { t: 90, h: 4, kh: 2, d: 16 });
  for (const more of [{}, { window: 16 }, { window: 16, sinkTokens: 4 }]) {
    const expected = rw.attention(q, k, v, { ...options, ...more });
    for (const t of [1, 2, 5, 33]) {
      const from = (90 - t) * 4 * 16;
      const alone = rw.attention(q.slice(from), k, v, { ...options, ...more, shape: [t, 4, 16] });
      // with a window, sums start at the first key that any query attends to, so weights are added in another order
      if (more.window === undefined) sameBits(alone, expected.slice(from), `${t} tokens`);
      else close(alone, expected.slice(from), 16 * 2 ** -24 * 2, `${t} tokens, ${JSON.stringify(more)}`);
    }
  }
});

test("large and widely spread scores neither overflow nor lose the mean", () => {
  const next = randomNumbers(5);
  const { q, k, v, options } = inputs("thd", { t: 40, h: 2, d: 16 });
  for (let i = 0; i < k.length; i++) k[i] = Math.round(8 * (next() - 0.5)) * 64; // scores of ±4000, exact in f32
  for (let i = 0; i < q.length; i++) q[i] = Math.round(4 * (next() - 0.5));
  expectReference({ q, k, v, options }, { scale: 1 });
  assert.ok(rw.attention(q, k, v, { ...options, scale: 1e6 }).every(Number.isFinite));
});

test("a weighted mean is between the smallest and the largest value", () => {
  const { q, k, v, options } = inputs("thd", { t: 60, h: 2, d: 8 });
  v.fill(1);
  close(rw.attention(q, k, v, options), new Float32Array(q.length).fill(1), 64 * 2 ** -24);
});

test("a NaN or infinity in q affects only its own row", () => {
  const { q, k, v, options } = inputs("thd", { t: 6, h: 2, d: 8 });
  const expected = rw.attention(q, k, v, options);
  q[2 * 16 + 3] = NaN; // token 2, head 0
  const out = rw.attention(q, k, v, options);
  assert.ok(out.subarray(2 * 16, 2 * 16 + 8).every(Number.isNaN));
  out.set(expected.subarray(2 * 16, 2 * 16 + 8), 2 * 16);
  sameBits(out, expected);
});

test("the builds agree: scalar and simd have the same bits, relaxed differs by rounding", async () => {
  const scalar = await load({ build: "scalar" });
  for (const [name, size] of Object.entries(sizes)) {
    const { q, k, v, options } = inputs("bhtd", size);
    for (const more of [{}, { softCap: 4, window: 20, sinks: new Array(size.h).fill(0.5) }]) {
      const [actual, expected] = [rw, scalar].map((runtime) => runtime.attention(q, k, v, { ...options, ...more }));
      if (isExact) sameBits(actual, expected, name);
      else close(actual, expected, attentionTolerance(size.d, size.n ?? size.t, 8), name);
    }
  }
});

test("memory used for arrays is freed", () => {
  const { q, k, v, options } = inputs("thd", { t: 2000, h: 4, kh: 2, d: 64 });
  rw.attention(q, k, v, { ...options, window: 8 });
  const before = rw.memoryBytes;
  for (let i = 0; i < 20; i++) rw.attention(q, k, v, { ...options, window: 8 }); // 80 MB in total
  assert.equal(rw.memoryBytes, before);
});
