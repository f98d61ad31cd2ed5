// The benchmark in a page. Run by scripts/bench.mjs through globalThis.runBenchmark.
import { runBenchmark } from "./contestants.mjs";

globalThis.runBenchmark = async (build, folder, modelBytes) => {
  const ort = await import("/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = "/node_modules/onnxruntime-web/dist/";
  const at = (name) => `/build/${folder}/bench/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
  return runBenchmark({ glue, wasm, build, ort, model: new Uint8Array(modelBytes) });
};
