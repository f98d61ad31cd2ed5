// Measures one cell.
import { Setup } from "./reading.mjs";
import { tasks } from "./tasks.mjs";
import { DoesNotFit } from "./tasks/needles.mjs";

/** The judge's cell for a cell: it reads with default weights and an f16 cache, under the method that its weights were tuned for. */
export function judgeCellOf({ model, multiple, task, seed }, { weights, inside, judgeEntry, tuned }) {
  const isTuned = (judgeEntry ?? { tuned }).tuned !== undefined;
  return {
    model,
    weights: Object.keys(weights)[0],
    cache: "f16",
    method: isTuned ? "yarn" : "none",
    multiple: tasks[task].short ? inside : multiple,
    task: "judge",
    seed,
  };
}

/** Text length of a cell in tokens. */
export const lengthOf = ({ task, multiple }, { trained, inside }) =>
  Math.round((tasks[task].short ? inside : multiple) * trained);

/**
 * @param entry - the cell's model, with its trained length and, if another model judges, `judgeEntry`.
 * @param options - `keys`: result of the judge's cell, for tasks that are judged. `prose`: a text of one's own.
 * @returns the cell with its `result`, rounded to five decimals. If facts and questions don't fit into the text, it says how many tokens they need.
 */
export async function measureCell(rw, entry, cell, { keys, prose } = {}) {
  const task = tasks[cell.task];
  const length = lengthOf(cell, entry);
  const reader = cell.task === "judge" ? (entry.judgeEntry ?? entry) : entry;
  const weights = reader === entry ? cell.weights : Object.keys(reader.weights)[0];
  const setup = await Setup.open(rw, reader, { ...cell, weights }, length);
  try {
    const { language, trained, tokens } = entry;
    const judgesItself = reader.tuned === undefined;
    const { readings = 1 } = task;
    const all = { ...cell, language, trained, tokens, length, prose, keys, judgesItself, readings };
    return { ...cell, result: rounded(await task.measure(setup, all)) };
  } catch (error) {
    if (!(error instanceof DoesNotFit)) throw error;
    return { ...cell, result: { asked: [], right: [], needs: length + error.missing } };
  } finally {
    await setup.dispose();
  }
}

const rounded = (result) =>
  JSON.parse(JSON.stringify(result, (_, value) => (typeof value === "number" ? Number(value.toFixed(5)) : value)));
