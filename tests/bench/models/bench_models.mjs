// `npm run bench -- models`: whole models in Chromium, with llama.cpp natively and in wasm if build/peers/ has it.
//
//   --files smollm2-135m.q8_0,…    shapes and types to measure
//   --rounds N                     default 2
//   --threads N                    of the contenders with several. Default 2; with 1 there are none
//   --write                        writes the tables to docs/whole_models.md
import { cpus } from "node:os";
import { join } from "node:path";
import { SHAPES } from "../random_model/shapes.mjs";
import { modelFile } from "./model_file.mjs";
import { fastestPeers, raceModel } from "./race.mjs";
import { goalsOf, textOf, writeBetween } from "./report.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const FILES = "smollm2-135m.q8_0,smollm2-135m.q4_0,smollm2-135m.q4_k_m,qwen2.5-0.5b.q4_k_m";
/** Attention over many tokens takes the same time with all weights, and reading them takes long. */
const DEEP_TYPES = ["q8_0"];
/** For these, llama.cpp in wasm has no SIMD kernels. */
const HARD_TYPES = ["q1_0", "q2_0", "tq2_0", "mxfp4", "iq4_xs"];

/** Whether no layer has attention, so that a token should cost the same after any length. */
const isRecurrent = (shape) => SHAPES[shape].heads === undefined;

/** Measures the files. `inPage(name, use)` opens a page. Prints the tables. Returns lines with goals, and the results of each file. */
export async function benchModels(inPage, args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
  const settings = {
    rounds: Number(option("--rounds", 2)),
    threads: Number(option("--threads", 2)),
    report: (text) => process.stderr.write(`  ${text}\n`),
  };
  const wanted = option("--files", FILES).split(",");
  const files = [];
  const chromium = await inPage("models/index.html", async (page, origin) => {
    const served = async (shape, type) => {
      const { path, address } = await modelFile(shape, type);
      const isDeep = DEEP_TYPES.includes(type) && !isRecurrent(shape);
      return { path, address: origin + address, isDeep, isHard: HARD_TYPES.includes(type), isLong: isRecurrent(shape) };
    };
    const peers = await fastestPeers(page, await served("smollm2-135m", "q8_0"), settings.report);
    for (const name of wanted) {
      const [, shape, type] = /^(.*)\.(\w+)$/.exec(name);
      settings.report(name);
      files.push({ shape, type, results: await raceModel(page, await served(shape, type), peers, settings) });
    }
    return page.browser().version();
  });
  const date = new Date().toLocaleDateString("en", { year: "numeric", month: "long", day: "numeric" });
  const processor = `${cpus().length} cores of ${cpus()[0]?.model.trim() ?? "an unknown processor"}`;
  const text = textOf(`On ${processor}, ${chromium.replace("HeadlessChrome/", "Chromium ")}, ${date}:`, files);
  console.log(`\n${text}`);
  if (args.includes("--write")) await writeBetween(join(root, "docs", "whole_models.md"), "models", text);
  return { lines: files.flatMap(goalsOf), files };
}
