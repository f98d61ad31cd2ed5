// What caches cost within and beyond the trained length, under no scaling, NTK and YaRN, as tables of docs/kv_caches.md. Each token sees keys and
// values as its cache stores them, as if the text were read token by token:
//
//   node tests/bench/caches/lengths.mjs small           the small model, from 256 to 4,096 tokens, in minutes
//   node tests/bench/caches/lengths.mjs smollm2         SmolLM2-135M-Instruct, which `npm test -- released` fetches, up to 2,048 tokens, in a quarter
//                                                       of an hour
//   node tests/bench/caches/lengths.mjs smollm2 yarn    only under `none`, `ntk` or `yarn`

import { overridesFor } from "../../../examples/small_model/scalings.mjs";
import { TRAINED_LENGTH } from "../../../examples/small_model/texts.mjs";
import { load } from "../../../dist/index.node.js";
import { STREAMED, compareStreams, ratioOf } from "./streams.mjs";
import { STORIES, pagesOf, smallModel, smolLm2, storiesOf } from "./texts.mjs";

const SCALINGS = { none: "none", ntk: "NTK", yarn: "YaRN" };

/** A number of two digits, such as 1.6e-3. */
const shown = (value) => (value === 0 ? "0" : value < 1 ? value.toExponential(1) : value.toFixed(1));

const counted = (tokens) => tokens.toLocaleString("en");
const line = (cells) => `| ${cells.join(" | ")} |`;
const head = (titles) => `${line(titles)}\n${line(titles.map(() => "---"))}`;

const COARSE = STREAMED.slice(1);
const nameOf = ({ dtype }) => `\`${dtype}\``;
const TITLES = [
  "tokens, scaling",
  "texts",
  "perplexity, `f32`",
  ...COARSE.map((kv, i) => `${i === 0 ? "mean KL: " : ""}${nameOf(kv)}`),
  "`q4_channel` / `q4_0`",
  ...COARSE.map((kv, i) => `${i === 0 ? "99.9 %, largest: " : ""}${nameOf(kv)}`),
  ...COARSE.map((kv, i) => `${i === 0 ? "same first choice: " : ""}${nameOf(kv)}`),
];

/** A row of a measurement, `{ name, of }`, where `of` has a summary for each of STREAMED. */
function divergences({ name, of: [exact, ...others] }) {
  const meansOf = (dtype) => others[COARSE.findIndex((kv) => kv.dtype === dtype)].means;
  const { ratio, error } = ratioOf(meansOf("q4_channel"), meansOf("q4_0"));
  return line([
    name,
    exact.means.length,
    exact.perplexity.toPrecision(4),
    ...others.map(({ mean }) => shown(mean)),
    `${ratio.toPrecision(2)} ± ${error.toPrecision(1)}`,
    ...others.map(({ high, largest }) => `${shown(high)}, ${shown(largest)}`),
    ...others.map(({ same }) => `${(100 * same).toFixed(1)} %`),
  ]);
}

/** Right answers by the distance of the fact in `unit`: the bounds of a column are `from` and the next one's. */
function recall(measured, unit, from) {
  const count = (answers, i) => {
    const inside = answers.filter(({ distance }) => distance >= from[i] && distance < (from[i + 1] ?? Infinity));
    return { right: inside.filter(({ isRight }) => isRight).length, asked: inside.length };
  };
  const spans = from.map((first, i) => (from[i + 1] ? `${first} to ${from[i + 1] - 1}` : `from ${first}`));
  const rows = measured.map(({ name, of }) => [
    name,
    ...from.map((_, i) => {
      const counts = of.map(({ answers }) => count(answers, i));
      return counts[0].asked === 0 ? "" : `${counts.map(({ right }) => right).join(", ")} of ${counts[0].asked}`;
    }),
  ]);
  return [head(["tokens, scaling", ...spans.map((span) => `${span} ${unit}`)]), ...rows.map(line)].join("\n");
}

const openAll = (open) => Promise.all(STREAMED.map((kv) => open(kv)));

async function* measureSmallModel(rw, scalings) {
  for (const length of Object.keys(STORIES).map(Number)) {
    const stretch = length / TRAINED_LENGTH;
    for (const [scaling, label] of scalings) {
      if (stretch === 1 && scaling !== "none") continue; // the factor is 1
      const rope = overridesFor(scaling, length);
      const models = await openAll((kv) => rw.model(smallModel, { kv, contextLength: length, rope }));
      const [of] = await compareStreams(models, await storiesOf(models[0], length), [length]);
      yield { name: `${counted(length)}, ${label}${scaling === "none" ? "" : ` × ${stretch}`}`, of };
      for (const model of models) model.dispose();
    }
  }
}

async function* measureSmolLm2(rw, scalings) {
  const ends = [512, 2048];
  for (const [scaling, label] of scalings) {
    const rope_scaling = {
      none: null,
      ntk: { rope_type: "ntk", factor: 4 },
      yarn: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 8192 },
    }[scaling];
    const rope = { rope_scaling: rope_scaling && { ...rope_scaling, replace: true } };
    const models = await openAll((kv) => rw.model(smolLm2(), { kv, contextLength: ends.at(-1), rope }));
    const parts = await compareStreams(models, await pagesOf(models[0]), ends);
    const factor = scaling === "none" ? "" : " × 4";
    for (const [i, of] of parts.entries())
      yield { name: `${counted(ends[i - 1] ?? 0)} to ${counted(ends[i])}, ${label}${factor}`, of };
    for (const model of models) model.dispose();
  }
}

const [which = "small", only] = process.argv.slice(2);
const scalings = Object.entries(SCALINGS).filter(([scaling]) => (only ?? scaling) === scaling);
if (scalings.length === 0) throw new Error(`${only} isn't one of ${Object.keys(SCALINGS).join(", ")}`);
const rw = await load({ threads: 1 });
const measured = [];
console.log(head(TITLES));
for await (const each of which === "small" ? measureSmallModel(rw, scalings) : measureSmolLm2(rw, scalings)) {
  measured.push(each);
  console.log(divergences(each));
}
console.log(`\nFacts found with ${STREAMED.map(nameOf).join(", ")}:\n`);
console.log(which === "small" ? recall(measured, "words", [0, 256, 1024]) : recall(measured, "tokens", [0, 512]));
