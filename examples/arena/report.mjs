// Writes the tables and pictures of a model from its cells.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawHeatMap } from "./heat_maps.mjs";
import { measuredOf } from "./summary.mjs";
import { tablesOf } from "./tables.mjs";
import { droppedTasks } from "./plan.mjs";
import { NEEDED, tasks } from "./tasks.mjs";

/** Sentences about tasks that a model can't do, or that don't fit into its window; empty if there are none. */
export function droppedText(dropped) {
  const named = (key, text) =>
    Object.entries(dropped)
      .filter(([, reason]) => key in reason)
      .map(([task, reason]) => `${tasks[task].label} (${text(reason[key])})`)
      .join(", ");
  const unable = named("share", (share) => share.toFixed(2));
  const tooLong = named("needs", (needs) => `needs ${needs} tokens`);
  return [
    unable && `Not measured, because it doesn't do ${NEEDED} of it inside its window: ${unable}.`,
    tooLong && `Not measured, because it doesn't fit into its window: ${tooLong}.`,
  ]
    .filter(Boolean)
    .join(" ");
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

/** Writes what {@link markdownOf} and {@link picturesOf} return. Returns the paths of the files. */
export async function writeReport(folder, entry, cells) {
  const head = `## ${entry.title}, trained on ${entry.trained} tokens`;
  const spread =
    "Means and standard deviations over seeds, each with its own texts. A value without a deviation is of one seed.";
  const page = `${[head, spread, markdownOf(cells, entry)].join("\n\n")}\n`;
  const files = { [`${entry.name}.md`]: page, ...picturesOf(cells, entry) };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return Object.keys(files).map((name) => join(folder, name));
}
