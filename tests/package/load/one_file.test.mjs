// Entries that need no other file: ropewalk/inline and ropewalk/worker/inline.
import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { load as loadInWorker } from "ropewalk/worker";
import { build } from "../helpers/loading.mjs";
import { inNewProcess } from "../helpers/processes.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const MODEL = join(import.meta.dirname, "..", "..", "golden", "tiny_models", "llama", "model.gguf");
const OPTIONS = { maxTokens: 20, seed: 7, ignoreEnd: true };

async function textOf(model) {
  let text = "";
  for await (const piece of model.generate("the cat", OPTIONS)) text += piece.text;
  return text;
}

/** Calls `use` with a copy of the package's scripts without its wasm files. */
async function withoutWasm(use) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-one-file-"));
  try {
    const dist = dirname(fileURLToPath(import.meta.resolve("ropewalk/inline")));
    await cp(dist, folder, { recursive: true, filter: (path) => !path.endsWith(".wasm") });
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await use((name) => JSON.stringify(pathToFileURL(join(folder, name))));
  } finally {
    await rm(folder, { recursive: true });
  }
}

for (const entry of ["inline.js", "index.node.js", "worker_inline.js", "worker.node.js"]) {
  test(`${entry} without its wasm files: it reads a model from a disk path`, async () => {
    const model = await rw.model(MODEL);
    const expected = await textOf(model);
    model.dispose();
    await withoutWasm(async (address) => {
      const output = await inNewProcess(`
        const { load } = await import(${address(entry)});
        const rw = await load({ build: ${JSON.stringify(build)} });
        const model = await rw.model(${JSON.stringify(MODEL)});
        let text = "";
        for await (const piece of model.generate("the cat", ${JSON.stringify(OPTIONS)})) text += piece.text;
        console.log(rw.build + " " + text);
        await rw.dispose?.();`);
      assert.equal(output, `${build} ${expected}`);
    });
  });
}

test("workerUrl is for pages", async () => {
  await rejects(loadInWorker({ workerUrl: "worker_thread.js" }), "INVALID_ARGUMENT", "workerUrl");
  await rejects(loadInWorker({ workerUrl: 7 }), "INVALID_ARGUMENT", "workerUrl");
  const inline = await import("ropewalk/worker/inline");
  await rejects(inline.load({ workerUrl: "worker_thread.js" }), "UNKNOWN_KEY", "workerUrl");
});
