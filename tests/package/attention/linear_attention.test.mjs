// Linear attention: RoFormer's equation 19 (tests/golden/linear_attention.json) and a reference implementation, for whole sequences and token by
// token.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { close, product, randomFloats, randomNumbers, sameBits } from "../helpers/arrays.mjs";
import { inLayout, shapeIn } from "../helpers/attention.mjs";
import { golden } from "../helpers/golden.mjs";
import { referenceRotate } from "../helpers/reference.mjs";
import { isExact, raises, rw, withRope } from "../helpers/runtime.mjs";

const cases = golden("linear_attention");

test("has all cases", () => assert.equal(cases.length, 3));

for (const given of cases) {
  test(given.name, () => {
    const { q_shape: shape, kv_shape: kvShape, rope: config, outs } = given;
    const [q, k, v] = [given.q, given.k, given.v].map((x) => Float32Array.from(x));
    withRope(rw.rope({ head_dim: shape[3], ...config }), (rope) => {
      for (const { causal, rope: rotated, out } of outs) {
        const actual = rw.linearAttention(q, k, v, {
          layout: "bhtd",
          shape,
          kvShape,
          causal,
          ...(rotated && { rope }),
        });
        // f32 sums over up to 40 tokens and 64 elements; with RoPE the terms of the numerator partly cancel
        close(actual, out, rotated ? 1e-5 : 2e-6, JSON.stringify({ causal, rotated }));
      }
    });
  });
}

const feature = (x) => (x > 0 ? x + 1 : Math.exp(x));

/** Σ (R φ(q)·R φ(k)) v / Σ φ(q)·φ(k) over the visible keys of a query, in f64; [b, t, h, d]. */
function referenceLinearAttention(
  q,
  k,
  v,
  { shape: [batches, tokens, heads, d], kvShape: [, kvTokens, kvHeads], causal = true, rotate = (x) => x },
) {
  const [pq, pk] = [Float64Array.from(q, feature), Float64Array.from(k, feature)];
  const [rq, rk] = [rotate(pq, [batches, tokens, heads, d], "q"), rotate(pk, [batches, kvTokens, kvHeads, d], "k")];
  const out = new Float64Array(q.length);
  const dot = (a, i, b, j) => {
    let sum = 0;
    for (let e = 0; e < d; e++) sum += a[i + e] * b[j + e];
    return sum;
  };
  for (let b = 0; b < batches; b++) {
    for (let t = 0; t < tokens; t++) {
      for (let h = 0; h < heads; h++) {
        const at = ((b * tokens + t) * heads + h) * d;
        let denominator = 0;
        for (let n = 0; n < (causal ? t + 1 : kvTokens); n++) {
          const key = ((b * kvTokens + n) * kvHeads + Math.floor(h / (heads / kvHeads))) * d;
          const weight = dot(rq, at, rk, key);
          denominator += dot(pq, at, pk, key);
          for (let e = 0; e < d; e++) out[at + e] += weight * v[key + e];
        }
        for (let e = 0; e < d; e++) out[at + e] /= denominator;
      }
    }
  }
  return out;
}

const config = { head_dim: 16, pairing: "half" };
const [B, T, N, H, KH, D] = [2, 50, 70, 4, 2, 16];
const shape = [B, T, H, D];
const q = randomFloats(product(shape), 1);

const inputs = (n) => [randomFloats(B * n * KH * D, 2), randomFloats(B * n * KH * D, 3), [B, n, KH, D]];

/** Tolerance of f32 sums of up to N terms of d elements each, relative to the sum of their magnitudes (positive terms of up to 3 · 3 · d · 2). */
const tolerance = 1e-5;

test("with and without RoPE, causal or not, in every layout, with separate positions for each row", () => {
  const positions = Float64Array.from({ length: B * T }, (_, i) => (i * 7) % 100);
  const kvPositions = Float64Array.from({ length: B * N }, (_, i) => (i * 3) % 80);
  withRope(rw.rope(config), (rope) => {
    const plan = rope.plan();
    for (const causal of [true, false]) {
      const [k, v, kvShape] = inputs(causal ? T : N);
      for (const rotated of [false, true]) {
        const at = { q: positions, k: causal ? positions : kvPositions };
        const rotate = (x, extents, name) =>
          referenceRotate(x, plan, {
            layout: "bthd",
            shape: extents,
            position: (b, t) => at[name][b * extents[1] + t],
          }).rotated;
        const expected = referenceLinearAttention(q, k, v, { shape, kvShape, causal, ...(rotated && { rotate }) });
        for (const layout of ["bthd", "bhtd"]) {
          const extents = { b: B, t: T, h: H, d: D };
          const kvExtents = { b: B, t: kvShape[1], h: KH, d: D };
          const options = {
            layout,
            shape: shapeIn(layout, extents),
            kvShape: shapeIn(layout, kvExtents),
            causal,
            ...(rotated && { rope, positions, ...(!causal && { kvPositions }) }),
          };
          const moved = [inLayout(q, layout, extents), inLayout(k, layout, kvExtents), inLayout(v, layout, kvExtents)];
          close(
            rw.linearAttention(...moved, options),
            inLayout(expected, layout, extents),
            tolerance,
            JSON.stringify({ causal, rotated, layout }),
          );
        }
      }
    }
  });
});

test("without positions, queries are the last tokens", () => {
  const [k, v, kvShape] = inputs(N);
  withRope(rw.rope(config), (rope) => {
    const options = { layout: "bthd", shape, kvShape, rope, causal: false };
    sameBits(
      rw.linearAttention(q, k, v, options),
      rw.linearAttention(q, k, v, { ...options, positions: N - T, kvPositions: 0 }),
    );
  });
});

test("tensors, arrays and views give the same bits; out may be q", () => {
  const [k, v, kvShape] = inputs(T);
  const options = { layout: "bthd", shape, kvShape };
  const expected = rw.linearAttention(q, k, v, options);
  const [tq, tk, tv] = [rw.tensor(shape).set(q), rw.tensor(kvShape).set(k), rw.tensor(kvShape).set(v)];
  const fresh = rw.linearAttention(tq, tk, tv, { layout: "bthd" });
  sameBits(fresh.data.slice(), expected, "a new tensor");
  sameBits(rw.linearAttention(tq.data, k, tv.data, options), expected, "views");
  const own = q.slice();
  assert.equal(rw.linearAttention(own, k, v, { ...options, out: own }), own);
  sameBits(own, expected, "in place");
  sameBits(rw.linearAttention(tq, tk, tv, { layout: "bthd", out: tq }).data.slice(), expected, "a tensor in place");
  for (const tensor of [tq, tk, tv, fresh]) tensor.dispose();
});

test("a state gives the output of the whole sequence, in calls of any length", () => {
  const [k, v] = inputs(T);
  const row = (x, heads, first, end) => x.slice(first * heads * D, end * heads * D);
  for (const given of [undefined, config]) {
    const make = () => rw.linearState({ heads: H, kvHeads: KH, headDim: D, ...(given && { rope: given }) });
    const whole = withRope(make(), (state) => state.append(row(q, H, 0, T), row(k, KH, 0, T), row(v, KH, 0, T)));
    const options = { layout: "thd", shape: [T, H, D], kvShape: [T, KH, D] };
    const expected =
      given === undefined ? rw.linearAttention(row(q, H, 0, T), row(k, KH, 0, T), row(v, KH, 0, T), options) : whole;
    sameBits(whole, expected, "rw.linearAttention");
    for (const cuts of [[0, 1, 2, 3, 50], [0, 31, 33, 50], [0, 49, 50], Array.from({ length: 51 }, (_, i) => i)]) {
      withRope(make(), (state) => {
        for (let i = 1; i < cuts.length; i++) {
          const [first, end] = [cuts[i - 1], cuts[i]];
          const out = state.append(row(q, H, first, end), row(k, KH, first, end), row(v, KH, first, end));
          sameBits(out, row(whole, H, first, end), `${cuts}: ${first}`);
          assert.equal(state.tokens, end);
        }
      });
    }
  }
});

test("layouts, positions, tensors and outputs of a state", () => {
  const [k, v] = inputs(T).map((x) => x.slice(0, 10 * KH * D));
  const queries = q.slice(0, 10 * H * D);
  const make = () => rw.linearState({ heads: H, kvHeads: KH, rope: config });
  const expected = withRope(make(), (state) => state.append(queries, k, v, { positions: 7 }));
  withRope(make(), (state) => {
    assert.deepEqual([state.heads, state.kvHeads, state.headDim, state.tokens], [H, KH, D, 0]);
    const extents = [
      { t: 10, h: H, d: D },
      { t: 10, h: KH, d: D },
      { t: 10, h: KH, d: D },
    ];
    const moved = [queries, k, v].map((x, i) => inLayout(x, "bhtd", extents[i]));
    sameBits(state.append(...moved, { layout: "bhtd", positions: 7 }), inLayout(expected, "bhtd", extents[0]));
    state.reset();
    assert.equal(state.tokens, 0);
    const ids = Array.from({ length: 10 }, (_, i) => 7 + i);
    const tensors = [
      rw.tensor([1, 10, H, D]).set(queries),
      rw.tensor([1, 10, KH, D]).set(k),
      rw.tensor([1, 10, KH, D]).set(v),
    ];
    const out = state.append(...tensors, { layout: "bthd", positions: ids });
    sameBits(out.data.slice(), expected);
    state.reset();
    assert.equal(state.append(...tensors, { layout: "bthd", positions: ids, out: tensors[0] }), tensors[0]);
    sameBits(tensors[0].data.slice(), expected);
    for (const tensor of [...tensors, out]) tensor.dispose();
  });
});

test("a restored state continues with the same bits", () => {
  const [k, v] = inputs(T);
  const row = (x, heads, first, end) => x.slice(first * heads * D, end * heads * D);
  const next = (state, first, end) =>
    state.append(row(q, H, first, end), row(k, KH, first, end), row(v, KH, first, end));
  const make = () => rw.linearState({ heads: H, kvHeads: KH, rope: config });
  withRope(make(), (state) =>
    withRope(make(), (other) => {
      next(state, 0, 30);
      const bytes = state.save();
      next(other, 3, 9);
      other.restore(bytes);
      assert.equal(other.tokens, 30);
      sameBits(other.save(), bytes);
      sameBits(next(other, 30, 40), next(state, 30, 40));
      state.restore(bytes);
      sameBits(state.save(), bytes);

      const random = randomNumbers(4);
      const expectError = (damaged) => {
        raises(() => other.restore(damaged), "INVALID_BYTES", "bytes");
        assert.equal(other.tokens, 40);
      };
      const before = other.save();
      for (let length = 0; length < bytes.length; length += length < 100 ? 1 : 97) expectError(bytes.slice(0, length));
      expectError(Uint8Array.of(...bytes, 0));
      for (let i = 0; i < 400; i++) {
        const damaged = bytes.slice();
        damaged[i < 100 ? i : Math.floor(random() * bytes.length)] ^= 1 << Math.floor(8 * random());
        expectError(damaged);
      }
      withRope(rw.linearState({ heads: H, kvHeads: H, rope: config }), (wide) => expectError(wide.save()));
      withRope(rw.linearState({ heads: 8, kvHeads: KH, rope: config }), (wide) => expectError(wide.save()));
      withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 3 }), (cache) => expectError(cache.save()));
      // sums can't be re-rotated
      for (const rope of [
        { ...config, rope_theta: 500 },
        { ...config, pairing: config.pairing === "half" ? "interleaved" : "half" },
        { ...config, rope_scaling: { rope_type: "linear", factor: 2 } },
        undefined,
      ]) {
        withRope(rw.linearState({ heads: H, kvHeads: KH, headDim: D, ...(rope && { rope }) }), (turned) => {
          expectError(turned.save());
          raises(() => turned.restore(bytes), "INVALID_BYTES", "bytes");
          assert.equal(turned.tokens, 0);
        });
      }
      for (const none of [undefined, null, [1], new Float32Array(3), "x"])
        raises(() => other.restore(none), "INVALID_ARGUMENT", "bytes");
      sameBits(other.save(), before);
    }),
  );
});

test("100,000 tokens: sums don't drift, and memory doesn't grow", () => {
  const [heads, d, count] = [1, 8, 1000];
  withRope(rw.linearState({ heads, headDim: d }), (state) => {
    const [a, b, c] = [1, 2, 3].map((seed) => randomFloats(count * d, seed));
    const first = state.append(a, b, c).slice(-d);
    const before = rw.memoryBytes;
    let last;
    for (let i = 1; i < 100; i++) last = state.append(a, b, c);
    assert.equal(state.tokens, 100000);
    assert.equal(rw.memoryBytes, before);
    close(last.slice(-d), first, 2e-6, "the mean over 100 copies equals the mean over one");
  });
});

test("the builds agree", async () => {
  const scalar = await load({ build: "scalar" });
  const [k, v, kvShape] = inputs(T);
  withRope(rw.rope(config), (rope) =>
    withRope(scalar.rope(config), (other) => {
      for (const given of [{}, { causal: false }]) {
        const options = { layout: "bthd", shape, kvShape, ...given };
        const [actual, expected] = [
          rw.linearAttention(q, k, v, { ...options, rope }),
          scalar.linearAttention(q, k, v, { ...options, rope: other }),
        ];
        if (isExact) sameBits(actual, expected);
        else close(actual, expected, tolerance);
      }
    }),
  );
});
