// A Worker that ends by itself, in the middle of any calls: pending and later calls say so, and dispose() works. ROPEWALK_SEED and ROPEWALK_CASES
// draw others, and more.
//
// compare: --cases 200
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk/worker";
import { randomFrom } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build } from "../helpers/runtime.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 10);
const LLAMA = tinyModel("llama/model.gguf");

/** Ends a Worker when it gets a message, as crashes do. */
const ENDING = `
  const { parentPort } = require("node:worker_threads");
  parentPort.on("message", ({ ending }) => {
    if (ending === "exit") process.exit(3);
    if (ending === "error") setImmediate(() => { throw new Error("a defect"); });
    if (ending === "memory") for (const all = []; ; ) all.push(new Array(100_000).fill(all.length));
  });`;
const WAYS = {
  terminate: [(worker) => worker.terminate(), /its thread ended with code 1/],
  exit: [(worker) => worker.postMessage({ ending: "exit" }), /its thread ended with code 3/],
  error: [(worker) => worker.postMessage({ ending: "error" }), /a defect/],
  memory: [(worker) => worker.postMessage({ ending: "memory" }), /reaching memory limit/],
};

/** Loads the module in a Worker that can be ended. */
async function loadEnding() {
  const threads = process.getBuiltinModule("node:worker_threads");
  const { Worker } = threads;
  let worker;
  threads.Worker = class extends Worker {
    constructor(script, options) {
      super(ENDING + script, { ...options, resourceLimits: { maxOldGenerationSizeMb: 60 } });
      worker = this;
    }
  };
  try {
    return { rw: await load({ build, threads: 1 }), worker };
  } finally {
    threads.Worker = Worker;
  }
}

const all = async (pieces) => {
  const read = [];
  for await (const piece of pieces) read.push(piece);
  return read;
};

const calls = {
  model: ({ rw }) => rw.model(LLAMA),
  append: ({ session }) => session.append(new Array(300).fill(5)),
  generate: ({ session }) => all(session.generate({ maxTokens: 40, ignoreEnd: true })),
  generate_model: ({ model }) => all(model.generate("the cat", { maxTokens: 40, ignoreEnd: true })),
  embed: ({ model }) => model.embed(["the cat", "the"]),
  fork: ({ session }) => session.fork(),
  save: ({ session }) => session.save(),
  tokens: ({ session }) => session.tokens,
  memory: ({ rw }) => rw.memoryBytes,
  aborted: ({ session }) => session.append([5], { signal: AbortSignal.timeout(5) }),
};

test(`${CASES} Workers that end, seed ${SEED}`, async (t) => {
  // an idle Worker doesn't keep the process: one that has answered everything may end later
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  let failed = 0;
  for (let i = 0; i < CASES; i++) {
    const random = randomFrom(SEED * 1_000_003 + i);
    const of = (values) => values[Math.floor(random() * values.length)];
    const { rw, worker } = await loadEnding();
    const model = await rw.model(LLAMA, { contextLength: 4000 });
    const one = { rw, model, session: await model.session() };
    await one.session.append("the");
    const drawn = Array.from({ length: 6 }, () => of(Object.keys(calls)));
    const outcomes = Promise.allSettled(drawn.map((name) => calls[name](one))); // some may end before the Worker does
    for (let ticks = Math.floor(random() * 8); ticks > 0; ticks--) await new Promise(setImmediate);
    const way = of(Object.keys(WAYS));
    const [end, reason] = WAYS[way];
    end(worker);
    const message = `case ${i}: ${way} during ${drawn}`;
    const check = (error) => {
      assert.deepEqual(
        [error.name, error.code, error.field],
        ["RopewalkError", "THREAD_LOST", "worker"],
        `${message}: ${error}`,
      );
      assert.match(error.problem, reason, message);
      assert.match(error.message, /call load\(\) and load the model again/, message);
    };
    for (const outcome of await outcomes) {
      if (outcome.status === "fulfilled" || outcome.reason.name === "TimeoutError") continue;
      check(outcome.reason);
      failed += 1;
    }
    check(await rw.ended);
    for (const call of Object.values(calls))
      if (call !== calls.aborted) await assert.rejects(call(one), (error) => (check(error), true));
    assert.equal(one.session.length > 0, true, "what the last reply said stays");
    await Promise.all([one.session.dispose(), model.dispose(), rw.dispose(), rw.dispose()]);
    check(await rw.memoryBytes.catch((error) => error));
  }
  assert.ok(failed > CASES, `${failed} calls failed`);
});

test("a Worker that is disposed of hasn't ended by itself", async () => {
  const { rw } = await loadEnding();
  await rw.dispose();
  const still = Symbol("pending");
  assert.equal(await Promise.race([rw.ended, new Promise((resolve) => setTimeout(resolve, 100, still))]), still);
  await assert.rejects(rw.memoryBytes, { code: "DISPOSED", field: "worker" });
});
