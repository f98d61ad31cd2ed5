// Compares the searched scalings of the small model with others on stories that nothing was searched, trained or evaluated on.
//
//   node examples/small_model/check_searched.mjs     half a minute; writes results/searched.md
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { load } from "ropewalk";
import { lossesOf } from "./measures.mjs";
import { overridesFor, scalings, searchedFor } from "./scalings.mjs";
import { table } from "./tables.mjs";
import { textOf, TRAINED_LENGTH } from "./texts.mjs";

const SEED = 6_500_000;
/** Lengths, and numbers of stories with questions about facts at all distances. */
const STORIES = [
  [1024, 32],
  [4096, 6],
];
/** Stories of the trained length, to see what short texts pay. */
const SHORT = 16;
const COMPARED = ["none", "ntk", "yarn", "dynamic_yarn"];

const rw = await load({ build: "simd" });
const model = await rw.model(import.meta.dirname, { contextLength: 4096, kv: { dtype: "f32" } });

/** Mean losses of all tokens and of answers. */
async function measured(rope, length, count, near) {
  const under = {
    tokenizer: model.tokenizer,
    perplexity: (ids, options) => model.perplexity(ids, { ...options, rope }),
  };
  const [all, answers] = [[], []];
  for (let i = 0; i < count; i++) {
    const text = textOf({ seed: SEED + i, length, near });
    const losses = await lossesOf(under, text);
    all.push(...losses.slice(1));
    answers.push(...text.questions.map(({ at }) => losses[at]));
  }
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return { all: mean(all), answers: mean(answers), count: answers.length };
}

const parts = [];
for (const [length, count] of STORIES) {
  const rows = [];
  let asked;
  const named = [
    ["searched", searchedFor(length)],
    ...COMPARED.map((name) => [scalings[name].label, overridesFor(name, length)]),
  ];
  for (const [label, rope] of named) {
    const long = await measured(rope, length, count, false);
    const short = await measured(rope, TRAINED_LENGTH, SHORT, true);
    asked = long.count;
    rows.push([label, long.answers.toFixed(3), long.all.toFixed(3), short.all.toFixed(3)]);
  }
  const columns = [`answers (${asked})`, "all tokens", `all tokens of stories of ${TRAINED_LENGTH}`];
  parts.push(`${count} stories of ${length} tokens, mean loss in nats:`, table("", columns, rows));
}
model.dispose();
const text = `${parts.join("\n\n")}\n`;
console.log(text);
await writeFile(join(import.meta.dirname, "results", "searched.md"), text);
