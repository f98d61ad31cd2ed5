// Wasm memory of tensors and ropes is freed: cycles of creating, using and disposing leave the allocator unchanged.
import assert from "node:assert/strict";
import test from "node:test";
import { bytesAfterCollections, measureCycles } from "../helpers/memory.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

/** One cycle creates and disposes of ropes of several types and tensors, uses every operation, and causes errors. */
const cycle = `
  const configs = [
    { head_dim: 64, pairing: "half" },
    { head_dim: 32, pairing: "interleaved", rope_scaling: { rope_type: "dynamic", factor: 2 }, max_position_embeddings: 8 },
    { head_dim: 8, pairing: "half", rope_scaling: { rope_type: "longrope", short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2], factor: 4, original_max_position_embeddings: 16 } },
  ];
  function cycle(i) {
    const config = configs[i % configs.length];
    const rope = rw.rope(config);
    const shape = [1, 2, 3, config.head_dim];
    const tensor = rw.tensor(shape);
    rope.rotate(tensor, { layout: "bhtd", positions: i % 20 });
    rope.rotate(new Float32Array(6 * config.head_dim), { layout: "bhtd", shape, positions: [3, 1, 2] });
    rope.rerotate(tensor, { layout: "bhtd", from: { positions: i % 20 }, to: { positions: 2 } });
    rope.table(5);
    rope.plan(30);
    rope.queryTemperature([1, 2, 3]);
    rope.firstNegativeDistance(10);
    expectThrow(() => rw.rope({ ...config, rope_theta: 0.5 }));
    expectThrow(() => rw.rope({ ...config, rope_scaling: { rope_type: "custom", inv_freq: [1, 2, 3] } }));
    expectThrow(() => rope.rotate(tensor, { layout: "bhtd", positions: [0, NaN, 1] }));
    expectThrow(() => rw.convertPairing(new Float32Array(64), { heads: 2, head_dim: 32, rotary_dim: 7, from: "half", to: "interleaved" }));
    rw.convertPairing(new Float32Array(64), { heads: 2, head_dim: 32, from: "half", to: "interleaved" });
    tensor.dispose();
    rope.dispose();
  }`;

test("10,000 cycles neither grow memory nor use up free blocks", async () => {
  const [none, many] = [await measureCycles(cycle, 0), await measureCycles(cycle, 10000)];
  assert.equal(many.after, many.before, "memory doesn't grow");
  assert.ok(none.blocks > 100, `${none.blocks} blocks are free`);
  assert.deepEqual(many, none);
});

test("the measurement detects a leak of 64 bytes per cycle in 1000 cycles", async () => {
  const leaky = cycle.replace("const tensor =", "leaked.push(rw.tensor([1]));\n    const tensor =");
  assert.notEqual(leaky, cycle);
  const [none, many] = [await measureCycles(cycle, 0), await measureCycles(leaky, 1000)];
  assert.ok(many.blocks < none.blocks, `${many.blocks} blocks are free, ${none.blocks} without the leak`);
});

test("the block for positions is freed when a larger one replaces it", () => {
  withRope(rw.rope({ head_dim: 2, pairing: "half" }), (rope) => {
    const rotate = (tokens) =>
      rope.rotate(new Float32Array(2 * tokens), {
        layout: "thd",
        shape: [tokens, 1, 2],
        positions: new Float64Array(tokens),
      });
    rotate(1000);
    const before = rw.memoryBytes;
    for (let tokens = 1000; tokens <= 50000; tokens += 500) rotate(tokens); // 20 MB in total, 0.4 MB at a time
    assert.ok(rw.memoryBytes - before < 8 * 2 ** 20, `${rw.memoryBytes - before} bytes more`);
  });
});

test("disposing twice is harmless, and `using` disposes", () => {
  const tensor = rw.tensor([4]);
  const other = rw.tensor([4]).set([1, 2, 3, 4]);
  tensor.dispose();
  tensor.dispose();
  const reused = rw.tensor([4]).set([5, 6, 7, 8]); // probably the freed block; freeing it twice would corrupt it
  tensor.dispose();
  const next = rw.tensor([4]);
  assert.deepEqual([...reused.data], [5, 6, 7, 8]);
  assert.deepEqual([...other.data], [1, 2, 3, 4]);
  const dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
  const rope = rw.rope({ head_dim: 4, pairing: "half" });
  rope[dispose]();
  rope.dispose();
  for (const owner of [other, reused, next]) owner[dispose]();
  assert.throws(() => other.data, { code: "DISPOSED" });
  assert.throws(() => rope.plan(), { code: "DISPOSED" });
});

test("tensors and ropes without dispose() are freed when they are collected", async () => {
  // 200 MB of tensors in total, a few at a time
  const bytes = await bytesAfterCollections(`
    for (let j = 0; j < 4; j++) rw.tensor([1 << 18]).data[0] = 1;
    rw.rope({ head_dim: 128, pairing: "half" });`);
  assert.ok(bytes < 64 * 2 ** 20, `${bytes} bytes`);
});

test("a rope caches at most 8 MB of cos and sin", () => {
  withRope(rw.rope({ head_dim: 128, pairing: "half" }), (rope) => {
    const tensor = rw.tensor([100000, 1, 128]); // rows of 100000 positions would take 51 MB
    const before = rw.memoryBytes;
    rope.rotate(tensor, { layout: "thd", positions: 0 });
    assert.ok(rw.memoryBytes - before <= 16 * 2 ** 20, `${rw.memoryBytes - before} bytes more`);
    tensor.dispose();
  });
});
