// Formats that would fill the memory: each is read, or refused, by a thread with a small heap.
import assert from "node:assert/strict";
import { once } from "node:events";
import test from "node:test";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Formats } from "../../../build/package/runtime/grammar/formats.js";
import { HOLDERS, LEAVES, VALUES } from "./shapes/schemas.mjs";

/** Before work was counted, each of these took more than a gigabyte. */
const SCHEMAS = {
  "20,000 formats": () => HOLDERS.properties(20_000, LEAVES.date),
  "20,000 numbers": () => HOLDERS.properties(20_000, LEAVES.integer),
  "3,000 patterns that hold together": () => VALUES["patterns, all of many"](3000),
  "a name of 50,000 letters": () => VALUES["a long name beside others"](50_000),
  "an excluded text of 50,000 letters": () => VALUES["not a long const"](50_000),
};
const HEAP_MB = 300;

if (isMainThread) {
  for (const name of Object.keys(SCHEMAS))
    test(`the memory of ${name}`, async () => {
      const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 32 };
      const worker = new Worker(new URL(import.meta.url), { workerData: name, resourceLimits });
      const [code] = await once(worker, "message"); // rejects where the thread runs out of memory
      assert.ok(code === "read" || code === "INVALID_ARGUMENT", code);
    });
} else {
  const tokenizer = { bytes: (id) => new Uint8Array([id]), endTokens: [0], vocabularySize: 128 };
  try {
    new Formats(tokenizer, 128).matcher({ schema: SCHEMAS[workerData]() });
    parentPort.postMessage("read");
  } catch (error) {
    parentPort.postMessage(error.code ?? error.stack);
  }
}
