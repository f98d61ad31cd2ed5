// Writes the tables and pictures of a model from its cells.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawHeatMap } from "./heat_maps.mjs";
import { measuredOf } from "./summary.mjs";
import { tablesOf } from "./tables.mjs";
import { NEEDED, tasks } from "./tasks.mjs";

/** The sentence about tasks that a model can't do; empty if it can do all. */
export function droppedText(dropped) {
  const named = Object.entries(dropped).map(([task, share]) => `${tasks[task].label} (${share.toFixed(2)})`);
  return named.length === 0
    ? ""
    : `Not measured, because it doesn't do ${NEEDED} of it inside its window: ${named.join(", ")}.`;
}

/** All tables of a model as Markdown. */
export function markdownOf(cells, entry, dropped) {
  const seeds = new Set(measuredOf(cells, entry.name).map(({ seed }) => seed)).size;
  const parts = tablesOf(cells, entry).map(({ title, about, text }) => `### ${title}\n\n${about}\n\n${text}`);
  const spread = seeds > 1 ? `Mean and standard deviation over ${seeds} seeds, each with its own texts.` : "One seed.";
  const head = `## ${entry.title}, trained on ${entry.trained} tokens`;
  return `${[head, [spread, droppedText(dropped)].filter(Boolean).join(" "), ...parts].join("\n\n")}\n`;
}

export async function writeReport(folder, entry, store, dropped) {
  const markdown = markdownOf(store.all, entry, dropped);
  await writeFile(join(folder, `${entry.name}.md`), markdown);
  const [weights] = Object.keys(entry.weights);
  const first = measuredOf(store.all, entry.name).filter((cell) => cell.weights === weights && cell.cache === "f16");
  for (const task of Object.keys(tasks).filter((name) => tasks[name].byDepth && !(name in dropped))) {
    const picture = drawHeatMap(first, task, entry);
    if (picture !== undefined) await writeFile(join(folder, `${entry.name}_${task}.svg`), picture);
  }
  return markdown;
}
