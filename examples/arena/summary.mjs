// Values of cells, gathered over seeds.
import { tasks } from "./tasks.mjs";

/** The cells of a setup, `{ weights, cache, method, multiple, task }`, one for each seed. */
export const cellsWith = (cells, wanted) =>
  cells.filter((cell) => Object.entries(wanted).every(([key, value]) => cell[key] === value));

/** What can be read from a cell, as `(result) => number`. */
export const values = {
  loss: ({ loss }) => loss,
  longPpl: ({ keyLoss }) => (keyLoss === null ? NaN : Math.exp(keyLoss)),
  share: ({ asked, right }) => sum(right) / sum(asked),
};

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

/** The cells of the seeds that all setups of some cells have, so that all means are over the same texts; all cells if there is no such seed. */
export function ofSharedSeeds(cells) {
  const setupOf = ({ weights, cache, method, multiple, task }) =>
    JSON.stringify([weights, cache, method, multiple, task]);
  const setups = new Set(cells.map(setupOf));
  const counts = new Map();
  for (const { seed } of cells) counts.set(seed, (counts.get(seed) ?? 0) + 1);
  const shared = cells.filter(({ seed }) => counts.get(seed) === setups.size);
  return shared.length === 0 ? cells : shared;
}

/** A value for each seed. */
export const bySeed = (cells, wanted, value) => cellsWith(cells, wanted).map(({ result }) => values[value](result));

/** Share of right answers at each depth, over all seeds; undefined if nothing was measured. */
export function byDepth(cells, wanted) {
  const found = cellsWith(cells, wanted);
  if (found.length === 0) return undefined;
  return found[0].result.asked.map((_, depth) => {
    const total = (of) => sum(found.map(({ result }) => result[of][depth]));
    return total("right") / total("asked");
  });
}

/** The values of a key that cells have, in the order of a list or of their size. */
export function present(cells, key, order) {
  const found = new Set(cells.map((cell) => cell[key]));
  return order === undefined ? [...found].sort((a, b) => a - b) : order.filter((name) => found.has(name));
}

/** The cells that compare methods: of one model, without those of the judge. */
export const measuredOf = (cells, name) => cells.filter(({ model, task }) => model === name && task !== "judge");

export const shareTasks = Object.keys(tasks).filter((task) => tasks[task].share && !tasks[task].short);
