// Threads of the package: how many there are, that results don't depend on them, and what happens when they end. tests/native/threads has the
// pool itself.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import test from "node:test";
import { load } from "ropewalk";
import { load as loadWorker } from "ropewalk/worker";
import { randomFloats, sameBits } from "../helpers/arrays.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { inNewProcess } from "../helpers/processes.mjs";
import { anotherModule, build, rejects } from "../helpers/runtime.mjs";

const COUNTS = [1, 2, 3, 5];

/** Runs `act(rw)` with each number of threads, and returns the results. */
async function withEachNumber(act) {
  const rw = await anotherModule({ threads: 2 });
  const results = [];
  for (const threads of COUNTS) {
    await rw.useThreads(threads);
    assert.equal(rw.threads, threads);
    results.push(await act(rw));
  }
  await rw.useThreads(1);
  return results;
}

function allSame([first, ...others]) {
  for (const [i, other] of others.entries()) sameBits(other, first, `${COUNTS[i + 1]} threads`);
}

test("auto takes the cores of this machine", async () => {
  const rw = await anotherModule({});
  const cores = availableParallelism();
  assert.equal(rw.threads, cores <= 4 ? cores : Math.min(8, Math.max(4, cores >> 1)));
  await rw.useThreads(3);
  assert.equal(rw.threads, 3);
  await rw.useThreads("auto");
  await rw.useThreads(1);
});

test("rotation has the same bits with any number of threads", async () => {
  const shape = [300, 8, 128];
  const x = randomFloats(300 * 8 * 128);
  allSame(
    await withEachNumber((rw) => {
      const rope = rw.rope({ head_dim: 128, pairing: "half" });
      return rope.rotate(x.slice(), { layout: "thd", shape, positions: 5 });
    }),
  );
});

test("attention has the same bits with any number of threads", async () => {
  const [q, k, v] = [0, 1, 2].map((seed) => randomFloats(200 * 8 * 64, seed));
  allSame(
    await withEachNumber((rw) => rw.attention(q, k, v, { layout: "thd", shape: [200, 8, 64], kvShape: [200, 8, 64] })),
  );
});

test("a model has the same logits with any number of threads", async () => {
  const all = await withEachNumber(async (rw) => {
    const model = await rw.model(tinyModel("llama/model.gguf"), { contextLength: 512 });
    const session = model.session();
    await session.append(Array.from({ length: 300 }, (_, i) => 3 + (i % 60))); // enough work to be divided
    await session.append([7]);
    const logits = session.logits();
    model.dispose();
    return logits;
  });
  allSame(all);
});

test("the same module keeps its number of threads until another is asked for", async () => {
  const wasm = await readFile(
    new URL(import.meta.resolve(`ropewalk/ropewalk${build === "relaxed" ? ".relaxed" : ""}.wasm`)),
  );
  const rw = await load({ build, wasm, threads: 3 });
  assert.equal(await load({ build, wasm }), rw);
  assert.equal(rw.threads, 3);
  assert.equal(await load({ build, wasm, threads: 2 }), rw);
  assert.equal(rw.threads, 2);
  await Promise.all([rw.useThreads(4), rw.useThreads(1), rw.useThreads(2)]);
  assert.equal(rw.threads, 2, "changes follow one another");
  await rw.useThreads(1);
});

test("numbers of threads that aren't any", async () => {
  for (const threads of [0, -1, 33, 1.5, NaN, "2", "all", null, {}, 2n]) {
    await rejects(load({ threads }), "INVALID_ARGUMENT", "threads");
    await rejects(
      load().then((rw) => rw.useThreads(threads)),
      "INVALID_ARGUMENT",
      "threads",
    );
  }
});

test("memory that isn't shared has one thread", async () => {
  const rw = await anotherModule({ threads: 1 });
  assert.equal(rw.threads, 1);
  await rw.useThreads("auto");
  assert.equal(rw.threads, 1);
  await rejects(rw.useThreads(2), "UNSUPPORTED_ENGINE", "threads");
});

test("a compiled module has one thread", async () => {
  const file = new URL(import.meta.resolve(`ropewalk/ropewalk${build === "relaxed" ? ".relaxed" : ""}.wasm`));
  const wasm = await WebAssembly.compile(await readFile(file));
  assert.equal((await load({ build, wasm })).threads, 1);
  await rejects(load({ build, wasm, threads: 2 }), "UNSUPPORTED_ENGINE", "threads");
});

test("threads don't keep the process alive, and a process without memory to share has one", async () => {
  const program = `import { load } from "ropewalk"; const rw = await load({ build: "${build}", threads: 4 }); console.log(rw.threads);`;
  assert.equal(await inNewProcess(program), "4");
  const alone = `globalThis.SharedArrayBuffer = undefined; const { load } = await import("ropewalk");
    const rw = await load({ build: "${build}" }); console.log(rw.threads);`;
  assert.equal(await inNewProcess(alone), "1");
});

test("helpers that end between calls are missed by nobody", async () => {
  const program = `
    import { syncBuiltinESMExports } from "node:module";
    import threads from "node:worker_threads";
    const started = [];
    threads.Worker = class extends threads.Worker { constructor(...given) { super(...given); started.push(this); } };
    syncBuiltinESMExports();
    const { load } = await import("ropewalk");
    const rw = await load({ build: "${build}", threads: 4 });
    const rope = rw.rope({ head_dim: 128, pairing: "half" });
    const rotate = () => rope.rotate(new Float32Array(300 * 8 * 128).fill(1), { layout: "thd", shape: [300, 8, 128], positions: 5 }).join();
    const before = rotate();
    await started[1].terminate();
    const counts = [rw.threads];
    if (rotate() !== before) throw new Error("another result");
    await Promise.all(started.map((worker) => worker.terminate()));
    counts.push(rw.threads);
    if (rotate() !== before) throw new Error("another result");
    await rw.useThreads(2);
    counts.push(rw.threads, started.length);
    if (rotate() !== before) throw new Error("another result");
    console.log(counts.join());`;
  assert.equal(await inNewProcess(program), "3,1,2,4");
});

test("a Worker's runtime has threads of its own", async () => {
  const worker = await loadWorker({ build, threads: 3 });
  assert.equal(worker.threads, 3);
  await worker.useThreads(2);
  assert.equal(worker.threads, 2);
  await rejects(worker.useThreads(0), "INVALID_ARGUMENT", "threads");
  await worker.dispose();
  await rejects(worker.useThreads(2), "DISPOSED", "worker");
});

test("a thread that can't start", async () => {
  const program = `
    import { syncBuiltinESMExports } from "node:module";
    import threads from "node:worker_threads";
    threads.Worker = class extends threads.Worker { constructor() { super("throw new Error('no threads here')", { eval: true }); } };
    syncBuiltinESMExports();
    const { load } = await import("ropewalk");
    const rw = await load({ build: "${build}" });
    const error = await rw.useThreads(2).catch((error) => error);
    console.log(rw.threads, error.code, error.field, error.message);`;
  assert.equal(
    await inNewProcess(program),
    "1 WASM_LOAD threads threads: a helper thread couldn't start: no threads here",
  );
});
