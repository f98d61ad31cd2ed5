// What `npm run bench -- models` prints: goals, and the table of docs/whole_models.md.
import { readFile, writeFile } from "node:fs/promises";
import { median } from "../measure.mjs";
import { SHAPES } from "../random_model/shapes.mjs";
import { LENGTHS, MEASURES, PROMPT, rateOf, speedOver } from "./race.mjs";

const DECODE_TARGETS = { q8_0: 0.55, q4_0: 0.3, q4_k_m: 0.3, tq2_0: 0.3, mxfp4: 0.3, iq4_xs: 0.3 };
const PROMPT_TARGETS = { q8_0: 0.45, q4_0: 0.4, q1_0: 0.45, q2_0: 0.45 };
// Reading so few bits takes less time than multiplying.
const PEAK_TARGETS = { q1_0: 0.4, q2_0: 0.4 };
// llama.cpp's wasm build has no SIMD kernels for these.
const LLAMA_TARGETS = { q1_0: 8, q2_0: 8, tq2_0: 3, mxfp4: 3, iq4_xs: 3 };
/** For shapes with recurrent layers: llama.cpp's wasm, a prompt against its tokens one by one, and a token after both lengths. */
const RECURRENT_TARGETS = { llama: 1.5, prompt: 5, lengths: 1.05 };
const MB = 2 ** 20;

/** Lines with goals for the package with one thread, as scripts/bench.mjs prints them. */
export function goalsOf({ shape, type, results }) {
  const lines = [];
  for (const result of results.filter(({ facts, threads }) => facts.loading !== undefined && threads === 1)) {
    const { build, facts } = result;
    const limits = results.find(({ name }) => name === `limits, ${build}`);
    const line = (what, value, unit, target, better) =>
      lines.push({
        name: `${shape} ${type}, ${build}: ${what}`,
        value,
        unit,
        ...(target !== undefined && { target }),
        ...(better && { better }),
      });
    const early = MEASURES.early;
    const recurrent = SHAPES[shape].kernel === undefined ? {} : RECURRENT_TARGETS;
    line("loading, time relative to reading the file", facts.loading / facts.reading, "×", 1.3, "less");
    line("memory beyond weights and cache", facts.overhead / MB, "MB", 64, "less");
    line(`${early}, share of the speed of reading`, speedOver(result, limits, "early"), "×", DECODE_TARGETS[type]);
    if (PEAK_TARGETS[type] !== undefined) {
      const perProduct = median(limits.samples.prompt) / PROMPT / facts.products;
      const atPeak = (perProduct * (facts.products + facts.head)) / median(result.samples.early);
      line(`${early}, share of the peak`, atPeak, "×", PEAK_TARGETS[type]);
    }
    const llama = results.find(({ name, threads }) => name.startsWith("llama.cpp wasm") && threads === 1);
    if (llama) {
      const target = recurrent.llama ?? LLAMA_TARGETS[type];
      line(`${early}, times llama.cpp's wasm`, speedOver(result, llama, "early"), "×", target);
      if (llama.samples.prompt)
        line(`${MEASURES.prompt}, times llama.cpp's wasm`, speedOver(result, llama, "prompt"), "×", recurrent.llama);
    }
    line(`${MEASURES.prompt}, share of the peak`, speedOver(result, limits, "prompt"), "×", PROMPT_TARGETS[type]);
    const slowdown = (key) => rateOf(result, key) / rateOf(result, "early");
    line(`${MEASURES.late}, speed relative to ${early}`, slowdown("late"), "×", 0.85);
    if (recurrent.prompt) line(`${MEASURES.prompt}, times token by token`, slowdown("prompt"), "×", recurrent.prompt);
    if (result.lengths) {
      const [short, long] = LENGTHS;
      const ratio = median(result.lengths.map(([early, late]) => late / early));
      line(`a token after ${long}, time relative to after ${short}`, ratio, "×", recurrent.lengths, "less");
    }
    if (result.samples.deep) line(`${MEASURES.deep}, speed relative to ${early}`, slowdown("deep"), "×", 0.4);
  }
  return lines;
}

const shown = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** A table in Markdown: tokens per second, and in parentheses how many times as fast as the first row. */
export function tableOf(results) {
  const keys = Object.keys(MEASURES).filter((key) => results[0].samples[key]);
  const rows = results.map((result) => {
    const cells = keys.map((key) => {
      if (result.samples[key] === undefined) return "";
      const rate = shown(rateOf(result, key));
      return result === results[0] ? rate : `${rate} (${speedOver(result, results[0], key).toFixed(2)}×)`;
    });
    return [nameOf(result.name), ...cells];
  });
  const lines = [["tokens/s", ...keys.map((key) => MEASURES[key])], keys.concat("").map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const nameOf = (name) => {
  const [, build] = /^limits, (\w+)$/.exec(name) ?? [];
  return build === undefined ? name : `_limit, ${build}: integer peak; reading the weights_`;
};

/** All tables of a run, with the machine it ran on. */
export const textOf = (machine, files) =>
  [machine, ...files.flatMap(({ shape, type, results }) => [`**${shape}, ${type}**`, tableOf(results)])].join("\n\n");

/** Replaces what is between `<!-- name -->` and `<!-- /name -->` in a file. */
export async function writeBetween(path, name, text) {
  const page = await readFile(path, "utf8");
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path}: has no ${start} … ${end}`);
  await writeFile(path, `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`);
}
