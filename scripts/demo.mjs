// Sets up what is missing, builds what has changed, and shows what the package does on real models. `npm run demo`
// Works on a bare machine: imports nothing from node_modules before it has made them.

import { join } from "node:path";
import { styleText } from "node:util";
import { build } from "./build.mjs";
import { run, runMain } from "./run.mjs";

const root = join(import.meta.dirname, "..");

const shows = [
  ["examples/rotate.mjs", "examples/configs/llama-3.1-8b.json"],
  ["examples/rotate.mjs", "examples/configs/deepseek-v3.json"],
  ["examples/extend_context.mjs", "examples/configs/qwen2.5-7b.json", "4"],
  ["examples/attention.mjs"],
  ["examples/retune.mjs"],
  ["examples/generate.mjs"],
  ["examples/long_story.mjs"],
  ["examples/small_model/evaluate.mjs", "--quick"],
];

runMain(import.meta.url, async () => {
  await build();
  for (const show of shows) {
    const command = `node ${show.join(" ")}`;
    console.log(`\n${process.stdout.hasColors?.() ? styleText("inverse", ` ${command} `) : `$ ${command}`}\n`);
    await run(process.execPath, show, { cwd: root });
  }
  console.log("\nThe same in a page, with pictures: node examples/serve.mjs");
});
