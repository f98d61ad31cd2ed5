// What caches cost within and beyond the trained length, under no scaling, NTK and YaRN, as tables of docs/kv_caches.md. Texts are read token by
// token, so that each token sees keys and values as its cache stores them:
//
//   node tests/bench/caches/lengths.mjs small      the small model, from 256 to 4,096 tokens, in minutes
//   node tests/bench/caches/lengths.mjs smollm2    SmolLM2-135M-Instruct, which `npm test -- released` fetches, up to 2,048 tokens, in an hour

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { overridesFor } from "../../../examples/small_model/scalings.mjs";
import { TRAINED_LENGTH, textOf, tokensOf } from "../../../examples/small_model/texts.mjs";
import { load } from "../../../dist/index.node.js";
import { releasedFolders } from "../../../scripts/setup/released.mjs";
import { STREAMED, compareStreams } from "./streams.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const SCALINGS = { none: "none", ntk: "NTK", yarn: "YaRN" };

/** A number of two digits, such as 1.6e-3. */
const shown = (value) => (value === 0 ? "0" : value < 1 ? value.toExponential(1) : value.toFixed(1));

const line = (cells) => `| ${cells.join(" | ")} |`;
const head = (titles) => `${line(titles)}\n${line(titles.map(() => "---"))}`;

const COARSE = STREAMED.slice(1);
const TITLES = ["tokens, scaling", "perplexity, `f32`"];
for (const { dtype } of COARSE) TITLES.push(`\`${dtype}\``, "mean KL", "99.9 %", "largest", "same first choice");

/** A row of a measurement, `{ name, of }`, where `of` has a summary for each of STREAMED. */
function divergences({ name, of: [exact, ...others] }) {
  return line([
    name,
    exact.perplexity.toPrecision(4),
    ...others.flatMap(({ perplexity, mean, high, largest, same }) => [
      perplexity.toPrecision(4),
      ...[mean, high, largest].map(shown),
      `${(100 * same).toFixed(1)} %`,
    ]),
  ]);
}

/** Right answers by the distance of the fact in words: the bounds of a column are `from` and the next one's. */
function recall(measured, from) {
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
  return [head(["tokens, scaling", ...spans.map((span) => `${span} words`)]), ...rows.map(line)].join("\n");
}

const openAll = (open) => Promise.all(STREAMED.map((kv) => open(kv)));

async function* measureSmallModel(rw) {
  for (const [stretch, texts] of [
    [1, 8],
    [2, 4],
    [4, 3],
    [8, 2],
    [16, 1],
  ]) {
    for (const [scaling, label] of Object.entries(SCALINGS)) {
      if (stretch === 1 && scaling !== "none") continue; // the factor is 1
      const length = stretch * TRAINED_LENGTH;
      const models = await openAll((kv) =>
        rw.model(join(root, "examples", "small_model"), {
          kv,
          contextLength: length,
          rope: overridesFor(scaling, length),
        }),
      );
      const read = [];
      for (let seed = 0; seed < texts; seed++) {
        const text = textOf({ seed: 1000 * stretch + seed, length, near: false });
        read.push({ tokens: await tokensOf(models[0], text), questions: text.questions });
      }
      const [of] = await compareStreams(models, read, [length]);
      const name = stretch === 1 ? `${length}` : `${length}, ${label} × ${scaling === "none" ? 1 : stretch}`;
      yield { name, of };
      for (const model of models) model.dispose();
    }
  }
}

async function* measureSmolLm2(rw) {
  const ends = [1024, 2048];
  const pages = ["rope_and_yarn_from_zero"];
  const sources = await Promise.all(pages.map((page) => readFile(join(root, "docs", `${page}.md`), "utf8")));
  for (const [scaling, label] of Object.entries(SCALINGS)) {
    const rope_scaling = {
      none: null,
      ntk: { rope_type: "ntk", factor: 2 },
      yarn: { rope_type: "yarn", factor: 2, original_max_position_embeddings: 8192 },
    }[scaling];
    const models = await openAll((kv) =>
      rw.model(join(releasedFolders().smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf"), {
        kv,
        contextLength: ends.at(-1),
        rope: { rope_scaling: rope_scaling && { ...rope_scaling, replace: true } },
      }),
    );
    const read = await Promise.all(
      sources.map(async (source) => ({
        tokens: (await models[0].tokenizer.encode(source)).slice(0, ends.at(-1)),
        questions: [],
      })),
    );
    const parts = await compareStreams(models, read, ends);
    const factor = scaling === "none" ? "" : " × 2";
    for (const [i, of] of parts.entries()) yield { name: `${ends[i - 1] ?? 0} to ${ends[i]}, ${label}${factor}`, of };
    for (const model of models) model.dispose();
  }
}

const [which = "small"] = process.argv.slice(2);
const rw = await load({ threads: 1 });
const measured = [];
console.log(head(TITLES));
for await (const each of which === "small" ? measureSmallModel(rw) : measureSmolLm2(rw)) {
  measured.push(each);
  console.log(divergences(each));
}
if (which === "small") {
  console.log(`\nFacts found with ${STREAMED.map(({ dtype }) => `\`${dtype}\``).join(", ")}:\n`);
  console.log(recall(measured, [0, 256, 1024]));
}
