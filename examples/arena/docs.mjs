// Writes the tables of docs/results.md and docs/long_context.md, the pictures beside the recorded cells, and what the Doctor knows of them:
//
//   node examples/arena/docs.mjs
//
// Each `<!-- arena NAME -->` is followed by the tables of that model, or by those that it lists: `<!-- arena small loss short -->`. Each
// `<!-- arena cost -->` is followed by what methods and caches cost.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mean, table } from "../small_model/tables.mjs";
import { Cells } from "./cells.mjs";
import { methods } from "./methods.mjs";
import { known } from "./models.mjs";
import { markdownOf, picturesOf } from "./report.mjs";
import { bySeed, measuredOf, ofSharedSeeds, present } from "./summary.mjs";
import { isMain } from "../is_main.mjs";

export const RESULTS = join(import.meta.dirname, "results");
/** Methods without training that fine-tunes are shown beside. */
const COMPARED = ["none", "yarn", "searched", "rerope"];
const root = join(import.meta.dirname, "..", "..");
export const PAGES = ["results.md", "long_context.md"].map((name) => join(root, "docs", name));
export const DOCTOR = join(root, "web", "src", "apps", "doctor", "past_window_measured.ts");

const isFineTuned = ({ method }) => methods[method].weights !== undefined;

/** What tables say of a model that was measured, without its files. `has`: which of its cells, if not all. */
const entries = {
  small: { ...known.small, name: "small", trained: 256, inside: 1, has: (cell) => !isFineTuned(cell) },
  small_tuned: {
    ...known["small-tuned"],
    inside: 1,
    has: (cell) =>
      (isFineTuned(cell) || COMPARED.includes(cell.method)) && known["small-tuned"].plan.tasks.includes(cell.task),
  },
  smollm2: { ...known.smollm2, name: "smollm2", trained: 8192, weights: { [known.smollm2.format]: {} } },
};

const shownOf = (cells, { has = () => true }) => cells.filter(has);

/** The page with its generated parts. */
export function pageWith(page, cells, cost) {
  return page.replace(/(<!-- arena (\w+)((?: \w+)*) -->\n)[^]*?(<!-- \/arena -->)/g, (_, begin, name, list, end) => {
    const keys = list === "" ? undefined : list.trim().split(" ");
    const text = name === "cost" ? costTable(cost) : markdownOf(shownOf(cells, entries[name]), entries[name], keys);
    return `${begin}\n${text}\n\n${end}`;
  });
}

/** What the Doctor says of a length: shares of needles found without a scaling, under YaRN, and under the best method. */
export function doctorTable(cells) {
  const measured = ofSharedSeeds(
    measuredOf(cells, "small").filter(
      ({ weights, cache, task }) => weights === "f16" && cache === "f16" && task === "multi_key",
    ),
  );
  const share = (method, multiple) => mean(bySeed(measured, { method, multiple }, "share"));
  const lines = present(measured, "multiple")
    .filter((multiple) => multiple > 1)
    .map((multiple) => {
      const found = ["none", "yarn", "rerope"].map((method) => `${method}: ${rounded(share(method, multiple))}`);
      return `  { multiple: ${multiple}, ${found.join(", ")} },`;
    });
  return `// Written by \`node examples/arena/docs.mjs\`: shares of needles that the small model finds without training, by length as a multiple of the trained one.
/** Shares of facts found at a multiple of the trained length: without a scaling, under YaRN, and under ReRoPE. */
export interface Measured {
  readonly multiple: number;
  readonly none: number;
  readonly yarn: number;
  readonly rerope: number;
}

export const MEASURED: readonly Measured[] = [
${lines.join("\n")}
];
`;
}

const rounded = (share) => Number(share.toFixed(2));

/** Pictures by file name. */
export const picturesIn = (cells) => picturesOf(shownOf(cells, entries.small), entries.small);

function costTable({ machine, rounds, prompt, single, rows }) {
  const cells = rows.map(({ method, cache, ...row }) => [
    `${methods[method].label}, ${cache}`,
    `${row.prompt.toFixed(2)}`,
    `${row.single.toFixed(2)}`,
    `${(row.bytes / 2 ** 20).toFixed(2)}`,
  ]);
  const columns = [`prompt (1 is ${prompt} tokens a second)`, `token by token (1 is ${single})`, "MiB of cache"];
  const about = [
    "Of the small model, with one thread and 2,048 cached tokens, as shares of the speed of plain RoPE with an f16 cache",
    `(\`node examples/arena/cost.mjs --rounds ${rounds}\`, medians of rounds in turns; ${machine}, simd build).`,
  ];
  return `${about.join("\n")}\n\n${table("", columns, cells)}`;
}

export async function readResults() {
  const cells = (await Cells.open(join(RESULTS, "cells.jsonl"))).all;
  return { cells, cost: JSON.parse(await readFile(join(RESULTS, "cost.json"), "utf8")) };
}

if (isMain(import.meta.url)) {
  const { cells, cost } = await readResults();
  for (const page of PAGES) await writeFile(page, pageWith(await readFile(page, "utf8"), cells, cost));
  await writeFile(DOCTOR, doctorTable(cells));
  for (const [name, picture] of Object.entries(picturesIn(cells))) await writeFile(join(RESULTS, name), picture);
}
