// Runs the benchmark in a page. scripts/bench.mjs calls globalThis.runBenchmark.
import { benchRuntime, runBenchmark } from "./run_benchmark.mjs";
import { runVariantCases } from "./variant_cases.mjs";

globalThis.runBenchmark = async (build, folder, modelBytes) => {
  const ort = await import("/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = "/node_modules/onnxruntime-web/dist/";
  const at = (name) => `/build/${folder}/bench/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
  return runBenchmark({ glue, wasm, build, ort, model: new Uint8Array(modelBytes) });
};

/** Compares ways to rotate in place. */
globalThis.runVariants = async (build, folder) => {
  const at = (name) => `/build/${folder}/bench/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
  const lines = [];
  runVariantCases({ ...(await benchRuntime({ glue, wasm, build })), report: (line) => lines.push(line) });
  return lines;
};

globalThis.isReady = true;
