// Runs the benchmark in a page. scripts/bench.mjs calls globalThis.runBenchmark.
import { benchRuntime, runBenchmark } from "./run_benchmark.mjs";
import { runVariantCases } from "./variant_cases.mjs";
import { measureWllama, runModelCases } from "./model_cases.mjs";

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

/** Benchmarks a model at a URL. With `withPeer`, measures wllama first, while the page holds no other model. */
globalThis.runModelBenchmark = async (build, folder, source, shape, format, withPeer) => {
  const at = (name) => `/build/${folder}/bench/${name}`;
  let peer;
  if (withPeer) {
    const { Wllama } = await import("/node_modules/@wllama/wllama/esm/index.js");
    peer = await measureWllama({
      Wllama,
      wasm: "/node_modules/@wllama/wllama/esm/wasm/wllama.wasm",
      blob: await (await fetch(source)).blob(),
    });
  }
  const { default: glue } = await import(at("ropewalk.mjs"));
  const wasm = await (await fetch(at("ropewalk.wasm"))).arrayBuffer();
  const { rw, module } = await benchRuntime({ glue, wasm, build });
  const readFile = async () => {
    for await (const _ of (await fetch(source, { cache: "no-store" })).body);
  };
  const lines = [];
  if (peer) {
    lines.push({ name: `${shape} ${format}: wllama, one token after 16`, value: peer.decode, unit: "tokens/s" });
    lines.push({ name: `${shape} ${format}: wllama, prompt of 512`, value: peer.prompt, unit: "tokens/s" });
  }
  await runModelCases({ rw, module, build, source, readFile, shape, format, peer, report: (line) => lines.push(line) });
  return lines;
};
