// Each step of loading a model fails in turn: every block of wasm memory is free again afterwards, and the next load gives the same logits.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import createModule from "../../dist/wasm/ropewalk.js";
import { loadModel } from "../../build/package/runtime/model/load_model.js";
import { createMemory } from "../../build/package/core/load/shared_memory.js";
import { Heap } from "../../build/package/core/memory/heap.js";
import { partsOf, readTiny, written } from "../files/model_parts.mjs";
import { fetchOnly, fileOf } from "../files/reading.mjs";

const wasm = await WebAssembly.compile(await readFile(new URL("../../dist/wasm/ropewalk.wasm", import.meta.url)));
const module = await createModule({
  wasmMemory: createMemory(false),
  instantiateWasm: (imports, receive) => {
    WebAssembly.instantiate(wasm, imports).then((instance) => receive(instance, wasm));
    return {};
  },
});
const statuses = Array.from({ length: 200 }, (_, status) => status).slice(1);
const codeOf = (status) => {
  const start = module.status_code(status);
  return new TextDecoder().decode(module.HEAPU8.slice(start, module.HEAPU8.indexOf(0, start)));
};
const OUT_OF_MEMORY = statuses.find((status) => codeOf(status) === "OUT_OF_MEMORY");
assert.ok(OUT_OF_MEMORY > 0);

/** Blocks and models that are allocated now, by the calls of the package into wasm. */
const allocated = new Set();
/** Calls so far, and the number of the call that fails. */
let calls = 0;
let failing = Infinity;

const ALLOCATIONS = { _memalign: (address) => address, model_create: (address) => `model ${address}` };
const RELEASES = { _free: (address) => address, model_destroy: (address) => `model ${address}` };
const FALLIBLE = ["model_configure", "model_reserve", "model_set_vector", "model_pack", "model_finish"];

/** The wasm module, whose `failing`-th call that can run out of memory does. */
const watched = new Proxy(module, {
  get(target, name) {
    const call = target[name];
    if (name in RELEASES) {
      return (address) => {
        assert.ok(allocated.delete(RELEASES[name](address)) || address === 0, `${name}(${address}) was allocated`);
        call(address);
      };
    }
    if (!(name in ALLOCATIONS) && !FALLIBLE.includes(name)) return call;
    return (...values) => {
      if (++calls === failing) return name in ALLOCATIONS ? 0 : OUT_OF_MEMORY;
      const result = call(...values);
      if (name in ALLOCATIONS) allocated.add(ALLOCATIONS[name](result));
      return result;
    };
  },
});

const environment = { heap: new Heap(watched), files: fetchOnly, isScalar: false };
const llama = fileOf("model.gguf", readTiny("llama/model.gguf"));

async function logitsOf(source, options = {}) {
  const model = await loadModel(environment, source, options);
  try {
    const session = model.session();
    await session.append([1, 5, 9]);
    const logits = [...session.logits()];
    session.dispose();
    return logits;
  } finally {
    model.dispose();
  }
}

const expected = await logitsOf(llama); // also allocates the blocks that stay for later calls

/** Expects that `load` fails and leaves nothing allocated. */
async function expectNothingLeft(load, title, isExpected = (error) => error.name === "RopewalkError") {
  const before = [...allocated];
  await assert.rejects(load, (error) => isExpected(error) || assert.fail(`${title}: ${error.stack}`), title);
  assert.deepEqual([...allocated], before, `${title}: nothing is left`);
}

test("each call into wasm runs out of memory in turn", async (t) => {
  for (const name of ["llama", "phi3", "stablelm", "qwen3_moe"]) {
    const file = fileOf("model.gguf", readTiny(`${name}/model.gguf`));
    calls = 0;
    (await loadModel(environment, file, {})).dispose();
    const total = calls;
    assert.ok(total > 20);
    for (let call = 1; call <= total; call++) {
      [calls, failing] = [0, call];
      await expectNothingLeft(loadModel(environment, file, {}), `${name}: call ${call} of ${total}`);
      failing = Infinity;
    }
    t.diagnostic(`${name}: ${total} calls`);
  }
  assert.deepEqual(await logitsOf(llama), expected);
});

/** A file whose streams break after some chunks of 4 KB. */
class Breaking extends File {
  constructor(bytes, chunks) {
    super([bytes], "model.gguf");
    this.chunks = chunks;
  }
  slice(start, end) {
    const bytes = super.slice(start, end);
    const next = () => --this.chunks < 0;
    return {
      stream: () =>
        bytes.stream().pipeThrough(
          new TransformStream({
            transform: (chunk, controller) => {
              for (let at = 0; at < chunk.length; at += 4096) {
                if (next()) throw new DOMException("gone", "NotReadableError");
                controller.enqueue(chunk.slice(at, at + 4096));
              }
            },
          }),
        ),
    };
  }
}

test("the file breaks at each chunk, the signal aborts or onProgress throws at each call", async () => {
  const bytes = readTiny("llama/model.gguf");
  let broken = 0;
  for (let chunks = 0; ; chunks++) {
    const source = new Breaking(bytes, chunks);
    let isLoaded = false;
    const load = loadModel(environment, source, {}).then((model) => {
      isLoaded = true;
      model.dispose();
      throw Object.assign(new Error("loaded"), { name: "RopewalkError" });
    });
    await expectNothingLeft(load, `chunk ${chunks}`);
    if (isLoaded) break;
    broken++;
  }
  assert.ok(broken > 20);

  let reports = 0;
  (await loadModel(environment, llama, { onProgress: () => void reports++ })).dispose();
  assert.ok(reports >= 3);
  for (let report = 1; report <= reports; report++) {
    const reason = new Error("enough");
    let count = 0;
    const throwing = () => {
      if (++count === report) throw reason;
    };
    await expectNothingLeft(
      loadModel(environment, llama, { onProgress: throwing }),
      `throws at report ${report}`,
      (error) => error === reason,
    );
    count = 0;
    const controller = new AbortController();
    const aborting = () => void (++count === report && controller.abort(reason));
    await expectNothingLeft(
      loadModel(environment, llama, { onProgress: aborting, signal: controller.signal }),
      `aborts at report ${report}`,
      (error) => error === reason,
    );
  }
  assert.deepEqual(await logitsOf(llama), expected);
});

test("chat templates, tokenizers and generation configs of any kind", async () => {
  const parts = await partsOf("llama", "safetensors");
  const values = [
    null,
    [null],
    [[null]],
    [{}],
    [{ name: "default" }],
    [{ name: "default", template: null }],
    3,
    {},
    "x",
  ];
  for (const value of values) {
    for (const [file, content] of [
      ["tokenizer_config.json", { chat_template: value }],
      ["generation_config.json", { temperature: value, top_k: value, eos_token_id: value }],
      ["tokenizer.json", { model: value, added_tokens: value }],
      ["tokenizer.json", value],
    ]) {
      const others = parts.others.filter(({ name }) => name !== file);
      const files = written({ ...parts, others }, "safetensors");
      files.push(fileOf(file, new TextEncoder().encode(JSON.stringify(content))));
      const before = [...allocated];
      await loadModel(environment, files, {}).then(
        (model) => model.dispose(),
        (error) => assert.equal(error.name, "RopewalkError", `${file}: ${JSON.stringify(content)}: ${error.stack}`),
      );
      assert.deepEqual([...allocated], before, `${file}: ${JSON.stringify(content)}`);
    }
  }
  assert.deepEqual(await logitsOf(llama), expected);
});
