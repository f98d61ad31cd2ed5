// rw.kvCache: what is appended is attended to, in every layout, element type and key mode, for uneven layers and several sequences.
import assert from "node:assert/strict";
import test from "node:test";
import { close, fromBits, product, randomFloats, sameBits, to16Bits } from "../helpers/arrays.mjs";
import { inLayout, shapeIn } from "../helpers/attention.mjs";
import {
  appendAll,
  expectAttention,
  expectFresh,
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
        expectFresh(cache, pick(tokens, range(0, end)), range(0, end), { turns: 0, message: `${end} tokens` });
      }
    });
  });

  test(`queries of f32 beside 16-bit keys and values: ${dtype}, ${keys}`, () => {
    const [t, h, kh, d] = [9, 4, 2, 16];
    const [q, k, v] = [h, kh, kh].map((heads, seed) => randomFloats(t * heads * d, seed + 1));
    const shape = [t, kh, d];
    for (const half of ["f16", "bf16"]) {
      const [k16, v16] = [to16Bits(k, half), to16Bits(v, half)];
      const ask = (given) =>
        withRope(rw.kvCache({ rope: config, kvHeads: kh, maxLength: t, dtype, keys }), (cache) => {
          const turned = q.slice();
          cache.append({ q: turned, layout: "thd", shape, ...given });
          return cache.attend(turned, { layout: "thd", shape: [t, h, d] });
        });
      sameBits(ask({ k: k16.bits, v: v16.bits, dtype: half }), ask({ k: k16.floats, v: v16.floats }), half);
    }
  });

  test(`q is turned as rope.rotate() turns it, and attention is that of the whole: ${dtype}, ${keys}`, () => {
    const [t, h, kh, d] = [45, 4, 2, 16];
    for (const layout of ["thd", "bthd", "bhtd"]) {
      const [shape, kvShape] = [shapeIn(layout, { t, h, d }), shapeIn(layout, { t, h: kh, d })];
      const make = (heads, seed) => inLayout(randomFloats(t * heads * d, seed), layout, { t, h: heads, d });
      const [q, k, v] = [make(h, 1), make(kh, 2), make(kh, 3)];
      withRope(rw.rope(config), (rope) =>
        withRope(rw.kvCache({ rope, kvHeads: kh, maxLength: t, dtype, keys }), (cache) => {
          const turned = q.slice();
          cache.append({ q: turned, k, v, layout, shape: kvShape });
          sameBits(turned, rope.rotate(q.slice(), { layout, shape, positions: 0 }), "q");
          const out = cache.attend(turned, { layout, shape });
          const expected = rw.attention(q, k, v, { layout, shape, kvShape, position: rope });
          if (dtype === "f32") sameBits(out, expected, layout);
          // scores move by 16 quanta of keys times |q| ≤ 2 and the scale 1/4, weights by twice that, values by one
          else
            close(out, expected, 2 * (16 * 2 * 0.25 * 2 * quantumOf(dtype, 2.83)) + quantumOf(dtype, 2) + 1e-5, layout);
          assert.equal(cache.attend(turned, { layout, shape, out: turned }), turned);
          sameBits(turned, out, "in place");
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
          const turned = q.bits.slice();
          cache.append({ q: turned, k: k.bits, v: v.bits, layout: "thd", shape, dtype });
          sameBits(turned, rope.rotate(q.bits.slice(), { layout: "thd", shape, dtype, positions: 0 }), "q");
          sameBits(cache.read().v, v.floats, "v is not rounded again");
          const keys = rope.rotate(k.bits.slice(), { layout: "thd", shape, dtype, positions: 0 });
          sameBits(
            cache.read().k,
            Float32Array.from(keys, (bits) => fromBits(bits, dtype)),
            "k is turned as rope.rotate() turns it",
          );
          const tensors = [q, k, v].map(({ bits }) => rw.tensor(shape, dtype).set(bits));
          other.append({ q: tensors[0], k: tensors[1], v: tensors[2], layout: "thd" });
          sameBits(tensors[0].data.slice(), turned, "q in a tensor");
          sameBits(other.read().k, cache.read().k, "k of a tensor");
          for (const tensor of tensors) tensor.dispose();
        }),
      ),
    );
  });
}

test("a tensor's answers go to a new tensor, to out, or to itself", () => {
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

test("masks, caps, sinks and temperatures act as in rw.attention", () => {
  const [t, n] = [5, 70];
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: n }), (cache) => {
    const [k, v] = [randomFloats(n * 32, 1), randomFloats(n * 32, 2)];
    cache.append({ k, v, layout: "thd", shape: [n, 2, 16] });
    const q = randomFloats(t * 64, 3);
    const held = cache.read();
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
        rw.attention(q, held.k, held.v, { layout: "thd", shape: [t, 4, 16], kvShape: [n, 2, 16], ...more }),
        JSON.stringify(more),
      );
    }
  });
});

test("layers without RoPE take any scheme", () => {
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

test("uneven layers: other heads, other dimensions, other ropes, none", () => {
  const wide = { head_dim: 32, pairing: "interleaved", rotary_dim: 8 };
  const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 8, original_max_position_embeddings: 64 } };
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.rope(config), (rope) => {
      const uneven = [
        {},
        { kvHeads: 3 },
        { rope: wide, kvHeads: 1 },
        { rope: null, headDim: 20 },
        { rope: yarn },
        { rope },
        { rope: { ...config } },
      ];
      withRope(rw.kvCache({ rope, kvHeads: 2, layers: uneven, maxLength: 80, keys }), (cache) => {
        assert.equal(cache.layers, 7);
        assert.deepEqual(
          range(0, 7).map((layer) => cache.config(layer)),
          [config, config, wide, null, yarn, config, config],
        );
        const sizes = [
          [2, 16],
          [3, 16],
          [1, 32],
          [2, 20],
          [2, 16],
          [2, 16],
          [2, 16],
        ];
        const tokens = makeTokens(
          50,
          sizes.map(([kvHeads, headDim]) => ({ kvHeads, headDim })),
        );
        appendAll(cache, pick(tokens, range(0, 20)));
        appendAll(cache, pick(tokens, range(20, 50)));
        expectFresh(cache, tokens, range(0, 50), { turns: 0 });
      });
    });
  }
});

test("a number of layers, all alike", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, layers: 5, maxLength: 40 }), (cache) => {
    const tokens = makeTokens(10, new Array(5).fill(layers[0]));
    appendAll(cache, tokens);
    expectFresh(cache, tokens, range(0, 10), { turns: 0 });
    assert.deepEqual(cache.config(4), config);
  });
});

test("layers that lag behind see what they have been given", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, layers: 2, maxLength: 40 }), (cache) => {
    const [first, second] = makeTokens(20, [layers[0], layers[0]]);
    cache.append({ ...first, layout: "thd", shape: [20, 2, 16], positions: 7 });
    assert.equal(cache.length, 20);
    assert.deepEqual([cache.read({ layer: 0 }).k.length, cache.read({ layer: 1 }).k.length], [640, 0]);
    const part = pick([second], range(0, 12))[0];
    cache.append({ ...part, layer: 1, layout: "thd", shape: [12, 2, 16] });
    assert.equal(cache.length, 20);
    assert.deepEqual([...cache.positions()], range(7, 27));
    assert.equal(cache.read({ layer: 1 }).k.length, 12 * 32);
    cache.append({ ...pick([second], range(12, 20))[0], layer: 1, layout: "thd", shape: [8, 2, 16], positions: 19 });
    expectFresh(cache, [first, second], range(7, 27), { turns: 0 });
  });
});

test("positions: an offset, ids, fractions, gaps, and after them", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 40 }), (cache) => {
    const tokens = makeTokens(12, layers);
    const give = (first, end, positions) =>
      appendAll(cache, pick(tokens, range(first, end)), positions === undefined ? {} : { positions });
    give(0, 2);
    give(2, 4, 10);
    give(4, 6);
    give(6, 8, [3, 0.5]);
    give(8, 10, Float64Array.of(-7, 100));
    give(10, 12);
    expectFresh(cache, tokens, [0, 1, 10, 11, 12, 13, 3, 0.5, -7, 100, 101, 102], { turns: 0 });
  });
});

test("positions of several axes, shared with a rope of one", () => {
  const sections = { ...config, rope_scaling: { rope_type: "default", mrope_section: [3, 3, 2] } };
  for (const keys of ["rotated", "raw"]) {
    withRope(
      rw.kvCache({ layers: [{ rope: sections }, { rope: config }], kvHeads: 2, maxLength: 40, keys }),
      (cache) => {
        assert.equal(cache.axes, 3);
        const tokens = makeTokens(6, [layers[0], layers[0]]);
        appendAll(cache, pick(tokens, range(0, 2)));
        appendAll(cache, pick(tokens, range(2, 5)), { positions: [2, 2, 2, 5, 6, 7, 9, 8, 9] });
        appendAll(cache, pick(tokens, [5]));
        expectFresh(cache, tokens, [0, 1, 2, 2, 2, 10, 0, 1, 5, 6, 7, 10, 0, 1, 9, 8, 9, 10], { turns: 0 });
      },
    );
  }
});

test("several sequences: a batch row each, or one by name", () => {
  for (const { dtype, keys } of kinds) {
    withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 60, sequences: 3, dtype, keys }), (cache) => {
      const rows = [1, 2, 3].map((seed) => makeTokens(40, layers, seed));
      const batch = (name, first, end) =>
        Float32Array.from(rows.flatMap((row) => [...pick(row, range(first, end))[0][name]]));
      cache.append({ k: batch("k", 0, 10), v: batch("v", 0, 10), layout: "bthd", shape: [3, 10, 2, 16] });
      appendAll(cache, pick(rows[1], range(10, 40)), { sequence: 1 });
      appendAll(cache, pick(rows[2], range(10, 15)), { sequence: 2, positions: 100 });
      assert.deepEqual(
        [0, 1, 2].map((sequence) => cache.lengthOf(sequence)),
        [10, 40, 15],
      );
      assert.equal(cache.length, 10);
      const options = (sequence) => ({ sequence, turns: 0, message: `${dtype}, ${keys}, sequence ${sequence}` });
      expectFresh(cache, pick(rows[0], range(0, 10)), range(0, 10), options(0));
      expectFresh(cache, rows[1], range(0, 40), options(1));
      expectFresh(cache, pick(rows[2], range(0, 15)), [...range(0, 10), ...range(100, 105)], options(2));
      // attention of all at once is that of each
      const q = randomFloats(3 * 2 * 4 * 16, 5);
      const together = cache.attend(q, { layout: "bthd", shape: [3, 2, 4, 16] });
      for (let sequence = 0; sequence < 3; sequence++) {
        const alone = cache.attend(q.slice(sequence * 128, (sequence + 1) * 128), {
          layout: "thd",
          shape: [2, 4, 16],
          sequence,
        });
        sameBits(alone, together.slice(sequence * 128, (sequence + 1) * 128));
      }
      // positions of each row
      const ids = [
        [50, 51],
        [60, 61],
        [200, 300],
      ];
      const two = rows.map((row) => pick(row, [0, 1]));
      const pairs = (name) => Float32Array.from(two.flatMap(([{ [name]: x }]) => [...x]));
      cache.append({ k: pairs("k"), v: pairs("v"), layout: "bthd", shape: [3, 2, 2, 16], positions: ids.flat() });
      ids.forEach((expected, sequence) => assert.deepEqual([...cache.positions(sequence).subarray(-2)], expected));
    });
  }
});

test("positions that all sequences share, and sequences by the thousand", () => {
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 60, sequences: 3 }), (cache) => {
    const rows = [1, 2, 3].map((seed) => makeTokens(4, layers, seed));
    const all = (name) => Float32Array.from(rows.flatMap(([{ [name]: x }]) => [...x]));
    cache.append({ k: all("k"), v: all("v"), layout: "bthd", shape: [3, 4, 2, 16], positions: [9, 7, 20, 21] });
    rows.forEach((row, sequence) => expectFresh(cache, row, [9, 7, 20, 21], { sequence, turns: 0 }));
    // in the other layout, a row starts elsewhere
    const moved = (name) =>
      Float32Array.from(rows.flatMap(([{ [name]: x }]) => [...inLayout(x, "bhtd", { t: 4, h: 2, d: 16 })]));
    cache.append({ k: moved("k"), v: moved("v"), layout: "bhtd", shape: [3, 2, 4, 16], positions: 50 });
    rows.forEach((row, sequence) =>
      expectFresh(cache, pick(row, [0, 1, 2, 3, 0, 1, 2, 3]), [9, 7, 20, 21, 50, 51, 52, 53], { sequence, turns: 0 }),
    );
  });
  withRope(rw.kvCache({ rope: config, kvHeads: 2, maxLength: 60, sequences: 65536 }), (cache) => {
    appendAll(cache, makeTokens(3, layers), { sequence: 65535 });
    expectFresh(cache, makeTokens(3, layers), [0, 1, 2], { sequence: 65535, turns: 0 });
    assert.equal(cache.lengthOf(65534), 0);
  });
});

test("bytes are those that kvCacheBytes tells, at every length", () => {
  for (const dtype of ["f32", "f16", "bf16", "q8_0"]) {
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

test("a cache keeps a config of its own", () => {
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
      expectFresh(cache, tokens, range(0, 5), { turns: 0 });
      cache.dispose();
    }
  });
});

test("read: part of what is held", () => {
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

test("xPos: q and k are scaled by their roles", () => {
  const xpos = { ...config, xpos: { scale_base: 512 } };
  for (const keys of ["rotated", "raw"]) {
    withRope(rw.rope(xpos), (rope) =>
      withRope(rw.kvCache({ rope, kvHeads: 2, maxLength: 40, keys }), (cache) => {
        const q = randomFloats(320, 1);
        const tokens = makeTokens(10, layers);
        const turned = q.slice();
        cache.append({ ...tokens[0], q: turned, layout: "thd", shape: [10, 2, 16] });
        sameBits(turned, rope.rotate(q.slice(), { layout: "thd", shape: [10, 2, 16], positions: 0 }));
        if (keys === "rotated")
          sameBits(
            cache.read().k,
            rope.rotate(tokens[0].k.slice(), { layout: "thd", shape: [10, 2, 16], positions: 0, role: "key" }),
          );
        const options = { layout: "thd", shape: [10, 2, 16] };
        sameBits(
          cache.attend(turned, options),
          rw.attention(q, tokens[0].k, tokens[0].v, { ...options, position: rope }),
        );
      }),
    );
  }
});
