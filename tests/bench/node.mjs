// Runs the benchmark in Node and prints its lines as JSON. Started by scripts/bench.mjs.
import { readFile } from "node:fs/promises";
import * as ort from "onnxruntime-web";
import { oneNodeModel } from "../../examples/onnx_model.mjs";
import { runBenchmark } from "./run_benchmark.mjs";
import { ROTARY_NODE } from "./peer.mjs";

const [build] = process.argv.slice(2);
const at = (name) => new URL(`../../build/wasm/bench/${build}/${name}`, import.meta.url);
const { default: glue } = await import(at("ropewalk.mjs"));
const lines = await runBenchmark({
  glue,
  wasm: await readFile(at("ropewalk.wasm")),
  build,
  ort,
  model: oneNodeModel(ROTARY_NODE),
});
console.log(JSON.stringify(lines));
