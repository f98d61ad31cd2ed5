// save and restore: the same bits, keys of other ropes re-rotated, and invalid bytes refused without changing the cache.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk";
import { randomNumbers, sameBits } from "../helpers/arrays.mjs";
import { appendAll, expectFresh, keysAndValues, kinds, makeTokens, pick, range } from "../helpers/caches.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 16, pairing: "half", rope_theta: 5e5 };
const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 } };
const dynamic = { ...config, max_position_embeddings: 32, rope_scaling: { rope_type: "dynamic", factor: 2 } };
const layers = [{}, { kvHeads: 3 }, { rope: null, headDim: 20 }];
const tokens = makeTokens(70, [
  { kvHeads: 2, headDim: 16 },
  { kvHeads: 3, headDim: 16 },
  { kvHeads: 2, headDim: 20 },
]);
const make = (more) => rw.kvCache({ rope: config, kvHeads: 2, layers, maxLength: 80, ...more });

function filled(count, more) {
  const cache = make(more);
  appendAll(cache, pick(tokens, range(0, count)), { sequence: 0 });
  return cache;
}

for (const kind of kinds) {
  test(`the same bits, in the same cache and in another: ${kind.dtype}, ${kind.keys}`, () => {
    for (const count of [0, 1, 31, 32, 33, 70]) {
      withRope(filled(count, kind), (cache) =>
        withRope(make({ ...kind, sequences: 2, maxLength: 75 }), (other) => {
          const bytes = cache.save();
          sameBits(cache.save(), bytes, "twice");
          appendAll(other, pick(tokens, range(3, 9)), { sequence: 1 });
          other.restore(bytes, { sequence: 1 });
          assert.equal(other.lengthOf(0), 0);
          sameBits(other.save({ sequence: 1 }), bytes, "of the other");
          expectFresh(other, pick(tokens, range(0, count)), range(0, count), { sequence: 1, roundings: 0 });
          if (count > 70) return;
          appendAll(other, pick(tokens, [0, 1]), { sequence: 1 });
          expectFresh(other, pick(tokens, [...range(0, count), 0, 1]), range(0, count + 2), {
            sequence: 1,
            roundings: 0,
          });
          cache.clear();
          cache.restore(bytes);
          sameBits(cache.save(), bytes, "again");
        }),
      );
    }
  });

  test(`keys that were rotated by another rope: ${kind.dtype}, ${kind.keys}`, () => {
    for (const rope of [yarn, dynamic, { ...config, rope_theta: 1e4 }]) {
      withRope(filled(70, kind), (cache) =>
        withRope(make({ ...kind, rope }), (other) => {
          other.restore(cache.save());
          assert.deepEqual(other.config(), rope);
          expectFresh(other, tokens, range(0, 70));
          cache.restore(other.save());
          expectFresh(cache, tokens, range(0, 70), { roundings: 2 });
        }),
      );
    }
  });
}

test("positions are restored, and layers with fewer tokens", () => {
  withRope(make(), (cache) =>
    withRope(make(), (other) => {
      const given = [5, 6, 0.5, -20, 1000];
      const [first, second, third] = pick(tokens, range(0, 5));
      appendAll(cache, [first], { positions: given });
      cache.append({ ...keysAndValues(pick([second], [0, 1])[0]), layer: 1, layout: "thd", shape: [2, 3, 16] });
      other.restore(cache.save());
      assert.deepEqual([...other.positions()], given);
      assert.deepEqual(
        [0, 1, 2].map((layer) => other.read({ layer }).k.length),
        [5 * 32, 2 * 48, 0],
      );
      other.append({ ...keysAndValues(pick([second], [2, 3, 4])[0]), layer: 1, layout: "thd", shape: [3, 3, 16] });
      other.append({ ...keysAndValues(third), layer: 2, layout: "thd", shape: [5, 2, 20] });
      expectFresh(other, [first, second, third], given, { roundings: 0 });
    }),
  );
});

test("a sequence of more than one piece of 512 KB", () => {
  const options = { rope: { head_dim: 128, pairing: "half" }, kvHeads: 4, maxLength: 1000 };
  withRope(rw.kvCache(options), (cache) =>
    withRope(rw.kvCache(options), (other) => {
      const large = makeTokens(1000, [{ kvHeads: 4, headDim: 128 }]);
      appendAll(cache, large);
      const bytes = cache.save();
      assert.ok(bytes.length > 1000 * 8 * 128 * 4);
      other.restore(bytes);
      sameBits(other.read().k, cache.read().k);
      sameBits(other.read().v, cache.read().v);
    }),
  );
});

test("exact builds save the same bytes and can restore each other's", async () => {
  const scalar = await load({ build: "scalar" });
  withRope(filled(40), (cache) =>
    withRope(scalar.kvCache({ rope: config, kvHeads: 2, layers, maxLength: 80 }), (other) => {
      appendAll(other, pick(tokens, range(0, 40)));
      if (rw.build !== "relaxed") sameBits(cache.save(), other.save());
      other.restore(cache.save());
      sameBits(other.read().k, cache.read().k);
    }),
  );
});

/** Asserts that bytes are refused and that the cache doesn't change. */
function expectError(cache, bytes, code = "INVALID_BYTES", field = "bytes", message = "") {
  const [before, size] = [cache.save(), cache.bytes];
  try {
    raises(() => cache.restore(bytes), code, field);
  } catch (error) {
    error.message = `${message}: ${error.message}`;
    throw error;
  }
  sameBits(cache.save(), before, message);
  assert.equal(cache.bytes, size, message);
}

test("values that aren't Uint8Arrays", () => {
  withRope(filled(10), (cache) => {
    for (const none of [undefined, null, 5, "x", [1, 2], new Float32Array(4), new ArrayBuffer(8), {}])
      expectError(cache, none, "INVALID_ARGUMENT");
  });
});

test("bytes from elsewhere, and no bytes", () => {
  withRope(filled(10), (cache) => {
    expectError(cache, new Uint8Array(0));
    expectError(cache, new Uint8Array(5000));
    expectError(
      cache,
      Uint8Array.from({ length: 5000 }, (_, i) => i),
    );
    expectError(cache, new TextEncoder().encode("ROPEWALK".repeat(100)));
    withRope(rw.linearState({ heads: 2, headDim: 16 }), (state) => expectError(cache, state.save()));
  });
});

for (const kind of [kinds[0], kinds[7]]) {
  test(`truncated at any length, or with extra bytes at the end: ${kind.dtype}, ${kind.keys}`, () => {
    withRope(filled(12, kind), (source) =>
      withRope(filled(5, kind), (cache) => {
        const bytes = source.save();
        const step = Math.max(1, Math.floor(bytes.length / 400));
        for (let length = 0; length < bytes.length; length += length < 600 ? 1 : step)
          expectError(cache, bytes.slice(0, length), "INVALID_BYTES", "bytes", `${length} of ${bytes.length}`);
        expectError(cache, bytes.slice(0, -1));
        expectError(cache, Uint8Array.of(...bytes, 0));
        expectError(cache, Uint8Array.of(...bytes, ...bytes));
      }),
    );
  });

  test(`a flipped bit in any byte: ${kind.dtype}, ${kind.keys}`, () => {
    withRope(filled(12, kind), (source) =>
      withRope(filled(5, kind), (cache) => {
        const bytes = source.save();
        const next = randomNumbers(3);
        const before = rw.memoryBytes;
        const flip = (at) => {
          const damaged = bytes.slice();
          damaged[at] ^= 1 << Math.floor(8 * next());
          expectError(cache, damaged, "INVALID_BYTES", "bytes", `byte ${at} of ${bytes.length}`);
        };
        for (let at = 0; at < Math.min(1200, bytes.length); at++) flip(at);
        for (let i = 0; i < 300; i++) flip(Math.floor(next() * bytes.length));
        for (let at = bytes.length - 8; at < bytes.length; at++) flip(at);
        assert.ok(rw.memoryBytes - before < 2 ** 24, "damaged bytes never cause large allocations");
        cache.restore(bytes);
        sameBits(cache.save(), bytes, "the bytes as they were");
      }),
    );
  });
}

test("bytes of a cache with other options", () => {
  withRope(filled(12), (cache) => {
    const others = [
      { dtype: "f16" },
      { keys: "raw" },
      { layers: [{}, { kvHeads: 3 }] },
      { layers: [{}, { kvHeads: 2 }, { rope: null, headDim: 20 }] },
      { layers: [{}, { kvHeads: 3 }, { rope: null, headDim: 24 }] },
      { layers: [{}, { kvHeads: 3, rope: null, headDim: 16 }, { rope: null, headDim: 20 }] },
      { layers: [{}, { kvHeads: 3, rope: yarn }, { rope: null, headDim: 20 }] },
      { rope: { ...config, pairing: "interleaved" } },
      { rope: { ...config, rotary_dim: 8 } },
      { rope: { ...config, rope_scaling: { rope_type: "default", mrope_section: [3, 3, 2] } } },
    ];
    for (const more of others)
      withRope(make(more), (other) => expectError(cache, other.save(), "INVALID_BYTES", "bytes", JSON.stringify(more)));
  });
});

test("more tokens than maxLength", () => {
  withRope(filled(70), (cache) =>
    withRope(make({ maxLength: 69 }), (other) => expectError(other, cache.save(), "CACHE_FULL", "bytes")),
  );
});

test("invalid sequences", () => {
  withRope(make({ sequences: 2 }), (cache) => {
    const bytes = cache.save({ sequence: 1 });
    for (const sequence of [undefined, -1, 2, 0.5, "0", null]) {
      const given = sequence === undefined ? {} : { sequence };
      raises(() => cache.save(given), "INVALID_ARGUMENT", "sequence");
      raises(() => cache.restore(bytes, given), "INVALID_ARGUMENT", "sequence");
    }
  });
});
