// Compares ways to rotate in place in Node and prints the lines as JSON. Started by scripts/bench.mjs.
import { readFile } from "node:fs/promises";
import { benchRuntime } from "./run_benchmark.mjs";
import { runVariantCases } from "./variant_cases.mjs";

const [build, folder] = process.argv.slice(2);
const at = (name) => new URL(`../../build/${folder}/bench/${name}`, import.meta.url);
const { default: glue } = await import(at("ropewalk.mjs"));
const lines = [];
const runtime = await benchRuntime({ glue, wasm: await readFile(at("ropewalk.wasm")), build });
runVariantCases({ ...runtime, report: (line) => lines.push(line) });
console.log(JSON.stringify(lines));
