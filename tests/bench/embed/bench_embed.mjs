// `npm run bench -- embed`: 256 short texts by a BERT with 33 million random weights in Chromium, compared with onnxruntime-web's wasm, which
// transformers.js runs. tests/bench/peers/export_bert.py writes the model.
//
//   --rounds N       default 7
//   --threads 1,2    threads of both
import { existsSync } from "node:fs";
import { join } from "node:path";
import { median } from "../measure.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const FOLDER = join("build", "peers", "bert33");
const TARGETS = { 1: 1.5, 2: 1 };
/** The lowest cosine between both vectors of a text. int8 rounds weights and activations in different blocks. */
const MIN_COSINE = { f32: 0.99999, int8: 0.99 };

/** Measures both with each kind of weights and number of threads, round by round. Returns lines with goals. */
export async function benchEmbed(inPage, args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
  const rounds = Number(option("--rounds", 7));
  const threads = option("--threads", "1,2").split(",").map(Number);
  if (!existsSync(join(root, FOLDER, "model_int8.onnx")))
    throw new Error("no model to embed with: run python tests/bench/peers/export_bert.py");
  return inPage("embed/index.html", async (page, origin) => {
    const lines = [];
    for (const count of threads) {
      for (const weights of ["f32", "int8"])
        lines.push(...(await race(page, `${origin}/${FOLDER}/`, { threads: count, weights, rounds })));
    }
    return lines;
  });
}

async function race(page, source, { threads, weights, rounds }) {
  const call = (...command) => page.evaluate((...command) => globalThis.callContender(...command), ...command);
  const contenders = [
    { name: "relaxed", worker: "../embed/ropewalk_worker.mjs", build: "relaxed" },
    { name: "simd", worker: "../embed/ropewalk_worker.mjs", build: "simd" },
    { name: "onnxruntime-web", worker: "../embed/onnxruntime_worker.mjs" },
  ];
  const samples = {};
  try {
    for (const { name, worker, build } of contenders) {
      const options = { threads, weights, ...(build && { build }) };
      await page.evaluate((...args) => globalThis.openContender(...args), name, worker, source, options);
      await call(name, "embed"); // warm-up
      samples[name] = [];
    }
    for (let round = 0; round < rounds; round++)
      for (const { name } of contenders) samples[name].push(await call(name, "embed"));
    const cosine = await page.evaluate(leastCosine, "relaxed", "onnxruntime-web");
    if (!(cosine >= MIN_COSINE[weights])) throw new Error(`${weights}: the vectors differ, cosine ${cosine}`);
  } finally {
    for (const { name } of contenders) await page.evaluate((name) => globalThis.closeContender(name), name);
  }
  const title = `${weights}, ${threads} ${threads === 1 ? "thread" : "threads"}`;
  const theirs = samples["onnxruntime-web"];
  const ours = ["relaxed", "simd"].map((build) => ({
    name: `256 texts, ${title}, ${build}: times onnxruntime-web`,
    value: median(samples[build].map((ms, round) => theirs[round] / ms)),
    unit: "×",
    target: TARGETS[threads],
  }));
  const times = Object.entries(samples).map(([name, ms]) => ({
    name: `256 texts, ${title}, ${name}`,
    value: median(ms),
    unit: "ms",
  }));
  return [...ours, ...times];
}

/** In the page: the lowest cosine between two contenders' vectors of a text. */
async function leastCosine(...names) {
  const [ours, theirs] = await Promise.all(names.map((name) => globalThis.callContender(name, "vectors")));
  return Math.min(...ours.map((vector, i) => vector.reduce((sum, x, j) => sum + x * theirs[i][j], 0)));
}
