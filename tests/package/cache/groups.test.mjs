// Caches of q4_channel: the public options, memory, and that neither the division of a text nor a saved image changes a bit.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { appendAll, makeTokens, pick, range } from "../helpers/caches.mjs";
import { raises, rw, withRope } from "../helpers/runtime.mjs";

const config = { head_dim: 64, rope_theta: 1e4, pairing: "half", max_position_embeddings: 64 };
const yarn = { ...config, rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 } };
const layers = [{ kvHeads: 2, headDim: 64 }];
const OPTIONS = { rope: config, kvHeads: 2, maxLength: 5000, dtype: "q4_channel" };
const withCache = (use, more = {}) => withRope(rw.kvCache({ ...OPTIONS, ...more }), use);

/** Appends tokens [first, end) in pieces, and returns what the last one of each attends to. */
function read(cache, tokens, first, end, step) {
  const outputs = [];
  for (let at = first; at < end; at += step) {
    const count = Math.min(step, end - at);
    const { k, v } = pick(tokens, range(at, at + count))[0];
    const q = randomFloats(count * 4 * 64, at + 7);
    q.set(randomFloats(4 * 64, at + count), (count - 1) * 4 * 64); // that of the last token
    cache.append({ q, k, v, layout: "thd", shape: [count, 2, 64] });
    outputs.push(cache.attend(q, { layout: "thd", shape: [count, 4, 64] }).slice((count - 1) * 4 * 64));
  }
  return outputs;
}

test("a text at once and token by token give the same bits", () =>
  withCache((whole) =>
    withCache((singly) => {
      const tokens = makeTokens(200, layers, 3);
      const [last] = read(whole, tokens, 0, 200, 200);
      sameBits(read(singly, tokens, 0, 200, 1).at(-1), last);
      sameBits(whole.read().k, singly.read().k);
      sameBits(whole.read().v, singly.read().v);
      assert.equal(singly.keys, "raw");
      assert.equal(singly.dtype, "q4_channel");
    }),
  ));

test("memory is as predicted, and at most 0.30 of f16 at 4,096 tokens", () =>
  withCache((cache) => {
    const tokens = makeTokens(300, layers);
    for (const count of range(1, 301)) {
      appendAll(cache, pick(tokens, [count - 1]));
      assert.equal(cache.bytes, rw.kvCacheBytes({ ...OPTIONS, length: count }), `${count} tokens`);
    }
    const bytes = (dtype) => rw.kvCacheBytes({ ...OPTIONS, layers: 30, length: 4096, dtype });
    assert.ok(bytes("q4_channel") <= 0.3 * bytes("f16"), `${bytes("q4_channel")} of ${bytes("f16")}`);
  }));

test("retune changes no key, and the next token is that of a cache that had the rope from the start", () =>
  withCache((cache) =>
    withCache(
      (fresh) => {
        const tokens = makeTokens(150, layers, 5);
        read(cache, tokens, 0, 149, 149);
        const { k } = cache.read();
        cache.retune({ rope: yarn });
        sameBits(cache.read().k, k);
        read(fresh, tokens, 0, 149, 149);
        sameBits(read(cache, tokens, 149, 150, 1)[0], read(fresh, tokens, 149, 150, 1)[0]);
      },
      { rope: yarn },
    ),
  ));

test("truncation, shift by groups, and a saved image keep what is stored", () =>
  withCache((cache) =>
    withCache((other) => {
      const tokens = makeTokens(200, layers, 6);
      read(cache, tokens, 0, 200, 50);
      const { k } = cache.read();
      const row = 2 * 64;
      cache.shift({ keep: 32, discard: 64 });
      assert.deepEqual([cache.length, cache.positions().at(-1)], [136, 135]);
      sameBits(cache.read().k, Float32Array.from([...k.subarray(0, 32 * row), ...k.subarray(96 * row)]));
      other.restore(cache.save());
      sameBits(other.read().k, cache.read().k);
      const more = makeTokens(80, layers, 7);
      sameBits(read(other, more, 0, 80, 80)[0], read(cache, more, 0, 80, 1).at(-1));
      for (const one of [cache, other]) one.truncate(64);
      sameBits(cache.read().k, Float32Array.from([...k.subarray(0, 32 * row), ...k.subarray(96 * row, 128 * row)]));
      raises(() => cache.restore(new Uint8Array(100)), "INVALID_BYTES", "bytes");
    }),
  ));

test("keys are raw, and layers have values", () => {
  raises(() => rw.kvCache({ ...OPTIONS, keys: "rotated" }), "INVALID_ARGUMENT", "keys");
  raises(() => rw.kvCacheBytes({ ...OPTIONS, keys: "rotated" }), "INVALID_ARGUMENT", "keys");
  raises(() => rw.kvCache({ ...OPTIONS, hasValues: false }), "INVALID_DTYPE", "dtype");
  raises(() => rw.kvCacheBytes({ ...OPTIONS, hasValues: false }), "INVALID_DTYPE", "dtype");
  rw.kvCache({ ...OPTIONS, keys: "raw" }).dispose();
});
