// Runs the benchmark in a page. scripts/bench.mjs calls globalThis.runBenchmark.
import { benchRuntime, runBenchmark } from "./run_benchmark.mjs";

globalThis.runBenchmark = async (build, modelBytes) => {
  const ort = await import("/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = "/node_modules/onnxruntime-web/dist/";
  const at = (name) => `/build/wasm/bench/${build}/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
  return runBenchmark({ glue, wasm, build, ort, model: new Uint8Array(modelBytes) });
};

/** Runs a file of cases that need only the module. */
globalThis.runCasesOf = async (cases, build) => {
  const { runCases } = await import(cases);
  const at = (name) => `/build/wasm/bench/${build}/${name}`;
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
  const lines = [];
  runCases({ ...(await benchRuntime({ glue, wasm, build })), report: (line) => lines.push(line) });
  return lines;
};

globalThis.isReady = true;
