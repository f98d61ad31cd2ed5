// Runs cases that need only the benchmark's module in Node, and prints the lines as JSON. Started by scripts/bench.mjs.
import { readFile } from "node:fs/promises";
import { benchRuntime } from "./run_benchmark.mjs";

const [build, cases] = process.argv.slice(2);
const { runCases } = await import(new URL(cases, import.meta.url));
const at = (name) => new URL(`../../build/wasm/bench/${build}/${name}`, import.meta.url);
const { default: glue } = await import(at("ropewalk.mjs"));
const lines = [];
const runtime = await benchRuntime({ glue, wasm: await readFile(at("ropewalk.wasm")), build });
runCases({ ...runtime, report: (line) => lines.push(line) });
console.log(JSON.stringify(lines));
