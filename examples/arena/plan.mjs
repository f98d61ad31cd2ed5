// Which cells a run measures, in which order.
import { methods } from "./methods.mjs";
import { idOf } from "./cells.mjs";
import { judgeCellOf } from "./measure.mjs";
import { NEEDED, tasks } from "./tasks.mjs";

/**
 * `multiples`: text lengths as multiples of the trained length. `short`: those that short texts are read under. `others`: multiples, methods and
 * tasks of further caches and weights. A plan can also have `methods`, `tasks`, `beyond`: the tasks of texts longer than the window, `judge`: false to
 * leave out LongPPL, and `asked`: those of its `methods`, `tasks` and `caches` that a user named.
 */
export const FULL = {
  multiples: [1, 2, 4, 8, 16],
  short: [4, 16],
  seeds: 3,
  caches: ["f16", "q8_0", "q4_0", "q4_0_raw", "q4_channel"],
  others: {
    multiples: [4, 16],
    methods: ["none", "ntk", "yarn", "dynamic_yarn", "rerope", "self_extend", "dual_chunk"],
    tasks: ["perplexity", "multi_key"],
  },
};
export const QUICK = {
  multiples: [1, 4],
  short: [4],
  seeds: 1,
  caches: ["f16", "q4_0"],
  others: { multiples: [4], methods: ["none", "yarn"], tasks: ["multi_key"] },
};

export const taskNames = Object.keys(tasks).filter((name) => name !== "judge");

/** A model's first cells: what its window holds, and which tokens need a long context. */
export function firstCells(entry, plan) {
  const { model, weights } = base(entry);
  const { inside } = entry;
  const gates = wanted(plan).filter((task) => tasks[task].share && !tasks[task].short);
  const cells = [];
  for (let seed = 0; seed < plan.seeds; seed++) {
    for (const task of gates)
      cells.push({ model, weights, cache: "f16", method: "none", multiple: inside, task, seed });
    if (plan.judge === false || !wanted(plan).some((task) => tasks[task].judged)) continue;
    const lengths = new Set([inside, ...plan.multiples]);
    for (const multiple of lengths) cells.push(judgeCellOf({ model, multiple, task: "judge", seed }, entry));
  }
  return cells;
}

/** Tasks that a model can't do in its window: `{ task: { share } }`, or `{ task: { needs } }` with the tokens of one that doesn't fit into it. */
export function droppedTasks(cells, { name, inside }) {
  const dropped = {};
  for (const task of taskNames) {
    const gate = cells.filter(
      (cell) =>
        cell.model === name &&
        cell.task === task &&
        cell.method === "none" &&
        cell.multiple === inside &&
        cell.cache === "f16",
    );
    const sum = (of) => gate.flatMap(({ result }) => result[of]).reduce((total, one) => total + one, 0);
    if (!tasks[task].share || tasks[task].short || gate.length === 0) continue;
    const share = sum("right") / sum("asked");
    if (sum("asked") === 0) dropped[task] = { needs: Math.max(...gate.map(({ result }) => result.needs)) };
    else if (share < NEEDED) dropped[task] = { share };
  }
  return dropped;
}

/** All other cells, seed by seed: first with the default weights and cache, then with the others. */
export function cellsOf(entry, plan, dropped) {
  const { model, weights } = base(entry);
  const names = wanted(plan).filter((task) => !((tasks[task].like ?? task) in dropped));
  const isBeyond = (task) => plan.beyond?.includes(task) ?? true;
  const cells = [];
  for (let seed = 0; seed < plan.seeds; seed++) {
    const add = (setup, task) => cells.push({ model, ...setup, task, seed });
    for (const method of (plan.methods ?? Object.keys(methods)).filter((name) => isFor(name, entry))) {
      for (const multiple of plan.multiples) {
        if (multiple <= 1 && isPlainAt1(method, entry)) continue;
        if (multiple <= methods[method].sameUpTo) continue;
        for (const task of names.filter((name) => !tasks[name].short && (multiple <= 1 || isBeyond(name))))
          add({ weights, cache: "f16", method, multiple }, task);
      }
      for (const multiple of method === "none" ? [entry.inside] : plan.short)
        for (const task of names.filter((name) => tasks[name].short))
          add({ weights, cache: "f16", method, multiple }, task);
    }
    for (const setup of otherSetups(entry, plan))
      for (const method of plan.others.methods.filter(
        (name) => isFor(name, entry) && (plan.methods?.includes(name) ?? true),
      ))
        for (const multiple of plan.others.multiples)
          if (multiple > 1 || !isPlainAt1(method, entry))
            for (const task of plan.others.tasks.filter((name) => names.includes(name) && !tasks[name].short))
              add({ ...setup, method, multiple }, task);
  }
  return cells;
}

/** All cells of a plan, as long as no task is dropped. */
export const allCells = (entry, plan) => [
  ...new Map([...firstCells(entry, plan), ...cellsOf(entry, plan, {})].map((cell) => [idOf(cell), cell])).values(),
];

/** Setups with another cache or other weights, and the smallest of both. */
function otherSetups({ weights }, { caches }) {
  const [first, ...rest] = Object.keys(weights);
  return [
    ...caches.filter((cache) => cache !== "f16").map((cache) => ({ weights: first, cache })),
    ...rest.flatMap((other) =>
      ["f16", ...caches.filter((cache) => cache === "q4_0")].map((cache) => ({ weights: other, cache })),
    ),
  ];
}

const isFor = (method, { known }) => methods[method].models?.includes(known) ?? true;

/** Whether a method changes nothing within the trained length, so that only `none` is measured there. */
const isPlainAt1 = (method, { tuned }) =>
  method !== "none" && methods[method].isPlainAt1 === true && tuned === undefined;

const base = ({ name, weights }) => ({ model: name, weights: Object.keys(weights)[0] });

const wanted = ({ tasks: chosen }) => chosen ?? taskNames;
