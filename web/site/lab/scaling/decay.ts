// The decay of the panel "Past the window": the score of two equal vectors by their distance.
import { drawChart, Plot, widthOf } from "../../page/chart.js";
import { shown } from "../../page/elements.js";
import type { Curve, Lengths } from "./kinds.js";

/** Width of a column of distances in CSS pixels, and the distances that are computed in each. */
const COLUMN = 8;
const SAMPLES = 64;

interface Column {
  distance: number;
  mean: number;
}

/** Scores oscillate from one distance to the next, so a line is the mean of a column's distances. */
export function drawDecay(figure: HTMLElement, curves: readonly Curve[], lengths: Lengths): void {
  const count = Math.floor(widthOf(figure) / COLUMN);
  const lines = curves.map((curve) => ({ ...curve, columns: columnsOf(curve, count, lengths) }));
  const marks = [
    { distance: lengths.trained, name: "trained length" },
    { distance: lengths.extended, name: "extended length" },
  ];
  drawChart(figure, "The score of two equal vectors by distance", decayCaption(curves), {
    height: 300,
    marginTop: 34,
    x: { type: "log", label: "distance, positions", domain: [1, lengths.extended], ticks: 5, tickFormat: "~s" },
    y: { label: "score / score at distance 0", domain: [-0.2, 1], ticks: 6 },
    marks: [
      Plot.ruleY([0], { stroke: "var(--line)" }),
      Plot.ruleX(marks, { x: "distance", stroke: "var(--trained)", strokeDasharray: "2 3" }),
      ...marks.map((mark, index) =>
        Plot.text([mark], {
          x: "distance",
          text: "name",
          frameAnchor: "top",
          dx: index === 0 ? -4 : 0,
          dy: index === 0 ? 0 : -14, // above the chart: on phones the two lines are near each other
          textAnchor: "end",
          fill: "var(--faint)",
        }),
      ),
      ...lines.map(({ columns, color, dashes }) =>
        Plot.line(columns, { x: "distance", y: "mean", stroke: color, strokeWidth: 2, strokeDasharray: dashes }),
      ),
    ],
  });
}

const kept = new WeakMap<Curve["rope"], { key: string; columns: Column[] }>();

function columnsOf({ rope }: Curve, count: number, { extended, text }: Lengths): Column[] {
  const key = `${count} ${extended} ${text}`;
  const known = kept.get(rope);
  if (known?.key === key) return known.columns;
  const { rotary_dim } = rope.plan(text);
  const columns = Array.from({ length: count }, (_, column) => {
    const [first, next] = [extended ** (column / count), extended ** ((column + 1) / count)];
    const shares = rope
      .decay({ first, step: (next - first) / SAMPLES, count: SAMPLES, seqLen: text })
      .map((score) => score / rotary_dim);
    return {
      distance: Math.sqrt(first * next),
      mean: shares.reduce((sum, share) => sum + share, 0) / SAMPLES,
    };
  });
  kept.set(rope, { key, columns });
  return columns;
}

function decayCaption(curves: readonly Curve[]): string {
  const falls = curves.map(({ name, description: { first_negative_distance: distance, decay_limit } }) => {
    return `${name} ${distance === null ? `not up to ${shown(decay_limit, 8)}` : shown(distance)}`;
  });
  return `The score first drops below zero at distance: ${falls.join("; ")}. The lines are means of nearby distances, so they drop later.`;
}
