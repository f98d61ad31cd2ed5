// Measures wasm memory in a new process: leaks, what the garbage collector frees, and behavior when memory is full.
import { inNewProcess } from "./processes.mjs";

const loaded = `
  import { load, RopewalkError } from "ropewalk";
  import { setTimeout as sleep } from "node:timers/promises";
  const rw = await load({ build: process.env.ROPEWALK_BUILD, threads: 1 }); // helpers need memory of their own`;

/**
 * Runs `cycle(i)`, which `source` defines and which may be async, 10 times to warm up and then `cycles` times. Returns the size of wasm memory
 * before and after, and how many blocks of 16 KB fit until memory grows: 10,000 leaks of a few bytes reduce that number. `source` may use `rw`,
 * `expectThrow(act)`, which requires a RopewalkError, and the array `leaked`.
 */
export async function measureCycles(source, cycles) {
  const program = `${loaded}
  const leaked = [];
  function expectThrow(act) {
    try { act(); } catch (error) { if (!(error instanceof RopewalkError)) throw error; return; }
    throw new Error("no error");
  }
  ${source}
  for (let i = 0; i < 10; i++) await cycle(i);
  const before = rw.memoryBytes;
  for (let i = 0; i < ${cycles}; i++) await cycle(i);
  const after = rw.memoryBytes;
  let blocks = 0;
  for (; rw.memoryBytes === after; blocks++) leaked.push(rw.tensor([4096]));
  console.log(JSON.stringify({ before, after, blocks }));`;
  return JSON.parse(await inNewProcess(program));
}

/** The size of wasm memory after the code `act` has run 50 times, with a garbage collection after each. */
export async function bytesAfterCollections(act) {
  const program = `${loaded}
  for (let i = 0; i < 50; i++) {
    ${act}
    gc();
    await sleep(0);
  }
  console.log(rw.memoryBytes);`;
  return Number(await inNewProcess(program, ["--expose-gc"]));
}

/**
 * Runs the code `prepare`, then stops memory from growing, runs `beforeFilling`, fills wasm memory with tensors until no free block has 4 KB, and
 * runs `act`. Code can use `attempt(name, act)`, which records "done" or the error in `outcomes`, the array `fillers` of those tensors, and the
 * object `report`. Returns `{ outcomes, ...report }`.
 */
export async function inFullMemory({ prepare, beforeFilling = "", act }) {
  const program = `${loaded}
  const report = {};
  const outcomes = {};
  function attempt(name, act) {
    try { act(); outcomes[name] = "done"; }
    catch (error) { outcomes[name] = [error.name, error.code, error.field].join(" "); }
  }
  ${prepare}
  WebAssembly.Memory.prototype.grow = () => { throw new RangeError("no more memory"); };
  ${beforeFilling}
  const fillers = [];
  for (let size = 1 << 22; size >= 4096; size /= 2) {
    try { for (;;) fillers.push(rw.tensor([size / 4])); } catch {}
  }
  ${act}
  console.log(JSON.stringify({ outcomes, ...report }));`;
  return JSON.parse(await inNewProcess(program));
}
