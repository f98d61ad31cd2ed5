// What is wrong with a plan for a model, said before anything is measured.
import { existsSync } from "node:fs";
import { UsageError } from "../../scripts/run.mjs";
import { lengthOf } from "./measure.mjs";
import { methods } from "./methods.mjs";
import { allCells, cellsOf } from "./plan.mjs";
import { tasks } from "./tasks.mjs";
import { textCount } from "./tasks/perplexity.mjs";

/**
 * Sentences about methods, tasks and caches that were asked for, and for which a plan has no cell.
 * @throws UsageError if there is no cell at all, if a fine-tune is missing, or if a text of one's own is too short for one.
 */
export function remarksOn(entry, plan) {
  const cells = cellsOf(entry, plan, {});
  const without = (key) =>
    (plan.asked?.[key] ?? []).filter((name) => cells.every((cell) => cell[key.slice(0, -1)] !== name));
  const remarks = [
    ...without("methods").map((name) => `without ${name}, which ${whyNot(name, entry)}`),
    ...without("tasks").map((name) => `without ${name}, for which these methods and lengths have no cell`),
    ...without("caches")
      .filter((name) => name !== "f16")
      .map((name) => `without the cache ${name}, for which these methods, tasks and lengths have no cell`),
  ];
  if (cells.length === 0) throw new UsageError(`${entry.title}: nothing to measure ${remarks.join(", ")}`);
  checkFineTunes(entry, cells);
  checkText(entry, plan);
  return remarks;
}

function whyNot(method, { known }) {
  const { models = [known] } = methods[method];
  return models.includes(known) ? "changes nothing at these lengths" : `is for ${models.join(", ")} only`;
}

function checkFineTunes({ fineTunes }, cells) {
  for (const name of new Set(cells.map(({ method }) => methods[method].weights)))
    if (name !== undefined && !existsSync(fineTunes[name]))
      throw new UsageError(`${fineTunes[name]} isn't here: python examples/small_model/tune_all.py ${name} writes it`);
}

/** The parts of a text of one's own that seeds read follow one another. */
function checkText(entry, plan) {
  const { textTokens, tokens } = entry;
  if (textTokens === undefined) return;
  for (const cell of allCells(entry, plan).filter(({ task }) => tasks[task].judged)) {
    const length = lengthOf(cell, entry);
    const needed = length * (cell.seed * textCount(tokens, length) + 1);
    if (needed > textTokens)
      throw new UsageError(
        `--text has ${textTokens} tokens, and seed ${cell.seed} at ${cell.multiple}× needs ${needed}: use a longer text, shorter --lengths or fewer --seeds`,
      );
  }
}
