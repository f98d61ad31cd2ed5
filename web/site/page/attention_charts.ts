// Charts of attention weights: all heads of some layers, and one head.
import { drawChart, Plot } from "./chart.js";
import { percentText } from "./units.js";

/** Smaller weights aren't drawn. */
const [MIN_IN_HEADS, MIN_IN_HEAD] = [0.02, 0.002];
/** Tokens with the largest weights of a head, named in the chart if they have this weight or more. */
const [NAMED, MIN_NAMED] = [3, 0.05];
/** CSS pixels of a head's row, and of the place for the name of a reading above its rows. */
const [ROW_HEIGHT, TITLE_HEIGHT] = [15, 34];

/** The weights of some heads under one scaling. */
export interface Reading {
  /** Of the scaling, for readers. */
  readonly name: string;
  /** The weights of each head by token, by the head's name. */
  readonly heads: ReadonlyMap<string, Float32Array>;
}

/** What the charts share. */
export interface AttentionPicture {
  /** One, or those before and after a change of the scaling. */
  readonly readings: readonly Reading[];
  /** The chosen head. */
  readonly head: string;
  /** The chosen token. */
  readonly token: number;
  /** A token to find, marked by a dashed line. */
  readonly sought?: number;
  /** The text of a token. */
  readonly textOf: (token: number) => string;
}

/** What a click on the chart of heads chooses. */
export interface ChosenMark {
  readonly head: string;
  readonly token: number;
}

const WHEN = ["before", "after"];
const titlesOf = (readings: readonly Reading[]): string[] =>
  readings.length === 1 ? [""] : readings.map(({ name }, i) => `${WHEN[i]!}: ${name}`);
const colorOf = (names: readonly string[]) => (mark: { name: string }) =>
  names.length > 1 && mark.name === names[0] ? "var(--trained)" : "var(--chosen)";

/** A weight under each reading: 60 % before (plain), 83 % after (YaRN × 4). */
export function weightsText(readings: readonly Reading[], weights: readonly number[]): string {
  if (readings.length === 1) return percentText(weights[0]!);
  return readings.map(({ name }, i) => `${percentText(weights[i]!)} ${WHEN[i]!} (${name})`).join(", ");
}

const lengthOf = ({ readings, head }: AttentionPicture): number => readings[0]!.heads.get(head)!.length;

/** The names of the readings above their parts of a chart. */
function titles(names: readonly string[]): Plot.Markish {
  return Plot.text(names, {
    fy: (name: string) => name,
    text: (name: string) => name,
    frameAnchor: "top-right",
    dy: -16,
    fontSize: 13,
  });
}

/** A row for each head, a mark for each token that it reads with a large weight. */
export function drawHeads(figure: HTMLElement, caption: string, picture: AttentionPicture): void {
  const { readings, head, sought, textOf } = picture;
  const names = titlesOf(readings);
  const rows = [...readings[0]!.heads.keys()];
  const marks = readings.flatMap(({ heads }, i) =>
    [...heads].flatMap(([row, weights]) =>
      Array.from(weights, (weight, token) => ({ name: names[i]!, head: row, token, weight })).filter(
        ({ weight }) => weight > MIN_IN_HEADS,
      ),
    ),
  );
  const rowsHeight = rows.length * ROW_HEIGHT;
  drawChart(figure, "Attention weights of all heads", caption, {
    height: (rowsHeight + TITLE_HEIGHT) * names.length + 60,
    marginLeft: 44,
    marginRight: 20,
    x: { domain: [0, lengthOf(picture)], label: "token that is read" },
    y: { domain: rows, label: null },
    fy: { domain: names, label: null, axis: null, padding: TITLE_HEIGHT / (rowsHeight + TITLE_HEIGHT) },
    r: { domain: [0, 1], range: [0, 9] },
    marks: [
      titles(names),
      Plot.ruleY([head], { stroke: "var(--line)", strokeWidth: 12 }),
      Plot.ruleX(sought === undefined ? [] : [sought], { stroke: "var(--right)", strokeDasharray: "4 3" }),
      Plot.dot(marks, { fy: "name", x: "token", y: "head", r: "weight", fill: colorOf(names), fillOpacity: 0.8 }),
      Plot.tip(
        marks,
        Plot.pointer({
          fy: "name",
          x: "token",
          y: "head",
          title: (mark: ChosenMark & { weight: number }) =>
            `head ${mark.head}: ${percentText(mark.weight)} on token ${mark.token}, “${textOf(mark.token)}”`,
          fill: "var(--raised)",
          stroke: "var(--line)",
        }),
      ),
    ],
  });
}

/** One head: its weights by token, with the texts of those that have the largest. */
export function drawHead(figure: HTMLElement, caption: string, picture: AttentionPicture): void {
  const { readings, head, token, sought, textOf } = picture;
  const names = titlesOf(readings);
  const bars = readings.flatMap(({ heads }, i) =>
    Array.from(heads.get(head)!, (weight, at) => ({ name: names[i]!, token: at, weight })).filter(
      ({ weight }) => weight > MIN_IN_HEAD,
    ),
  );
  const named = names.flatMap((name) =>
    bars
      .filter((bar) => bar.name === name && bar.weight > MIN_NAMED)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, NAMED),
  );
  drawChart(figure, "Attention weights of one head", caption, {
    height: 150 * names.length + 70,
    x: { domain: [0, lengthOf(picture)], label: "token that is read" },
    y: { domain: [0, 1], label: "weight", ticks: [0, 0.5, 1], tickFormat: (weight: number) => percentText(weight) },
    fy: { domain: names, label: null, axis: null, padding: 0.3 },
    marks: [
      titles(names),
      Plot.ruleX(sought === undefined ? [] : [sought], { stroke: "var(--right)", strokeDasharray: "4 3" }),
      Plot.ruleX([token], { stroke: "var(--line)" }),
      Plot.ruleX(bars, { fy: "name", x: "token", y1: 0, y2: "weight", stroke: colorOf(names), strokeWidth: 2.5 }),
      Plot.text(named, { fy: "name", x: "token", y: "weight", text: (bar: ChosenMark) => textOf(bar.token), dy: -8 }),
      Plot.tip(
        bars,
        Plot.pointerX({
          fy: "name",
          x: "token",
          y: "weight",
          title: (bar: ChosenMark & { weight: number }) =>
            `${bar.token} “${textOf(bar.token)}”: ${percentText(bar.weight)}`,
          fill: "var(--raised)",
          stroke: "var(--line)",
        }),
      ),
    ],
  });
}
