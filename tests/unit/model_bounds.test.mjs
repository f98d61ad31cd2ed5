// What a header claims is bounded by what a model can have and by the length of its file, before memory or time is spent on it.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { load } from "../../dist/index.node.js";
import { ggufHeader } from "../files/gguf_writer.mjs";
import { goodModelOf, partsOf } from "../files/model_parts.mjs";

/** JavaScript memory of the Worker: the largest headers are 100 MB, and arrays of 4 million values are allowed. */
const MEMORY_MB = 512;
const MAX_MILLISECONDS = 20_000; // a hundred times the typical time on an idle machine

test("headers that claim more than a model has", async (t) => {
  const worker = new Worker(new URL("../files/hostile_headers.mjs", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
  const results = [];
  await new Promise((resolve, reject) => {
    worker.on("message", (result) => results.push(result));
    worker.on("error", (error) =>
      reject(new Error(`after ${results.at(-1)?.title}: ${error.message}`, { cause: error })),
    );
    worker.on("exit", resolve);
  });
  assert.ok(results.length >= 26);
  for (const { title, isExpected, text, milliseconds } of results) {
    assert.ok(isExpected, `${title}: ${text}`);
    assert.ok(milliseconds < MAX_MILLISECONDS, `${title}: ${milliseconds} ms`);
  }
  t.diagnostic(results.map(({ title, milliseconds }) => `${title}: ${milliseconds.toFixed(0)} ms`).join(", "));
});

test("weights that a server claims but never sends take no memory", async (t) => {
  const rw = await load({ build: "simd" });
  const expectGoodModel = await goodModelOf(rw);
  const { keys, tensors } = await partsOf("llama", "gguf");
  const rows = 2 ** 22; // of 32 columns: 537 MB
  const claimed = tensors.map(({ name, type, shape }) => ({
    ...{ name, type },
    shape: /token_embd|^output\.weight/.test(name) ? [rows, 32] : shape,
  }));
  const header = ggufHeader({ metadata: { ...keys, "llama.vocab_size": rows }, tensors: claimed });
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" }); // no length, no ranges
    response.end(Buffer.concat([header, new Uint8Array(4096)]));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const before = process.resourceUsage().maxRSS;
  for (let i = 0; i < 3; i++) {
    await assert.rejects(rw.model(`http://127.0.0.1:${server.address().port}/model.gguf`, { retries: 0 }), {
      name: "RopewalkError",
      message: /file ends at byte|truncated|but/,
    });
  }
  assert.ok(process.resourceUsage().maxRSS - before < 200_000, "less than 200 MB");
  await expectGoodModel();
});
