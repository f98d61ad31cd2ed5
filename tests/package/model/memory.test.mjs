// Wasm memory of models: cycles of loading, generating and disposing, good and damaged files, leave the allocator as it was. LONG_TESTS=1 runs
// 10,000 cycles, 2,000 loads and 50 Workers.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "ropewalk/worker";
import { measureCycles } from "../helpers/memory.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, rejects } from "../helpers/runtime.mjs";

const isLong = process.env.LONG_TESTS === "1";
const path = JSON.stringify(tinyModel("llama/model.gguf"));

async function expectFlat(source, cycles) {
  const [none, many] = [await measureCycles(source, 0), await measureCycles(source, cycles)];
  assert.equal(many.after, many.before, "memory doesn't grow");
  assert.ok(none.blocks > 20, `${none.blocks} blocks are free`);
  assert.deepEqual(many, none);
}

test("loads of good and damaged files leave no byte behind", () =>
  expectFlat(
    `
    import { readFile } from "node:fs/promises";
    const bytes = await readFile(${path});
    async function cycle(i) {
      (await rw.model(bytes)).dispose();
      const damaged = bytes.subarray(0, Math.floor((bytes.length * (i % 7)) / 7));
      await rw.model(damaged).then(() => { throw new Error("a damaged file was loaded"); }, (error) => expectThrow(() => { throw error; }));
    }`,
    isLong ? 2000 : 50,
  ));

test("cycles of sessions, generation, saving, forking and errors leave no byte behind", () =>
  expectFlat(
    `
    const model = await rw.model(${path}, { contextLength: 64 });
    async function cycle(i) {
      const session = model.session();
      await session.append([5, 9, 2 + (i % 5)]);
      for await (const piece of session.generate({ maxTokens: 2, seed: 1 })) void piece;
      const other = session.fork();
      other.restore(session.save());
      expectThrow(() => other.restore(new Uint8Array(40)));
      await other.append(new Array(100).fill(5)).then(() => { throw new Error("too many tokens fit"); }, (error) => expectThrow(() => { throw error; }));
      other.rewind(1);
      other.dispose();
      session.dispose();
    }`,
    isLong ? 10000 : 300,
  ));

test("Workers that end in the middle of a generation reject what is pending", async () => {
  for (let i = 0; i < (isLong ? 50 : 5); i++) {
    const rw = await load({ build });
    const session = await (await rw.model(tinyModel("llama/model.gguf"))).session({ contextLength: 4096 });
    await session.append([5, 9, 2]);
    const pieces = session.generate({ maxTokens: 3000, seed: 1, ignoreEnd: true })[Symbol.asyncIterator]();
    for (let count = 0; count <= i % 5; count++) assert.equal((await pieces.next()).done, false);
    const pending = pieces.next();
    await rw.dispose();
    await pending.catch((error) => assert.equal(error.code, "DISPOSED")); // the piece may have been on its way
    await rejects(rw.memoryBytes, "DISPOSED", "worker");
  }
});
