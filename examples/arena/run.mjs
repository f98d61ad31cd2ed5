// Measures ways past the trained window of a model: methods, caches and weight formats, by length and task.
//
//   node examples/arena/run.mjs                     the small model, everything: an hour on one core
//   node examples/arena/run.mjs --quick             the small model at 1 and 4 times its window: under two minutes on two cores
//   node examples/arena/run.mjs MODEL… [options]    small, small-yarn, smollm2, or any file, folder, URL or name of the Hub
//
//   --lengths 1,2,4      lengths as multiples of the trained one      --methods none,yarn    --tasks perplexity,passkey    --caches f16,q8_0
//   --seeds 3            each seed has its own texts                  --quantize q8_0,q4_k   further weight formats
//   --trained-length N   of a model whose config doesn't say it       --text FILE            a text of one's own for the loss
//   --out FOLDER         results, build/arena by default              --workers N            one thread each, default: all cores
//   --report             only writes the tables and pictures again
//
// Each cell is written to cells.jsonl as soon as it is measured, and isn't measured again: run the same command to continue. The simd build
// computes the same bits everywhere, so the same cell has the same result on every machine.
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { load } from "ropewalk";
import { Cells } from "./cells.mjs";
import { judgeCellOf, measureCell } from "./measure.mjs";
import { caches, methods } from "./methods.mjs";
import { modelNamed, trainedLength } from "./models.mjs";
import { cellsOf, droppedTasks, firstCells, FULL, QUICK } from "./plan.mjs";
import { writeReport } from "./report.mjs";
import { tasks } from "./tasks.mjs";
import { inWorkers } from "../small_model/workers.mjs";
import { isMain } from "../is_main.mjs";

/** Measures the cells that aren't there yet. */
async function measureMissing(store, entry, cells, { prose, workers }) {
  const missing = cells.filter((cell) => store.get(cell) === undefined);
  await inWorkers(
    missing,
    async (rw, cell) => {
      const keys = tasks[cell.task].judged ? store.get(judgeCellOf(cell, entry))?.result.keys : undefined;
      await store.add(await measureCell(rw, entry, cell, { keys, prose }));
    },
    workers,
  );
  return missing.length;
}

/** Opens a model's entry with its trained length and judge. */
export async function openEntry(rw, name, options) {
  const entry = await modelNamed(name, options);
  entry.trained = await trainedLength(rw, entry);
  if (entry.judge !== undefined) entry.judgeEntry = await modelNamed(entry.judge);
  return entry;
}

/** Runs a plan for some models. */
export async function runArena(names, planOf, { out, quantize, trained, prose, workers = 1, reportOnly = false }) {
  const store = await Cells.open(join(out, "cells.jsonl"));
  const rw = await load({ build: "simd", threads: 1 });
  for (const name of names) {
    const entry = await openEntry(rw, name, { trained, quantize });
    const plan = planOf(entry);
    const options = { prose, workers };
    const started = performance.now();
    let count = reportOnly ? 0 : await measureMissing(store, entry, firstCells(entry, plan), options);
    const dropped = droppedTasks(store.all, entry);
    for (const [task, share] of Object.entries(dropped))
      console.log(`${entry.title}: no ${tasks[task].label}, of which it does ${share.toFixed(2)} inside its window`);
    if (!reportOnly) count += await measureMissing(store, entry, cellsOf(entry, plan, dropped), options);
    console.log(`${entry.title}: ${count} cells in ${Math.round((performance.now() - started) / 1000)} s`);
    await writeReport(out, entry, store.all);
  }
  await store.close();
  rw.dispose?.();
}

function namesFrom(list, known, option) {
  const names = list?.split(",");
  const unknown = names?.find((name) => !(name in known));
  if (unknown !== undefined) throw new Error(`--${option}: ${unknown} isn't one of ${Object.keys(known).join(", ")}`);
  return names;
}

function numbersFrom(list, option) {
  const numbers = list?.split(",").map(Number);
  if (numbers?.some((number) => !(number > 0))) throw new Error(`--${option} must be numbers above 0 (got ${list})`);
  return numbers;
}

async function main() {
  const string = { type: "string" };
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: "boolean" },
      report: { type: "boolean" },
      ...Object.fromEntries(
        ["lengths", "methods", "tasks", "caches", "seeds", "quantize", "trained-length", "text", "out", "workers"].map(
          (name) => [name, string],
        ),
      ),
    },
  });
  const preset = values.quick ? QUICK : FULL;
  const lengths = numbersFrom(values.lengths, "lengths");
  const planOf = (entry) => ({
    ...preset,
    ...(values.quick ? {} : entry.plan),
    ...(lengths && { multiples: lengths, short: lengths.filter((length) => length > 1) }),
    ...(lengths && { others: { ...preset.others, multiples: lengths } }),
    ...(values.seeds && { seeds: numbersFrom(values.seeds, "seeds")[0] }),
    ...(values.caches && { caches: namesFrom(values.caches, caches, "caches") }),
    ...(values.methods && { methods: namesFrom(values.methods, methods, "methods") }),
    ...(values.tasks && { tasks: namesFrom(values.tasks, tasks, "tasks"), beyond: undefined }),
  });
  await runArena(positionals.length === 0 ? ["small"] : positionals, planOf, {
    out: values.out ?? join("build", "arena"),
    quantize: values.quantize?.split(","),
    trained: numbersFrom(values["trained-length"], "trained-length")?.[0],
    prose: values.text && (await readFile(values.text, "utf8")),
    workers: numbersFrom(values.workers, "workers")?.[0] ?? availableParallelism(),
    reportOnly: values.report,
  });
}

if (isMain(import.meta.url)) await main();
