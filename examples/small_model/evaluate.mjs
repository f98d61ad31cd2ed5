// Measures what each scaling does to the small model beyond its trained length: loss by position, and right answers by distance of the fact.
//
//   node examples/small_model/evaluate.mjs            everything, in minutes; writes evaluation.json, tables.md and two charts to results/
//   node examples/small_model/evaluate.mjs --quick    1x and 4x on a few texts, in seconds; prints the tables, writes nothing
//
//   --base FOLDER, --tuned FOLDER    the models (this folder, and yarn/ in it)
//   --out FOLDER                     where to write, also with --quick
//
// Results are bit-equal with the same version of Node: texts are seeded, and the simd build computes the same bits everywhere.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { answersOf, Buckets, distanceOctaves, lossesByShifting, lossesOf, positionSteps } from "./measures.mjs";
import { factorFor, overridesFor, scalings } from "./scalings.mjs";
import { summaryOf, tablesOf } from "./tables.mjs";
import { textOf, TRAINED_LENGTH } from "./texts.mjs";
import { inWorkers } from "./workers.mjs";
import { runMain } from "../../scripts/run.mjs";

const here = import.meta.dirname;

/**
 * `stretches`: text lengths, as multiples of the trained length. `tokens`: tokens per length and group, for losses and for questions, in at most
 * eight texts. `beginnings`: additional texts of the trained length for the loss by position, because early positions have few tokens.
 * `endless`: length of the text that is read through a shifted window.
 */
export const FULL = {
  groups: 3,
  stretches: [1, 2, 4, 8, 16],
  tokens: { losses: 8192, questions: 24576 },
  beginnings: 24,
  tuned: true,
  endless: 32,
};
const QUICK = { groups: 1, stretches: [1, 4], tokens: { losses: 2048, questions: 2048 }, beginnings: 0, tuned: false };
/** Texts per length and group. */
const MAX_TEXTS = 8;

/** The texts of a group at a length, each with its own seed. */
function textsOf(group, length, near, count) {
  const first = 1_000_000 * (group + 1) + 10_000 * Math.log2(length) + 1000 * Number(near);
  return Array.from({ length: count }, (_, i) => textOf({ seed: first + i, length, near }));
}

/** The jobs: a model under a scaling on a group of texts of one length. The longest come first, because they take the longest. */
function casesOf(plan, models) {
  const cases = [];
  for (const stretch of plan.stretches.toReversed()) {
    for (let group = 0; group < plan.groups; group++) {
      for (const model of models) {
        const length = stretch * TRAINED_LENGTH;
        for (const scaling of Object.keys(scalings))
          cases.push({ model, scaling, rope: overridesFor(scaling, length, model.tuned), length, group });
      }
    }
  }
  if (plan.endless === undefined) return cases;
  const shift = {
    model: models[0],
    scaling: "shift",
    rope: overridesFor("none"),
    length: plan.endless * TRAINED_LENGTH,
    recallLength: longestOf(plan),
  };
  return [...Array.from({ length: plan.groups }, (_, group) => ({ ...shift, group })), ...cases];
}

const longestOf = ({ stretches }) => Math.max(...stretches) * TRAINED_LENGTH;

/**
 * Measures a model under overrides of its RoPE on a group of texts of one length, through the Worker API.
 * @returns mean losses of all tokens, of answers, and by position; and by octave of distance the numbers of questions `asked` and answered
 *   `right`.
 */
export async function measure(rw, plan, { model: { folder }, scaling, rope, length, recallLength = length, group }) {
  const shifts = scaling === "shift";
  const model = await rw.model(folder, { rope, contextLength: length, kv: { dtype: "f32" } });
  const count = (tokens, textLength) => Math.max(1, Math.min(MAX_TEXTS, Math.floor(tokens / textLength)));
  const [positions, all, answers] = [new Buckets(positionSteps.count(length)), new Buckets(1), new Buckets(1)];
  for (const text of textsOf(group, length, true, count(plan.tokens.losses, length))) {
    const losses = shifts ? await lossesByShifting(model, text) : await lossesOf(model, text);
    losses.forEach((loss, position) => {
      all.add(0, loss);
      positions.add(positionSteps.of(position), loss);
    });
    for (const { at } of text.questions) answers.add(0, losses[at]);
  }
  if (recallLength === longestOf(plan)) {
    for (const text of textsOf(group, TRAINED_LENGTH, true, plan.beginnings)) {
      (await lossesOf(model, text)).forEach((loss, position) => positions.add(positionSteps.of(position), loss));
    }
  }
  const octaves = distanceOctaves.count(recallLength);
  const [asked, right] = [new Array(octaves).fill(0), new Array(octaves).fill(0)];
  for (const text of textsOf(group, recallLength, false, count(plan.tokens.questions, recallLength))) {
    for (const { distance, isRight } of await answersOf(model, text, shifts ? TRAINED_LENGTH : length)) {
      asked[distanceOctaves.of(distance)]++;
      right[distanceOctaves.of(distance)] += Number(isRight);
    }
  }
  await model.dispose();
  return { loss: all.means()[0], answerLoss: answers.means()[0], lossByPosition: positions.means(), asked, right };
}

/** Combines the results of the groups. */
function gather(cases, results) {
  const measured = new Map();
  cases.forEach(({ model, scaling, length, recallLength }, i) => {
    const key = JSON.stringify([model.name, scaling, length]);
    const entry = measured.get(key) ?? {
      model: model.name,
      scaling,
      length,
      factor: scaling === "shift" ? 1 : factorFor(length, model.tuned),
      groups: [],
    };
    if (recallLength !== undefined) entry.recallLength = recallLength;
    entry.groups[cases[i].group] = results[i];
    measured.set(key, entry);
  });
  return [...measured.values()].sort((a, b) => a.length - b.length);
}

/** Measures everything in a plan. Models are `{ name, folder, tuned }`, where `tuned` is the factor of the fine-tune, if any. */
export async function evaluate(plan, models) {
  const cases = casesOf(plan, models);
  const results = await inWorkers(cases, (rw, one) => measure(rw, plan, one));
  return { trainedLength: TRAINED_LENGTH, plan, measured: gather(cases, results) };
}

/** Rounds results to five decimal places, more than the spread justifies. */
export const rounded = (results) =>
  JSON.parse(JSON.stringify(results, (_, value) => (typeof value === "number" ? Number(value.toFixed(5)) : value)));

/** One line per case. */
export function written({ measured, ...others }) {
  return `${JSON.stringify({ ...others, measured: [] }).slice(0, -2)}\n${measured.map((one) => JSON.stringify(one)).join(",\n")}\n]}\n`;
}

await runMain(import.meta.url, async (args) => {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean" },
      base: { type: "string" },
      tuned: { type: "string" },
      out: { type: "string" },
    },
  });
  const trained = { name: "trained", folder: values.base ?? here };
  const tuned = { name: "fine-tuned", folder: values.tuned ?? join(here, "yarn"), tuned: 4 };
  const plan = values.quick ? QUICK : FULL;
  const begun = performance.now();
  const results = rounded(await evaluate(plan, plan.tuned ? [trained, tuned] : [trained]));
  const tables = tablesOf(results);
  console.log(values.quick ? summaryOf(results) : tables);
  console.log(`measured in ${Math.round((performance.now() - begun) / 1000)} s`);
  const out = values.out ?? (values.quick ? undefined : join(here, "results"));
  if (out !== undefined) {
    const { drawLossByPosition, drawRecallByDistance } = await import("./charts.mjs"); // loads the chart libraries only when needed
    await mkdir(out, { recursive: true });
    const file = (name, text) => writeFile(join(out, name), text);
    await file("evaluation.json", written(results));
    await file("tables.md", tables);
    await file("loss_by_position.svg", drawLossByPosition(results));
    await file("recall_by_distance.svg", drawRecallByDistance(results));
  }
});
