// The command line of run.mjs.
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { QUANTIZE_FORMATS } from "ropewalk";
import { UsageError } from "../../scripts/run.mjs";
import { caches, methods } from "./methods.mjs";
import { FULL, QUICK, taskNames } from "./plan.mjs";

const LISTS = ["lengths", "methods", "tasks", "caches", "quantize"];
const NUMBERS = ["seeds", "trained-length", "workers"];
const options = {
  quick: { type: "boolean" },
  report: { type: "boolean" },
  ...Object.fromEntries([...LISTS, ...NUMBERS, "text", "out"].map((name) => [name, { type: "string" }])),
};

/**
 * Reads the arguments: names of models, a plan for each as `planOf(entry)`, and the options of `runArena()`.
 * @throws UsageError, or an error of parseArgs()
 */
export async function optionsFrom(args) {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const lengths = listFrom(values, "lengths", lengthFrom);
  const seeds = countFrom(values, "seeds");
  const chosen = {
    caches: listFrom(values, "caches", oneOf(Object.keys(caches))),
    methods: listFrom(values, "methods", oneOf(Object.keys(methods))),
    tasks: listFrom(values, "tasks", oneOf(taskNames)),
  };
  const quantize = listFrom(values, "quantize", oneOf(QUANTIZE_FORMATS));
  const preset = values.quick ? QUICK : FULL;
  const planOf = (entry) => {
    const plan = { ...preset, ...(entry.known === undefined && { caches: ["f16"] }), ...(!values.quick && entry.plan) };
    // what was asked for is measured under each other cache and format that was asked for, and under none that wasn't
    const isChosen = (lengths ?? chosen.methods ?? chosen.tasks) !== undefined;
    const hasOthers = !isChosen || chosen.caches !== undefined || quantize !== undefined;
    const others = hasOthers
      ? {
          ...(lengths === undefined ? plan.others : { ...preset.others, multiples: lengths }),
          ...(chosen.methods && { methods: chosen.methods }),
          ...(chosen.tasks && { tasks: chosen.tasks }),
        }
      : { multiples: [], methods: [], tasks: [] };
    return {
      ...plan,
      ...(lengths && { multiples: lengths, short: lengths.filter((length) => length > 1) }),
      others,
      asked: chosen,
      ...(seeds && { seeds }),
      ...(chosen.caches && { caches: chosen.caches }),
      ...(chosen.methods && { methods: chosen.methods }),
      ...(chosen.tasks && { tasks: chosen.tasks, beyond: undefined }),
    };
  };
  return {
    names: [...new Set(positionals.length === 0 ? ["small"] : positionals)],
    planOf,
    out: values.out ?? join("build", "arena"),
    quantize,
    lengths,
    trained: countFrom(values, "trained-length"),
    prose: values.text === undefined ? undefined : await readFile(values.text, "utf8"),
    workers: countFrom(values, "workers") ?? availableParallelism(),
    reportOnly: values.report,
  };
}

/** The different entries of an option that is a list. */
function listFrom(values, option, read) {
  if (values[option] === undefined) return undefined;
  return [...new Set(values[option].split(",").map((text) => read(text, option)))];
}

const oneOf = (names) => (text, option) => {
  if (!names.includes(text)) throw new UsageError(`--${option}: "${text}" isn't one of ${names.join(", ")}`);
  return text;
};

function lengthFrom(text, option) {
  const number = Number(text);
  if (!(number > 0 && number < Infinity))
    throw new UsageError(`--${option} must be numbers above 0, as multiples of the trained length (got "${text}")`);
  return number;
}

function countFrom(values, option) {
  if (values[option] === undefined) return undefined;
  const number = Number(values[option]);
  if (!(Number.isSafeInteger(number) && number > 0))
    throw new UsageError(`--${option} must be a whole number above 0 (got "${values[option]}")`);
  return number;
}
