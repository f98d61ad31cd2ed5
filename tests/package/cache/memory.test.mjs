// Memory of caches: freed after use, allocated as tokens are appended, and out of memory.
import assert from "node:assert/strict";
import test from "node:test";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { bytesAfterCollections, inFullMemory, measureCycles } from "../helpers/memory.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

/** One cycle: creates and disposes of caches of several kinds and linear states, and runs every operation, with errors half-way. */
const cycle = `
  const config = { head_dim: 8, pairing: "half" };
  const dynamic = { ...config, max_position_embeddings: 16, rope_scaling: { rope_type: "dynamic", factor: 2 } };
  const kinds = [{}, { dtype: "q8_0" }, { keys: "raw", dtype: "f16" }, { rope: dynamic, keys: "rotated" }, { sequences: 2 }];
  const [k, v, q] = [new Float32Array(40 * 16).fill(1), new Float32Array(40 * 16).fill(2), new Float32Array(40 * 32).fill(3)];
  function cycle(i) {
    const cache = rw.kvCache({ rope: config, kvHeads: 2, layers: [{}, { rope: null, headDim: 8 }], maxLength: 60, ...kinds[i % kinds.length] });
    const sequence = 0;
    for (const layer of [0, 1]) cache.append({ q, k, v, layout: "thd", shape: [40, 2, 8], layer, sequence });
    cache.attend(q, { layout: "thd", shape: [40, 4, 8], sequence, window: 5 });
    cache.attend(q, { layout: "thd", shape: [40, 4, 8], sequence, layer: 1, position: { scheme: "alibi" } });
    cache.shift({ keep: 1, discard: 3, sequence });
    cache.retune({ rope: { ...config, rope_theta: 1e6 }, positions: 2, sequence });
    const bytes = cache.save({ sequence });
    cache.restore(bytes, { sequence: cache.sequences - 1 });
    cache.copyPrefix({ from: sequence, to: cache.sequences - 1, length: 5 });
    cache.read({ sequence });
    cache.positions(sequence);
    cache.canRetune({ rope: { ...config, pairing: "interleaved" } });
    expectThrow(() => cache.append({ q, k: new Float32Array(640).fill(NaN), v, layout: "thd", shape: [40, 2, 8], sequence }));
    expectThrow(() => cache.restore(bytes.slice(0, 500), { sequence }));
    expectThrow(() => cache.restore(bytes.map((byte, at) => (at === 900 ? byte ^ 1 : byte)), { sequence }));
    expectThrow(() => rw.kvCache({ rope: config, kvHeads: 2, layers: [{}, { rope: { ...config, rope_theta: 0 } }], maxLength: 60 }));
    expectThrow(() => rw.attention(q, k, v, { layout: "thd", shape: [40, 4, 8], kvShape: [40, 2, 8], window: 0 }));
    cache.truncate(3, { sequence });
    cache.clear();
    rw.kvCacheBytes({ rope: dynamic, kvHeads: 1, maxLength: 100 });
    const state = rw.linearState({ heads: 4, kvHeads: 2, rope: config });
    state.append(q, k, v);
    state.restore(state.save());
    expectThrow(() => state.restore(bytes));
    expectThrow(() => rw.linearState({ heads: 3, kvHeads: 2, rope: config }));
    rw.linearAttention(q, k, v, { layout: "thd", shape: [40, 4, 8], kvShape: [40, 2, 8] });
    state.dispose();
    if (i % 7 !== 0) cache.append({ k, v, layout: "thd", shape: [40, 2, 8], sequence });
    cache.dispose();
  }`;

test("1000 cycles leave memory as large, and as free, as none", async () => {
  const [none, many] = [await measureCycles(cycle, 0), await measureCycles(cycle, 1000)];
  assert.equal(many.after, many.before, "memory has not grown");
  assert.deepEqual(many, none);
});

test("the measurement detects a cache that isn't disposed of", async () => {
  const leaky = cycle.replace("    cache.dispose();", "    leaked.push(cache);");
  assert.notEqual(leaky, cycle);
  const [none, many] = [await measureCycles(cycle, 0), await measureCycles(leaky, 300)];
  assert.ok(many.after > none.after || many.blocks < none.blocks);
});

test("caches and states without dispose() are freed when they are collected", async () => {
  // 200 MB of caches and 200 MB of states in total, a few at a time
  const bytes = await bytesAfterCollections(`
    const k = new Float32Array(1 << 18);
    for (let j = 0; j < 2; j++) rw.kvCache({ kvHeads: 8, headDim: 64, maxLength: 1024 }).append({ k, v: k, layout: "thd", shape: [512, 8, 64] });
    for (let j = 0; j < 4; j++) rw.linearState({ heads: 8, headDim: 128 });`);
  assert.ok(bytes < 100 * 2 ** 20, `${bytes} bytes`);
});

test("disposing twice is harmless, and `using` disposes", () => {
  const dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
  const cache = rw.kvCache({ kvHeads: 1, headDim: 8, maxLength: 10 });
  cache.dispose();
  const reused = rw.kvCache({ kvHeads: 1, headDim: 8, maxLength: 10 });
  cache.dispose();
  cache[dispose]();
  reused.append({ k: new Float32Array(8), v: new Float32Array(8), layout: "thd", shape: [1, 1, 8] });
  assert.equal(reused.length, 1);
  reused[dispose]();
  assert.throws(() => reused.length, { code: "DISPOSED", field: "kvCache" });
});

test("memory growth during append doesn't change tensors or cached tokens", () => {
  const shape = [64, 8, 128];
  const [q, k, v] = [1, 2, 3].map((seed) => rw.tensor(shape).set(randomFloats(64 * 8 * 128, seed)));
  const witness = rw.tensor([1000]).set(randomFloats(1000, 4));
  const config = { head_dim: 128, pairing: "half" };
  withRope(rw.rope(config), (rope) =>
    withRope(rw.kvCache({ rope, kvHeads: 8, layers: 4, maxLength: 4096 }), (cache) => {
      const before = rw.memoryBytes;
      let first;
      for (let at = 0; at < 4096; at += 64) {
        for (let layer = 0; layer < 4; layer++) {
          const rotated = q.data.slice();
          if (layer === 0) cache.append({ q, k, v, layout: "thd", layer });
          else cache.append({ k: k.data, v: v.data, layout: "thd", shape, layer });
          if (layer > 0) continue;
          sameBits(
            q.data.slice(),
            rope.rotate(rotated, { layout: "thd", shape, positions: at }),
            "q, rotated in place",
          );
          q.set(randomFloats(q.length, 1));
        }
        first ??= cache.read({ count: 64 });
      }
      assert.ok(rw.memoryBytes > before + 100 * 2 ** 20, "memory has grown");
      sameBits(witness.data.slice(), randomFloats(1000, 4));
      sameBits(k.data.slice(), randomFloats(k.length, 2));
      sameBits(cache.read({ count: 64 }).k, first.k);
    }),
  );
  for (const tensor of [q, k, v, witness]) tensor.dispose();
});

const full = {
  prepare: `
    const config = { head_dim: 64, pairing: "half" };
    const cache = rw.kvCache({ rope: config, kvHeads: 4, maxLength: 100000, sequences: 2 }); // 66 KB per page of 32 tokens
    const k = new Float32Array(40 * 256).fill(1);
    const more = { k, v: k, layout: "thd", shape: [40, 4, 64] };
    cache.append({ ...more, sequence: 0 });
    cache.copyPrefix({ from: 0, to: 1 }); // they share their pages
    const [row, batch] = [rw.tensor([300, 4, 64]), rw.tensor([2, 300, 4, 64])];
    const { shape } = row;
    const floats = () => new Float32Array(row.length);
    const images = () => [0, 1].map((sequence) => Buffer.from(cache.save({ sequence })).toString("base64")).join();
    const before = images();
    const unchanged = () => { if (images() !== before) throw new Error("the cached tokens have changed"); };`,
  act: `
    const free = (bytes) => fillers.splice(fillers.findIndex((tensor) => tensor.length === bytes / 4), 1)[0].dispose();
    free(1 << 14);
    attempt("shift of a copy", () => cache.shift({ sequence: 1, keep: 4, discard: 8 }));
    unchanged();
    attempt("move of a copy", () => cache.retune({ sequence: 1, positions: 9 }));
    unchanged();
    attempt("append to a copy", () => cache.append({ k: k.slice(0, 256), v: k.slice(0, 256), layout: "thd", shape: [1, 4, 64], sequence: 1 }));
    unchanged();
    free(1 << 18); // room for some pages, but not for nine
    attempt("append", () => cache.append({ k: row, v: row, layout: "thd", sequence: 0 }));
    unchanged();
    attempt("append to all", () => cache.append({ k: batch, v: batch, layout: "bthd" }));
    unchanged();
    attempt("append an array", () => cache.append({ k: floats(), v: floats(), layout: "thd", shape, sequence: 0 }));
    attempt("attention", () => rw.attention(floats(), row, row, { layout: "thd", shape }));
    attempt("new output tensor", () => rw.attention(row, row, row, { layout: "thd" }));
    attempt("linearAttention", () => rw.linearAttention(row, row, floats(), { layout: "thd" }));
    attempt("linearState", () => rw.linearState({ heads: 64, headDim: 256 }));
    unchanged();
    attempt("kvCache", () => { for (let i = 0; i < 1000; i++) fillers.push(rw.kvCache({ rope: config, kvHeads: 4, maxLength: 100000 })); });
    for (const object of fillers) object.dispose();
    unchanged();
    cache.append({ ...more, sequence: 1 });
    report.works = cache.lengthOf(1);`,
};

test("in full memory each operation throws OUT_OF_MEMORY, and cached tokens are unchanged", async () => {
  const { works, outcomes } = await inFullMemory(full);
  assert.equal(works, 80);
  const names = [
    "shift of a copy",
    "move of a copy",
    "append to a copy",
    "append",
    "append to all",
    "append an array",
    "attention",
    "linearAttention",
    "linearState",
    "kvCache",
  ];
  assert.deepEqual(outcomes, {
    ...Object.fromEntries(names.map((name) => [name, "RopewalkError OUT_OF_MEMORY "])),
    "new output tensor": "RopewalkError OUT_OF_MEMORY shape",
  });
});
