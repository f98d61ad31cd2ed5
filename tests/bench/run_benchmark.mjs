// Runs the package on the benchmark's wasm module, in Node and in a page.
import { Heap } from "../../build/package/core/memory/heap.js";
import { Ropewalk } from "../../build/package/runtime/ropewalk/ropewalk.js";
import { runCases } from "./cases.mjs";
import { onnxruntime } from "./peer.mjs";

/** Creates `{ rw, module }` from the bytes of the benchmark's `wasm`. `files` is the FilePlatform for model files. */
export async function benchRuntime({ glue, wasm, build, files = { fetch: (...request) => fetch(...request) } }) {
  const compiled = await WebAssembly.compile(wasm);
  const module = await glue({
    instantiateWasm(imports, receive) {
      void WebAssembly.instantiate(compiled, imports).then((instance) => receive(instance, compiled));
      return {};
    },
  });
  return { rw: new Ropewalk(new Heap(module), build, files), module };
}

/** Runs all cases and returns their lines. `wasm` and `model` are the bytes of the benchmark's module and the peer's ONNX file. */
export async function runBenchmark({ glue, wasm, build, ort, model, cases = runCases }) {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  const lines = [];
  await cases({
    ...(await benchRuntime({ glue, wasm, build })),
    peer: onnxruntime(ort, model),
    report: (line) => lines.push(line),
  });
  return lines;
}
