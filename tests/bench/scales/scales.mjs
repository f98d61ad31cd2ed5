// The speed of models with small weights, whose scales are subnormal in f16, compared with the same models with larger weights: a processor
// takes long to multiply subnormal numbers, so kernels must not (panel_exponent.h). Prints lines.
import { load } from "../../../dist/index.node.js";
import { median } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const [build] = process.argv.slice(2);
const MODELS = [
  ["smollm2-135m", "q8_0"],
  ["qwen3-0.6b", "q4_k_m"],
];
const SMALL = 0.002;
const LARGE = 0.5;
const ROUNDS = 9;
const TOKENS = 32;

const rw = await load({ build, threads: 1 });
const lines = [];
for (const [shape, type] of MODELS) {
  const open = async (deviation) => rw.model((await modelFile(shape, type, deviation)).path, { contextLength: 512 });
  const [small, large] = [await open(SMALL), await open(LARGE)];
  const ratios = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const ratio = (await timeOf(large)) / (await timeOf(small));
    if (round > 0) ratios.push(ratio); // the first is a warm-up
  }
  const name = `${shape} ${type}, standard deviation of ${SMALL}: tokens a second, times ${LARGE}`;
  lines.push({ name, value: median(ratios), unit: "×", target: 0.95, better: "more" });
  for (const model of [small, large]) model.dispose();
}
console.log(JSON.stringify(lines));

/** Milliseconds of TOKENS tokens after the first. */
async function timeOf(model) {
  let start;
  const options = { temperature: 0, maxTokens: TOKENS + 1, ignoreEnd: true };
  for await (const { token } of model.generate([300, 400, 500], options)) {
    if (token >= 0) start ??= performance.now();
  }
  return performance.now() - start;
}
