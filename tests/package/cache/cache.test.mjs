// rw.kvCache: append, attend and read in every layout, element type and key mode; sizes and defaults.
import assert from "node:assert/strict";
import test from "node:test";
import { close, fromBits, product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { inLayout, shapeIn } from "../helpers/attention.mjs";
import {
  appendAll,
  expectAttention,
  expectFresh,
  keysAndValues,
  kinds,
  makeTokens,
  pick,
  quantumOf,
  range,
} from "../helpers/caches.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 16, pairing: "half", rope_theta: 5e5 };
const layers = [{ kvHeads: 2, headDim: 16 }];

for (const { dtype, keys } of kinds) {
  test(`tokens one by one, a few, and many at a time: ${dtype}, ${keys}`, () => {
    withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 200, dtype, keys }), (cache) => {
      assert.deepEqual(
        [
          cache.length,
          cache.bytes,
          cache.dtype,
          cache.keys,
          cache.layers,
          cache.sequences,
          cache.maxLength,
          cache.axes,
        ],
        [0, 0, dtype, keys, 1, 1, 200, 1],
      );
      const tokens = makeTokens(100, layers);
      for (const [first, end] of [
        [0, 1],
        [1, 2],
        [2, 5],
        [5, 31],
        [31, 33],
        [33, 100],
      ]) {
        appendAll(cache, pick(tokens, range(first, end)));
        expectFresh(cache, pick(tokens, range(0, end)), range(0, end), { roundings: 0, message: `${end} tokens` });
      }
    });
  });

  test(`f32 queries with 16-bit keys and values: ${dtype}, ${keys}`, () => {
    const [t, h, kh, d] = [9, 4, 2, 16];
    const [q, k, v] = [h, kh, kh].map((heads, seed) => randomFloats(t * heads * d, seed + 1));
    const shape = [t, kh, d];
    for (const half of ["f16", "bf16"]) {
      const [k16, v16] = [to16Bits(k, half), to16Bits(v, half)];
      const attend = (given) =>
        withRope(rw.kvCache({ rope: config, kvHeads: kh, maxLength: t, dtype, keys }), (cache) => {
          const rotated = q.slice();
          cache.append({ q: rotated, layout: "thd", shape, ...given });
          return cache.attend(rotated, { layout: "thd", shape: [t, h, d] });
        });
      sameBits(attend({ k: k16.bits, v: v16.bits, dtype: half }), attend({ k: k16.floats, v: v16.floats }), half);
    }
  });

  test(`q is rotated as by rope.rotate(), and attention equals rw.attention(): ${dtype}, ${keys}`, () => {
    const [t, h, kh, d] = [45, 4, 2, 16];
    for (const layout of ["thd", "bthd", "bhtd"]) {
      const [shape, kvShape] = [shapeIn(layout, { t, h, d }), shapeIn(layout, { t, h: kh, d })];
      const make = (heads, seed) => inLayout(randomFloats(t * heads * d, seed), layout, { t, h: heads, d });
      const [q, k, v] = [make(h, 1), make(kh, 2), make(kh, 3)];
      withRope(rw.rope(config), (rope) =>
        withRope(rw.kvCache({ rope, kvHeads: kh, maxLength: t, dtype, keys }), (cache) => {
          const rotated = q.slice();
          cache.append({ q: rotated, k, v, layout, shape: kvShape });
          sameBits(rotated, rope.rotate(q.slice(), { layout, shape, positions: 0 }), "q");
          const out = cache.attend(rotated, { layout, shape });
          const expected = rw.attention(q, k, v, { layout, shape, kvShape, rope });
          if (dtype === "f32") sameBits(out, expected, layout);
          // scores move by 16 quanta of keys times |q| ≤ 2 and the scale 1/4, weights by twice that, values by one
          else
            close(out, expected, 2 * (16 * 2 * 0.25 * 2 * quantumOf(dtype, 2.83)) + quantumOf(dtype, 2) + 1e-5, layout);
          assert.equal(cache.attend(rotated, { layout, shape, out: rotated }), rotated);
          sameBits(rotated, out, "in place");
        }),
      );
    }
  });
}

for (const dtype of ["f16", "bf16"]) {
  test(`arrays and tensors of ${dtype}`, () => {
    const shape = [10, 2, 16];
    const [q, k, v] = [1, 2, 3].map((seed) => to16Bits(randomFloats(product(shape), seed), dtype));
    const make = () => rw.kvCache({ rope: config, kvHeads: 2, maxLength: 20, dtype });
    withRope(rw.rope(config), (rope) =>
      withRope(make(), (cache) =>
        withRope(make(), (other) => {
          const rotated = q.bits.slice();
          cache.append({ q: rotated, k: k.bits, v: v.bits, layout: "thd", shape, dtype });
          sameBits(rotated, rope.rotate(q.bits.slice(), { layout: "thd", shape, dtype, positions: 0 }), "q");
          sameBits(cache.read().v, v.floats, "v is not rounded again");
          const keys = rope.rotate(k.bits.slice(), { layout: "thd", shape, dtype, positions: 0 });
          sameBits(
            cache.read().k,
            Float32Array.from(keys, (bits) => fromBits(bits, dtype)),
            "k is rotated as by rope.rotate()",
          );
          const tensors = [q, k, v].map(({ bits }) => rw.tensor(shape, dtype).set(bits));
          other.append({ q: tensors[0], k: tensors[1], v: tensors[2], layout: "thd" });
          sameBits(tensors[0].data.slice(), rotated, "q in a tensor");
          sameBits(other.read().k, cache.read().k, "k of a tensor");
          for (const tensor of tensors) tensor.dispose();
        }),
      ),
    );
  });
}

test("with a tensor for q, the output is a new tensor, out, or q itself", () => {
  withRope(rw.kvCache({ kvHeads: 1, headDim: 8, maxLength: 10 }), (cache) => {
    const shape = [4, 1, 8];
    const [k, v] = [randomFloats(32, 1), randomFloats(32, 2)];
    const q = rw.tensor(shape).set(randomFloats(32, 3));
    cache.append({ k, v, layout: "thd", shape });
    const expected = rw.attention(q.data.slice(), k, v, { layout: "thd", shape });
    const fresh = cache.attend(q, { layout: "thd" });
    sameBits(fresh.data.slice(), expected);
    const array = new Float32Array(32);
    assert.equal(cache.attend(q, { layout: "thd", out: array }), array);
    sameBits(array, expected);
    assert.equal(cache.attend(q, { layout: "thd", out: q }), q);
    sameBits(q.data.slice(), expected);
    fresh.dispose();
    q.dispose();
  });
});

test("masks, caps, sinks and temperatures work as in rw.attention()", () => {
  const [t, n] = [5, 70];
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: n }), (cache) => {
    const [k, v] = [randomFloats(n * 32, 1), randomFloats(n * 32, 2)];
    cache.append({ k, v, layout: "thd", shape: [n, 2, 16] });
    const q = randomFloats(t * 64, 3);
    const cached = cache.read();
    for (const more of [
      {},
      { window: 1 },
      { window: 9, sinkTokens: 4 },
      { causal: false, window: 3 },
      { causal: false },
      { sinks: [1, 2, 3, -4] },
      { softCap: 3, scale: 2 },
      { temperature: [1, 2, 3, 0.5, 0] },
    ]) {
      const actual = cache.attend(q, { layout: "thd", shape: [t, 4, 16], ...more });
      sameBits(
        actual,
        rw.attention(q, cached.k, cached.v, { layout: "thd", shape: [t, 4, 16], kvShape: [n, 2, 16], ...more }),
        JSON.stringify(more),
      );
    }
  });
});

test("layers without RoPE accept all position schemes", () => {
  withRope(rw.kvCache({ kvHeads: 2, headDim: 8, maxLength: 50 }), (cache) => {
    const positions = range(0, 40).map((i) => 2 * i + 1);
    const [k, v] = [randomFloats(640, 1), randomFloats(640, 2)];
    cache.append({ k, v, layout: "thd", shape: [40, 2, 8], positions });
    const q = randomFloats(3 * 32, 3);
    const given = { layout: "thd", shape: [3, 4, 8] };
    for (const position of [
      "none",
      { scheme: "alibi" },
      { scheme: "alibi", slopes: [1, 2, 3, 4] },
      { scheme: "t5", table: randomFloats(32 * 4, 4) },
      { scheme: "sinusoidal", base: 100 },
      { scheme: "learned", table: randomFloats(100 * 8, 5) },
    ]) {
      const expected = rw.attention(q, k, v, {
        ...given,
        kvShape: [40, 2, 8],
        position,
        positions: positions.slice(-3),
        kvPositions: positions,
      });
      sameBits(cache.attend(q, { ...given, position }), expected, JSON.stringify(position));
    }
  });
});

test("bytes equals kvCacheBytes() at every length", () => {
  for (const dtype of ["f32", "f16", "bf16", "q8_0", "q4_0"]) {
    const options = {
      layers: [{ rope: config }, { rope: null, headDim: 20, kvHeads: 3 }],
      kvHeads: 2,
      maxLength: 300,
      dtype,
    };
    withRope(rw.kvCache(options), (cache) => {
      const tokens = makeTokens(300, [layers[0], { kvHeads: 3, headDim: 20 }]);
      for (const [first, end] of [
        [0, 1],
        [1, 32],
        [32, 33],
        [33, 100],
        [100, 300],
      ]) {
        appendAll(cache, pick(tokens, range(first, end)));
        assert.equal(cache.bytes, rw.kvCacheBytes({ ...options, length: end }), `${end} tokens of ${dtype}`);
      }
      assert.equal(cache.bytes, rw.kvCacheBytes(options));
      cache.truncate(33);
      assert.equal(cache.bytes, rw.kvCacheBytes({ ...options, length: 33 }));
      cache.clear();
      assert.deepEqual([cache.bytes, cache.length], [0, 0]);
    });
    assert.equal(rw.kvCacheBytes({ ...options, length: 0 }), 0);
    assert.equal(rw.kvCacheBytes({ ...options, sequences: 4 }), 4 * rw.kvCacheBytes(options));
  }
  // a page of 32 tokens: positions of 8 bytes, 2 · 2 rows of head_dim 16, rounded up to a cache line of 64
  assert.equal(rw.kvCacheBytes({ rope: config, kvHeads: 2, maxLength: 32 }), 32 * (8 + 4 * 16 * 4));
  assert.equal(rw.kvCacheBytes({ rope: config, kvHeads: 2, maxLength: 33, dtype: "f16" }), 2 * 32 * (8 + 4 * 16 * 2));
  assert.equal(rw.kvCacheBytes({ rope: config, kvHeads: 2, maxLength: 1, dtype: "q8_0" }), 32 * (8 + 4 * 34));
  assert.equal(rw.kvCacheBytes({ rope: config, kvHeads: 2, maxLength: 1, dtype: "q4_0" }), 32 * (8 + 4 * 18));
});

test("keys are rotated unless frequencies change with every length", () => {
  const scaling = (rope_type, more) => ({
    ...config,
    max_position_embeddings: 64,
    rope_scaling: { rope_type, factor: 2, ...more },
  });
  const lists = { short_factor: new Array(8).fill(1), long_factor: new Array(8).fill(2) };
  const trained = { original_max_position_embeddings: 32 };
  const modeOf = (rope, more) =>
    withRope(rw.kvCache({ rope, kvHeads: 1, maxLength: 100, ...more }), (cache) => cache.keys);
  for (const rope of [
    config,
    scaling("linear"),
    scaling("yarn", trained),
    scaling("longrope", { ...lists, ...trained }),
  ])
    assert.equal(modeOf(rope), "rotated");
  for (const rope of [scaling("dynamic"), scaling("dynamic_yarn", trained)]) {
    assert.equal(modeOf(rope), "raw");
    assert.equal(modeOf(rope, { keys: "rotated" }), "rotated");
  }
  assert.equal(modeOf(config, { keys: "raw" }), "raw");
  assert.equal(modeOf(undefined, { headDim: 8 }), "rotated");
});

test("a cache copies its config", () => {
  const given = { ...config };
  withRope(rw.rope(config), (rope) => {
    const caches = [
      rw.kvCache({ rope: given, kvHeads: 2, maxLength: 40 }),
      rw.kvCache({ rope, kvHeads: 2, maxLength: 40 }),
    ];
    given.rope_theta = 3;
    rope.dispose();
    for (const cache of caches) {
      assert.deepEqual(cache.config(), config);
      assert.ok(Object.isFrozen(cache.config()));
      const tokens = makeTokens(5, layers);
      appendAll(cache, tokens);
      expectFresh(cache, tokens, range(0, 5), { roundings: 0 });
      cache.dispose();
    }
  });
});

test("read: part of the tokens", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 100 }), (cache) => {
    appendAll(cache, makeTokens(70, layers));
    const all = cache.read();
    const part = cache.read({ first: 30, count: 7 });
    sameBits(part.k, all.k.slice(30 * 32, 37 * 32));
    sameBits(part.v, all.v.slice(30 * 32, 37 * 32));
    assert.equal(cache.read({ first: 70 }).k.length, 0);
    assert.equal(cache.read({ first: 69 }).k.length, 32);
    expectAttention(cache, { layer: 0, sequence: 0, kvHeads: 2, headDim: 16, message: "after reading" });
  });
});

test("xPos: q and k are scaled according to their roles", () => {
  const xpos = { ...config, xpos: { scale_base: 512 } };
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.rope(xpos), (rope) =>
      withRope(rw.kvCache({ rope, kvHeads: 2, maxLength: 40, keys }), (cache) => {
        const q = randomFloats(320, 1);
        const tokens = makeTokens(10, layers);
        const rotated = q.slice();
        cache.append({ ...keysAndValues(tokens[0]), q: rotated, layout: "thd", shape: [10, 2, 16] });
        sameBits(rotated, rope.rotate(q.slice(), { layout: "thd", shape: [10, 2, 16], positions: 0 }));
        if (keys === "rotated")
          sameBits(
            cache.read().k,
            rope.rotate(tokens[0].k.slice(), { layout: "thd", shape: [10, 2, 16], positions: 0, role: "key" }),
          );
        const options = { layout: "thd", shape: [10, 2, 16] };
        sameBits(cache.attend(rotated, options), rw.attention(q, tokens[0].k, tokens[0].v, { ...options, rope }));
      }),
    );
  }
});
