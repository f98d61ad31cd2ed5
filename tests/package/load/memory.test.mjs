// Wasm memory is given back: cycles of making, using and disposing leave the allocator as it was.
import assert from "node:assert/strict";
import test from "node:test";
import { inNewProcess } from "../helpers/processes.mjs";
import { rw, withRope } from "../helpers/runtime.mjs";

/** What one cycle makes and gives back: ropes of several types, tensors, every operation, and errors half-way. */
const cycle = `
  const configs = [
    { head_dim: 64, pairing: "half" },
    { head_dim: 32, pairing: "interleaved", rope_scaling: { rope_type: "dynamic", factor: 2 }, max_position_embeddings: 8 },
    { head_dim: 8, pairing: "half", rope_scaling: { rope_type: "longrope", short_factor: [1, 1, 1, 1], long_factor: [2, 2, 2, 2], factor: 4, original_max_position_embeddings: 16 } },
  ];
  const attempt = (act) => { try { act(); } catch (error) { if (!(error instanceof RopewalkError)) throw error; return; } throw new Error("no error"); };
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
    attempt(() => rw.rope({ ...config, rope_theta: 0.5 }));
    attempt(() => rw.rope({ ...config, rope_scaling: { rope_type: "custom", inv_freq: [1, 2, 3] } }));
    attempt(() => rope.rotate(tensor, { layout: "bhtd", positions: [0, NaN, 1] }));
    attempt(() => rw.convertPairing(new Float32Array(64), { heads: 2, head_dim: 32, rotary_dim: 7, from: "half", to: "interleaved" }));
    rw.convertPairing(new Float32Array(64), { heads: 2, head_dim: 32, from: "half", to: "interleaved" });
    tensor.dispose();
    rope.dispose();
  }`;

/** Runs cycles, then counts the blocks of 16 KB that can be had before memory grows: 10,000 leaks of a few bytes take some of them. */
const measure = (cycles, cycleSource = cycle) => `
  import { load, RopewalkError } from "ropewalk";
  const rw = await load({ build: process.env.ROPEWALK_BUILD });
  const kept = [];
  ${cycleSource}
  for (let i = 0; i < 6; i++) cycle(i);
  const before = rw.memoryBytes;
  for (let i = 0; i < ${cycles}; i++) cycle(i);
  const after = rw.memoryBytes;
  let blocks = 0;
  for (; rw.memoryBytes === after; blocks++) kept.push(rw.tensor([4096]));
  console.log(JSON.stringify({ before, after, blocks }));`;

const measured = async (...args) => JSON.parse(await inNewProcess(measure(...args)));

test("10,000 cycles leave memory as large, and as free, as none", async () => {
  const [none, many] = [await measured(0), await measured(10000)];
  assert.equal(many.after, many.before, "memory has not grown");
  assert.ok(none.blocks > 100, `${none.blocks} blocks are free`);
  assert.deepEqual(many, none);
});

test("the measurement sees a leak of 64 bytes in each of a thousand cycles", async () => {
  const leaky = cycle.replace("const tensor =", "kept.push(rw.tensor([1]));\n    const tensor =");
  assert.notEqual(leaky, cycle);
  const [none, many] = [await measured(0), await measured(1000, leaky)];
  assert.ok(many.blocks < none.blocks, `${many.blocks} blocks are free, ${none.blocks} without the leak`);
});

test("blocks for positions are given back as they grow", () => {
  withRope(rw.rope({ head_dim: 2, pairing: "half" }), (rope) => {
    const turn = (tokens) =>
      rope.rotate(new Float32Array(2 * tokens), {
        layout: "thd",
        shape: [tokens, 1, 2],
        positions: new Float64Array(tokens),
      });
    turn(1000);
    const before = rw.memoryBytes;
    for (let tokens = 1000; tokens <= 50000; tokens += 500) turn(tokens); // 20 MB in all, 0.4 MB at a time
    assert.ok(rw.memoryBytes - before < 8 * 2 ** 20, `${rw.memoryBytes - before} bytes more`);
  });
});

test("disposing twice is harmless, and `using` disposes", () => {
  const tensor = rw.tensor([4]);
  const other = rw.tensor([4]).set([1, 2, 3, 4]);
  tensor.dispose();
  tensor.dispose();
  const taken = rw.tensor([4]).set([5, 6, 7, 8]); // the block given back, most likely; freed again, it would be lost
  tensor.dispose();
  const next = rw.tensor([4]);
  assert.deepEqual([...taken.data], [5, 6, 7, 8]);
  assert.deepEqual([...other.data], [1, 2, 3, 4]);
  const dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
  const rope = rw.rope({ head_dim: 4, pairing: "half" });
  rope[dispose]();
  rope.dispose();
  for (const owner of [other, taken, next]) owner[dispose]();
  assert.throws(() => other.data, { code: "DISPOSED" });
  assert.throws(() => rope.plan(), { code: "DISPOSED" });
});

test("tensors and ropes that are forgotten are given back when they are collected", async () => {
  const output = await inNewProcess(
    `
    import { load } from "ropewalk";
    import { setTimeout as sleep } from "node:timers/promises";
    const rw = await load({ build: process.env.ROPEWALK_BUILD });
    // 200 MB of tensors, of which memory is to hold a few only
    for (let i = 0; i < 50; i++) {
      for (let j = 0; j < 4; j++) rw.tensor([1 << 18]).data[0] = 1;
      rw.rope({ head_dim: 128, pairing: "half" });
      gc();
      await sleep(0);
    }
    console.log(rw.memoryBytes);`,
    ["--expose-gc"],
  );
  assert.ok(Number(output) < 64 * 2 ** 20, `${output} bytes`);
});

test("a rope keeps at most 8 MB of cos and sin, whatever it has turned", () => {
  withRope(rw.rope({ head_dim: 128, pairing: "half" }), (rope) => {
    const tensor = rw.tensor([100000, 1, 128]); // rows of 100000 positions would take 51 MB
    const before = rw.memoryBytes;
    rope.rotate(tensor, { layout: "thd", positions: 0 });
    assert.ok(rw.memoryBytes - before <= 16 * 2 ** 20, `${rw.memoryBytes - before} bytes more`);
    tensor.dispose();
  });
});
