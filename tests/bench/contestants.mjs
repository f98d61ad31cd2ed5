// Brings the package up on the benchmark's own module, the same way in Node and in a page.
import { Heap } from "../../build/package/heap.js";
import { Ropewalk } from "../../build/package/runtime.js";
import { runCases } from "./cases.mjs";
import { onnxruntime } from "./peer.mjs";

/** The package on the benchmark's module: `{ rw, module }`. `wasm`: its bytes; `files`: how to get at model files, where they are needed. */
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

/** Runs every case and returns its lines. `wasm`: the bytes of the benchmark's module, `model`: those of the peer's ONNX file. */
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
