// Formats results as Markdown tables.
import { distanceOctaves, positionSteps } from "./measures.mjs";
import { scalings } from "./scalings.mjs";

export const labelOf = (scaling) => scalings[scaling]?.label ?? "none, window shifted";

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Sample standard deviation; undefined for a single value. */
export function deviation(values) {
  if (values.length < 2) return undefined;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

/** Share of right answers by group, for the octaves of distance from `first` up to `end`. NaN if none was asked. */
export function recallOf({ groups }, first = 0, end = Infinity) {
  const sum = (counts) => counts.slice(first, end).reduce((total, count) => total + count, 0);
  return groups.map(({ asked, right }) => sum(right) / sum(asked));
}

/** Mean and spread of the groups' values as text, empty if there are none. */
export function cell(values) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return "";
  const spread = deviation(known);
  return spread === undefined ? mean(known).toFixed(2) : `${mean(known).toFixed(2)} ± ${spread.toFixed(2)}`;
}

/** A Markdown table from column titles and rows. The first cell of a row is its title. */
export function table(title, columns, rows) {
  const lines = [[title, ...columns], ["---", ...columns.map(() => "---")], ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export const timesOf = (length, trainedLength) => `${length / trainedLength}×`;

/** A table with a row for each scaling and a column for each length. */
function byLength({ measured, trainedLength }, model, valuesOf) {
  const cases = measured.filter((one) => one.model === model && one.scaling !== "shift");
  const lengths = [...new Set(cases.map(({ length }) => length))];
  const rows = [...new Set(cases.map(({ scaling }) => scaling))].map((scaling) => [
    labelOf(scaling),
    ...lengths.map((length) => cell(valuesOf(cases.find((one) => one.scaling === scaling && one.length === length)))),
  ]);
  return table(
    "",
    lengths.map((length) => `${timesOf(length, trainedLength)} (${length})`),
    rows,
  );
}

/** The lengths at which all scalings are measured. */
const lengthsOf = ({ measured }) => [
  ...new Set(measured.filter(({ scaling }) => scaling !== "shift").map(({ length }) => length)),
];

/** A table of right answers at one length, with a row for each scaling and a column for each octave of distance. */
function byDistance({ measured }, model, length) {
  const cases = measured.filter((one) => one.model === model && (one.recallLength ?? one.length) === length);
  const octaves = Array.from({ length: distanceOctaves.count(length) }, (_, i) => distanceOctaves.first * 2 ** i);
  const rows = cases.map((one) => [labelOf(one.scaling), ...octaves.map((_, i) => cell(recallOf(one, i, i + 1)))]);
  return table(
    "",
    octaves.map((from) => `${from} to ${2 * from - 1}`),
    rows,
  );
}

/** A table of losses in the longest texts by octave of positions, including the shifted window. */
function byPosition({ measured, plan, trainedLength }, model) {
  const longest = Math.max(...plan.stretches) * trainedLength;
  const cases = measured.filter((one) => one.model === model && one.length >= longest);
  const end = Math.max(...cases.map(({ length }) => length));
  const octaves = Array.from({ length: Math.log2(end / 32) }, (_, i) => 32 * 2 ** i);
  const rows = cases.map((one) => [
    labelOf(one.scaling),
    ...octaves.map((_, i) => cell(one.groups.map((group) => positionSteps.octave(group.lossByPosition, i)))),
  ]);
  return table(
    "",
    octaves.map((from) => `${from} to ${2 * from - 1}`),
    rows,
  );
}

const spreadOf = ({ groups }) => (groups === 1 ? "" : ` Mean and standard deviation of ${groups} groups of texts.`);

/** A short summary: loss by length, and right answers by distance. */
export function summaryOf(results) {
  const [{ model }] = results.measured;
  const parts = [
    `Mean loss by length, in nats per token, of a model trained on ${results.trainedLength} tokens.`,
    byLength(results, model, ({ groups }) => groups.map(({ loss }) => loss)),
    "Share of right answers in the longest texts, by words between the fact and the answer.",
    byDistance(results, model, Math.max(...lengthsOf(results))),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** All tables with their titles. */
export function tablesOf(results) {
  const { measured, trainedLength, plan } = results;
  const inside = Math.log2(trainedLength / distanceOctaves.first);
  const models = [...new Set(measured.map(({ model }) => model))];
  const parts = models.flatMap((model) => [
    `#### ${model === "trained" ? `As trained, ${trainedLength} tokens` : "After a fine-tune under YaRN × 4"}`,
    `Mean loss by length, in nats per token.${spreadOf(plan)}`,
    byLength(results, model, ({ groups }) => groups.map(({ loss }) => loss)),
    "Mean loss by position in the longest texts.",
    byPosition(results, model),
    "Mean loss of the answers only.",
    byLength(results, model, ({ groups }) => groups.map(({ answerLoss }) => answerLoss)),
    `Right answers by length, for facts less than ${trainedLength} words back.`,
    byLength(results, model, (one) => recallOf(one, 0, inside)),
    `Right answers by length, for facts at least ${trainedLength} words back.`,
    byLength(results, model, (one) => recallOf(one, inside)),
    ...lengthsOf(results).flatMap((length) => [
      `Right answers at ${timesOf(length, trainedLength)} (${length}), by words between the fact and the answer.`,
      byDistance(results, model, length),
    ]),
  ]);
  return `${parts.join("\n\n")}\n`;
}

/** The results of explain.mjs: a row for each variant, with losses and right answers inside and beyond the trained length. */
export function explanationOf({ measured, trainedLength }) {
  const inside = Math.log2(trainedLength / distanceOctaves.first);
  const stretches = [...new Set(measured.map(({ stretch }) => stretch))];
  const cellsOf = ({ groups }) => [
    cell(groups.map(({ loss }) => loss)),
    cell(groups.map(({ answerLoss }) => answerLoss)),
    cell(recallOf({ groups }, 0, inside)),
    cell(recallOf({ groups }, inside)),
  ];
  const titles = stretches.flatMap((stretch) => [
    `loss at ${stretch}×`,
    `answer loss at ${stretch}×`,
    `right inside, ${stretch}×`,
    `right beyond, ${stretch}×`,
  ]);
  const rows = [...new Set(measured.map(({ name }) => name))].map((name) => [
    name,
    ...stretches.flatMap((stretch) => cellsOf(measured.find((one) => one.name === name && one.stretch === stretch))),
  ]);
  return `${table("", titles, rows)}\n`;
}
