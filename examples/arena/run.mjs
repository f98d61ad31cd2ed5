// Measures ways past the trained window of a model: methods, caches and weight formats, by length and task.
//
//   node examples/arena/run.mjs                     the small model, everything: an hour on one core
//   node examples/arena/run.mjs --quick             the small model at 1 and 4 times its window: under two minutes on two cores
//   node examples/arena/run.mjs MODEL… [options]    small, small-yarn, small-tuned, smollm2, or any file, folder, URL or name of the Hub
//
//   --lengths 1,2,4      lengths of texts as multiples of the trained one. A reading costs the square of its length
//   --methods none,yarn  none, pi, ntk, dynamic_ntk, ntk_by_parts, yarn, dynamic_yarn, searched (of the small model), self_extend, rerope,
//                        dual_chunk, lm_infinite, streaming; tuned_… and grown_… of small-tuned
//   --tasks perplexity   perplexity, passkey, multi_key, multi_query, variables, short_perplexity, short_multi_key
//   --seeds 3            each seed has its own texts
//   --caches f16,q8_0    f16, q8_0, q4_0, q4_0_raw, q4_channel. Without it, f16 only for a model of one's own, and with
//                        --lengths, --methods or --tasks
//   --quantize q8_0      further weight formats
//   --trained-length N   of a model whose config doesn't say it
//   --text FILE          a text of one's own for the loss
//   --out FOLDER         results, build/arena by default
//   --workers N          one thread each, default: all cores
//   --report             only writes the tables and pictures of the same command again
//
// It says first how many cells it measures and about how long that takes. Each cell is written to cells.jsonl as soon as it is measured, and isn't
// measured again: Ctrl-C ends a run, and the same command continues it. The simd build computes the same bits everywhere, so the same cell has
// the same result on every machine.
import { join } from "node:path";
import { load } from "ropewalk";
import { Cells } from "./cells.mjs";
import { remarksOn } from "./checks.mjs";
import { judgeCellOf, measureCell } from "./measure.mjs";
import { modelNamed, opened } from "./models.mjs";
import { optionsFrom } from "./options.mjs";
import { cellsOf, droppedTasks, firstCells } from "./plan.mjs";
import { Progress } from "./progress.mjs";
import { droppedText, writeReport } from "./report.mjs";
import { tasks } from "./tasks.mjs";
import { inWorkers } from "../small_model/workers.mjs";
import { runMain } from "../../scripts/run.mjs";

/** Opens a model's entry with its trained length and judge. Options are those of models.mjs. */
export async function openEntry(rw, name, options) {
  const entry = await opened(rw, await modelNamed(name, options), options);
  if (entry.judge !== undefined) entry.judgeEntry = await modelNamed(entry.judge);
  return entry;
}

/** Measures the cells of a plan that aren't there yet. */
async function measurePlan(store, entry, plan, { prose, workers }) {
  const begun = performance.now();
  const missing = (cells) => cells.filter((cell) => store.get(cell) === undefined);
  const first = missing(firstCells(entry, plan));
  const rest = () => missing(cellsOf(entry, plan, droppedTasks(store.all, entry)));
  const progress = new Progress(entry);
  progress.left = [...first, ...rest()];
  const announcement = progress.announcement(workers);
  if (announcement !== undefined) console.log(`${entry.title}: ${announcement}`);
  const measure = async (rw, cell) => {
    const keys = tasks[cell.task].judged ? store.get(judgeCellOf(cell, entry))?.result.keys : undefined;
    await store.add(await measureCell(rw, entry, cell, { keys, prose }));
  };
  await inWorkers(first, measure, workers, (cell) => progress.measured(cell));
  progress.left = rest();
  await inWorkers(rest(), measure, workers, (cell) => progress.measured(cell));
  console.log(`${entry.title}: ${progress.done} cells in ${Math.round((performance.now() - begun) / 1000)} s`);
}

/** Runs a plan for some models. */
export async function runArena(names, planOf, { out, workers = 1, reportOnly = false, prose, ...options }) {
  const path = join(out, "cells.jsonl");
  const rw = await load({ build: "simd", threads: 1 });
  const entries = [];
  for (const name of names) entries.push(await openEntry(rw, name, { prose, ...options }));
  for (const entry of entries)
    for (const remark of remarksOn(entry, planOf(entry))) console.log(`${entry.title}: ${remark}`);
  const store = await Cells.open(path);
  const interrupted = () => {
    console.error(`\ninterrupted: ${path} keeps ${store.all.length} cells; the same command continues`);
    process.exit(130);
  };
  process.once("SIGINT", interrupted);
  try {
    for (const entry of entries) {
      if (!reportOnly) await measurePlan(store, entry, planOf(entry), { prose, workers });
      if (!store.all.some(({ model }) => model === entry.name))
        throw new Error(`${path} has no cells of ${entry.title} with these options`);
      const dropped = droppedText(droppedTasks(store.all, entry));
      if (dropped !== "") console.log(`${entry.title}: ${dropped}`);
      console.log(`${entry.title}: ${(await writeReport(out, entry, store.all)).join(", ")}`);
    }
    await store.close();
  } finally {
    process.off("SIGINT", interrupted);
    rw.dispose?.();
  }
}

await runMain(import.meta.url, async (args) => {
  const { names, planOf, ...options } = await optionsFrom(args);
  await runArena(names, planOf, options);
});
