// Measures the searched scalings, and the small model fine-tuned once with each method, on the texts and by the measures of evaluate.mjs.
//
//   node examples/small_model/methods.mjs FOLDER [--only drope,yarn] [--workers 1]
//                                                FOLDER has a model for each method, in the files that to_files.py writes: linear/, ntk/, yarn/,
//                                                longrope/, drope/. Results are kept in FOLDER/cells.jsonl as they are measured, and the same
//                                                command goes on. Writes methods.json and methods.md to results/
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FULL, measure, rounded, written } from "./evaluate.mjs";
import { distanceOctaves } from "./measures.mjs";
import { factorFor, overridesFor } from "./scalings.mjs";
import { cell, recallOf, table, timesOf } from "./tables.mjs";
import { TRAINED_LENGTH } from "./texts.mjs";
import { inWorkers } from "./workers.mjs";
import { isMain } from "../is_main.mjs";

const here = import.meta.dirname;
/** Factor of the fine-tunes. */
const TUNED = 4;
const plan = { ...FULL, beginnings: 0, tuned: undefined, endless: undefined };

/** Lengths for which searched/ has a scaling. */
export const SEARCHED = [1024, 4096];

/** The overrides of the shortest searched scaling that reaches a length. */
export function searchedFor(length) {
  const reaching = SEARCHED.find((searched) => searched >= length);
  const { rope_scaling, ...others } = JSON.parse(readFileSync(join(here, "searched", `${reaching}.json`), "utf8"));
  return { ...others, rope_scaling: { ...rope_scaling, replace: true } };
}

const tuned = (scaling, label) => ({ scaling, label, rope: (length) => overridesFor(scaling, length, TUNED) });

/** The methods with training, and the RoPE under which each is read. */
const METHODS = {
  linear: tuned("linear", "PI"),
  ntk: {
    ...tuned("ntk", "NTK-aware"),
    rope: (length) => ({ rope_theta: 10000, ...overridesFor("ntk", length, TUNED) }),
  },
  yarn: tuned("yarn", "YaRN"),
  longrope: { scaling: "searched", label: "searched", rope: searchedFor },
  drope: { scaling: "drope", label: "DroPE", rope: () => undefined },
};

/** All cells that can be measured now: `{ key, model, scaling, label, rope, length, group }`. */
function cellsOf(folder, only) {
  const cells = [];
  const add = (name, label, model, { scaling, rope }, lengths) => {
    for (const length of lengths)
      for (let group = 0; group < plan.groups; group++)
        cells.push({
          key: `${name} ${length} ${group}`,
          name,
          label,
          model,
          scaling,
          rope: rope(length),
          length,
          group,
        });
  };
  const isWanted = (name) => only === undefined || only.includes(name);
  const searched = SEARCHED.filter((length) => existsSync(join(here, "searched", `${length}.json`)));
  if (isWanted("searched"))
    add("trained", "searched, not fine-tuned", { folder: here }, { scaling: "searched", rope: searchedFor }, searched);
  const lengths = plan.stretches.map((stretch) => stretch * TRAINED_LENGTH);
  for (const [name, method] of Object.entries(METHODS)) {
    const model = { folder: join(folder, name), tuned: TUNED };
    if (!isWanted(name) || !existsSync(join(model.folder, "config.json"))) continue;
    const readable = method.scaling === "searched" ? lengths.filter((length) => length <= searched.at(-1)) : lengths;
    add(`fine-tuned (${name})`, `fine-tuned with ${method.label}`, model, method, readable);
  }
  return cells;
}

/** Measures cells that aren't kept yet, and returns the results of all by their keys. */
async function measureAll(cells, path, workers) {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  const known = new Map(lines.map((line) => JSON.parse(line)));
  const missing = cells.filter(({ key }) => !known.has(key));
  const measureOne = async (rw, one) => {
    const result = rounded(await measure(rw, plan, one));
    known.set(one.key, result);
    appendFileSync(path, `${JSON.stringify([one.key, result])}\n`);
  };
  if (missing.length > 0) await inWorkers(missing, measureOne, workers);
  return known;
}

/** The lengths of which every group is measured, and the records of the trainings. */
function resultsOf(folder, cells, known) {
  const measured = new Map();
  for (const { key, name, label, scaling, length, group, model } of cells) {
    const factor = scaling === "drope" ? null : factorFor(length, model.tuned);
    const entry = measured.get(`${name} ${length}`) ?? { model: name, label, scaling, length, factor, groups: [] };
    if (known.has(key)) entry.groups[group] = known.get(key);
    measured.set(`${name} ${length}`, entry);
  }
  const isWhole = ({ groups }) => Object.keys(groups).length === plan.groups;
  const trained = Object.keys(METHODS).filter((name) => existsSync(join(folder, name, "training.json")));
  const training = trained.map((name) => JSON.parse(readFileSync(join(folder, name, "training.json"), "utf8")));
  return {
    trainedLength: TRAINED_LENGTH,
    tuned: TUNED,
    plan,
    training,
    measured: [...measured.values()].filter(isWhole),
  };
}

/** Tables with a row for each method, and for comparison those of evaluate.mjs that weren't fine-tuned. */
export function methodTables(results, evaluation) {
  const inside = Math.log2(TRAINED_LENGTH / distanceOctaves.first);
  const lengths = plan.stretches.map((stretch) => stretch * TRAINED_LENGTH);
  const compared = evaluation.measured
    .filter(({ model, scaling }) => model === "trained" && ["ntk", "yarn", "dynamic_yarn"].includes(scaling))
    .map((one) => ({ ...one, label: `${{ ntk: "NTK-aware", yarn: "YaRN", dynamic_yarn: "dynamic YaRN" }[one.scaling]}, not fine-tuned` })); // prettier-ignore
  const all = [...compared, ...results.measured];
  const rowsOf = (valuesOf) =>
    [...new Set(all.map(({ label }) => label))].map((label) => [
      label,
      ...lengths.map((length) => {
        const one = all.find((other) => other.label === label && other.length === length);
        return one === undefined ? "" : cell(valuesOf(one));
      }),
    ]);
  const titles = lengths.map((length) => `${timesOf(length, TRAINED_LENGTH)} (${length})`);
  const parts = [
    `Mean loss in nats per token. Mean and standard deviation of ${plan.groups} groups of texts.`,
    table("", titles, rowsOf(({ groups }) => groups.map(({ loss }) => loss))), // prettier-ignore
    "Mean loss of the answers only.",
    table("", titles, rowsOf(({ groups }) => groups.map(({ answerLoss }) => answerLoss))), // prettier-ignore
    `Right answers for facts less than ${TRAINED_LENGTH} words back.`,
    table("", titles, rowsOf((one) => recallOf(one, 0, inside))), // prettier-ignore
    `Right answers for facts at least ${TRAINED_LENGTH} words back.`,
    table("", titles, rowsOf((one) => recallOf(one, inside))), // prettier-ignore
  ];
  return `${parts.join("\n\n")}\n`;
}

if (isMain(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: { only: { type: "string" }, workers: { type: "string" } },
    allowPositionals: true,
  });
  const [folder] = positionals;
  if (folder === undefined) throw new Error("name the folder with the fine-tuned models");
  const known = await measureAll(
    cellsOf(folder, values.only?.split(",")),
    join(folder, "cells.jsonl"),
    Number(values.workers ?? 4),
  );
  const results = resultsOf(folder, cellsOf(folder), known);
  const evaluation = JSON.parse(readFileSync(join(here, "results", "evaluation.json"), "utf8"));
  await writeFile(join(here, "results", "methods.json"), written(results));
  await writeFile(join(here, "results", "methods.md"), methodTables(results, evaluation));
}
