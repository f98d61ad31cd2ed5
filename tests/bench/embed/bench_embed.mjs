// `npm run bench -- embed`: short texts by BERTs in Chromium, compared with onnxruntime-web's wasm, which transformers.js runs.
// tests/bench/peers/export_bert.py writes the models.
//
//   --models NAME,...    default: all that were exported (minilm_l6, bge_small, minilm)
//   --weights f32,int8   int8 is q8_0 here, and onnxruntime's dynamic quantization there
//   --batches 1,8,64     texts in a call
//   --rounds N           default 15
//   --threads 1,2        threads of both
import { existsSync } from "node:fs";
import { join } from "node:path";
import { median } from "../measure.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const FOLDER = join("build", "peers", "bert");
const TITLES = { minilm_l6: "MiniLM-L6's shape", bge_small: "bge-small's shape", minilm: "all-MiniLM-L6-v2" };
const TARGET = 1.5;
/** The lowest cosine of the package's vectors: in f32 with the peer's, in int8 with its own in f32. */
const MIN_COSINE = { f32: 0.99999, int8: 0.99 };

/** Measures all with each kind of weights and number of threads, round by round. Returns lines with goals. */
export async function benchEmbed(inPage, args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
  const list = (name, otherwise) => option(name, otherwise).split(",");
  const exported = Object.keys(TITLES).filter((name) => existsSync(join(root, FOLDER, name, "model_int8.onnx")));
  if (exported.length === 0) throw new Error("no model to embed with: run python tests/bench/peers/export_bert.py");
  const rounds = Number(option("--rounds", 15));
  const batches = list("--batches", "1,8,64").map(Number);
  return inPage("embed/index.html", async (page, origin) => {
    const lines = [];
    for (const model of list("--models", exported.join(","))) {
      for (const weights of list("--weights", "int8,f32")) {
        for (const threads of list("--threads", "1,2").map(Number)) {
          const source = `${origin}/${FOLDER}/${model}/`;
          lines.push(...(await race(page, source, { model, weights, threads, batches, rounds })));
        }
      }
    }
    return lines;
  });
}

/** The contender whose vectors the others are compared with. */
const REFERENCE = "in f32";

async function race(page, source, { model, weights, threads, batches, rounds }) {
  const call = (...command) => page.evaluate((...command) => globalThis.callContender(...command), ...command);
  const contenders = [
    { name: "relaxed", worker: "../embed/ropewalk_worker.mjs", build: "relaxed" },
    { name: "simd", worker: "../embed/ropewalk_worker.mjs", build: "simd" },
    { name: "onnxruntime-web", worker: "../embed/onnxruntime_worker.mjs" },
  ];
  const open = ({ name, worker, build }, weights) =>
    page.evaluate((...args) => globalThis.openContender(...args), name, worker, source, {
      threads,
      weights,
      ...(build && { build }),
    });
  const close = (name) => page.evaluate((name) => globalThis.closeContender(name), name);
  const samples = Object.fromEntries(batches.map((batch) => [batch, {}]));
  const cosines = {};
  try {
    for (const contender of contenders) {
      const { name } = contender;
      await open(contender, weights);
      for (const batch of batches) samples[batch][name] = [];
    }
    for (let round = -1; round < rounds; round++) {
      for (const batch of batches) {
        for (const { name } of contenders) {
          const ms = await call(name, "embed", batch);
          if (round >= 0) samples[batch][name].push(ms); // the first is a warm-up
        }
      }
    }
    const reference = { ...contenders[weights === "f32" ? 2 : 0], name: REFERENCE };
    await open(reference, "f32");
    await call(REFERENCE, "embed", batches.at(-1));
    for (const { name } of contenders) cosines[name] = await page.evaluate(leastCosine, name, REFERENCE);
    if (!(cosines.relaxed >= MIN_COSINE[weights]))
      throw new Error(`${TITLES[model]}, ${weights}: the vectors differ, cosine ${cosines.relaxed}`);
  } finally {
    for (const name of [...contenders.map((each) => each.name), REFERENCE]) await close(name);
  }
  return batches.flatMap((batch) => {
    const title = `${TITLES[model]}, ${weights}, ${threads}T, ${batch} ${batch === 1 ? "text" : "texts"}`;
    const theirs = samples[batch]["onnxruntime-web"];
    const ratios = ["relaxed", "simd"].map((build) => ({
      name: `${title}, ${build}: times onnxruntime-web`,
      value: median(samples[batch][build].map((ms, round) => theirs[round] / ms)),
      unit: "×",
      target: TARGET,
    }));
    const times = Object.entries(samples[batch]).map(([name, ms]) => ({
      name: `${title}, ${name}`,
      value: median(ms),
      unit: "ms/call",
    }));
    const least = Object.entries(cosines).map(([name, cosine]) => ({
      name: `${title}, ${name}: least cosine with f32`,
      value: cosine,
      unit: "",
    }));
    return [...ratios, ...times, ...(weights === "int8" && batch === batches.at(-1) ? least : [])];
  });
}

/** In the page: the lowest cosine between two contenders' vectors of a text. */
async function leastCosine(...names) {
  const [ours, theirs] = await Promise.all(names.map((name) => globalThis.callContender(name, "vectors")));
  return Math.min(...ours.map((vector, i) => vector.reduce((sum, x, j) => sum + x * theirs[i][j], 0)));
}
