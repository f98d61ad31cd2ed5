// `npm run demo`: installs what is missing, builds the wasm that this Node loads, and runs the examples on real models. `--verbose` shows the
// build.

import { join } from "node:path";
import { styleText } from "node:util";
import { build } from "./build.mjs";
import { hasRelaxedSimd } from "./relaxed_flags.mjs";
import { run, runMain } from "./run.mjs";

const root = join(import.meta.dirname, "..");

const examples = [
  ["examples/rotate.mjs", "examples/configs/llama-3.1-8b.json"],
  ["examples/rotate.mjs", "examples/configs/deepseek-v3.json"],
  ["examples/extend_context.mjs", "examples/configs/qwen2.5-7b.json", "4"],
  ["examples/attention.mjs"],
  ["examples/retune.mjs"],
  ["examples/generate.mjs"],
  ["examples/long_story.mjs"],
  ["examples/small_model/evaluate.mjs", "--quick"],
];

await runMain(import.meta.url, async () => {
  await build({ only: hasRelaxedSimd() ? "relaxed" : "simd" });
  for (const example of examples) {
    const command = `node ${example.join(" ")}`;
    console.log(`\n${process.stdout.hasColors?.() ? styleText("inverse", ` ${command} `) : `$ ${command}`}\n`);
    await run(process.execPath, example, { cwd: root });
  }
  console.log("\nTo see it in pages, with charts you can drag: npm run site -- --serve");
});
