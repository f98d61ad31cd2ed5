// Writes the tables and pictures of a model from its cells.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawHeatMap } from "./heat_maps.mjs";
import { measuredOf } from "./summary.mjs";
import { tablesOf } from "./tables.mjs";
import { droppedTasks } from "./plan.mjs";
import { NEEDED, tasks } from "./tasks.mjs";

/** The sentence about tasks that a model can't do; empty if it can do all. */
function droppedText(dropped) {
  const named = Object.entries(dropped).map(([task, share]) => `${tasks[task].label} (${share.toFixed(2)})`);
  return named.length === 0
    ? ""
    : `Not measured, because it doesn't do ${NEEDED} of it inside its window: ${named.join(", ")}.`;
}

/** Tables of a model as Markdown: all, or those with some keys. What it can't do is said with the first. */
export function markdownOf(cells, entry, keys) {
  const tables = tablesOf(cells, entry);
  const chosen = tables.filter(({ key }) => keys?.includes(key) ?? true);
  const parts = chosen.map(({ title, about, text }) => `### ${title}\n\n${about}\n\n${text}`);
  const dropped = chosen.includes(tables[0]) ? droppedText(droppedTasks(cells, entry)) : "";
  return [dropped, ...parts].filter(Boolean).join("\n\n");
}

/** The pictures of a model: SVG text by file name. */
export function picturesOf(cells, entry) {
  const [weights] = Object.keys(entry.weights);
  const first = measuredOf(cells, entry.name).filter((cell) => cell.weights === weights && cell.cache === "f16");
  const dropped = droppedTasks(cells, entry);
  const drawn = Object.keys(tasks)
    .filter((task) => tasks[task].byDepth && !(task in dropped))
    .map((task) => [`${entry.name}_${task}.svg`, drawHeatMap(first, task, entry)]);
  return Object.fromEntries(drawn.filter(([, picture]) => picture !== undefined));
}

/** Writes what {@link markdownOf} and {@link picturesOf} return. */
export async function writeReport(folder, entry, cells) {
  const head = `## ${entry.title}, trained on ${entry.trained} tokens`;
  const spread =
    "Means and standard deviations over seeds, each with its own texts. A value without a deviation is of one seed.";
  await writeFile(join(folder, `${entry.name}.md`), `${[head, spread, markdownOf(cells, entry)].join("\n\n")}\n`);
  for (const [name, picture] of Object.entries(picturesOf(cells, entry))) await writeFile(join(folder, name), picture);
}
