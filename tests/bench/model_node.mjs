// Benchmarks whole models in Node and prints lines as JSON. `node tests/bench/model_node.mjs BUILD FOLDER FILE SHAPE FORMAT`.
import { open, readFile } from "node:fs/promises";
import { nodeFiles } from "../../build/package/files/node_files.js";
import { benchRuntime } from "./run_benchmark.mjs";
import { runModelCases } from "./model_cases.mjs";

const [build, folder, file, shape, format] = process.argv.slice(2);
const at = (name) => new URL(`../../build/${folder}/bench/${name}`, import.meta.url);
const { default: glue } = await import(at("ropewalk.mjs"));
const { rw, module } = await benchRuntime({
  glue,
  wasm: await readFile(at("ropewalk.wasm")),
  build,
  files: { fetch, openPath: nodeFiles },
});

async function readWhole() {
  const handle = await open(file);
  const buffer = new Uint8Array(1 << 20);
  while ((await handle.read(buffer, 0, buffer.length)).bytesRead > 0);
  await handle.close();
}

const lines = [];
await runModelCases({
  rw,
  module,
  build,
  source: file,
  readFile: readWhole,
  shape,
  format,
  report: (line) => lines.push(line),
});
console.log(JSON.stringify(lines));
