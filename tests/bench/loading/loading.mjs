// Loading a model compared with reading its file into memory, in Node: random models in several formats. Prints lines.
import { readFile } from "node:fs/promises";
import { load } from "../../../dist/index.node.js";
import { median, timed } from "../measure.mjs";
import { modelFile } from "../models/model_file.mjs";

const [build] = process.argv.slice(2);
const SHAPE = "smollm2-135m";
const TYPES = ["f16", "q8_0", "q4_0", "q4_k_m", "q5_0", "mxfp4"];
const THREADS = [1, 2];
const ROUNDS = 15;

const rw = await load({ build, threads: Math.max(...THREADS) });
const lines = [];
for (const type of TYPES) {
  const { path } = await modelFile(SHAPE, type);
  const ratios = THREADS.map(() => []);
  for (let round = -1; round < ROUNDS; round++) {
    const readMs = await timed(() => readFile(path));
    for (const [i, threads] of THREADS.entries()) {
      await rw.useThreads(threads);
      let model;
      const loadedMs = await timed(async () => (model = await rw.model(path)));
      model.dispose();
      if (round >= 0) ratios[i].push(loadedMs / readMs); // the first round warms up
    }
  }
  for (const [i, threads] of THREADS.entries())
    lines.push({
      name: `${SHAPE} ${type}, ${threads === 1 ? "one thread" : `${threads} threads`}: loading, times reading the file`,
      value: median(ratios[i]),
      unit: "×",
      target: 1.3,
      better: "less",
    });
}
console.log(JSON.stringify(lines));
process.exit(0); // helpers keep the process running
