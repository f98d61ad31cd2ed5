// Curves of S(Δ) / S(0), the relative score of two equal vectors at distance Δ, on a logarithmic axis.
import { axes, pathThrough, plotArea, svg } from "./svg.js";

const LOWEST = -0.4;
const SAMPLES = 64; // distances per column
const COLUMN = 3; // pixels

const short = (distance) => (distance < 1000 ? String(distance) : `${distance / 1000}k`);

/** Draws `curves` of `{ name, rope, seqLen }` up to the distance `limit`, and `marks` of `{ distance, text }`. */
export function drawDecay(drawing, curves, limit, marks) {
  const area = plotArea(drawing, 340, { left: 42, right: 12, top: 30, bottom: 44 });
  const width = area.right - area.left;
  const x = (distance) => area.left + (Math.log(distance) / Math.log(limit)) * width;
  const y = (score) => area.bottom - ((score - LOWEST) / (1 - LOWEST)) * (area.bottom - area.top);

  const powers = Array.from({ length: Math.floor(Math.log10(limit)) + 1 }, (_, power) => 10 ** power);
  const scores = [-0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1];
  const xTicks = powers.map((distance) => [x(distance), short(distance)]);
  const yTicks = scores.map((score) => [y(score), score.toFixed(1)]);
  drawing.replaceChildren(
    axes(area, xTicks, yTicks, "distance between query and key, positions", "S(Δ) / S(0)"),
    svg("line", { class: "zero", x1: area.left, x2: area.right, y1: y(0), y2: y(0) }),
    ...marks.map(({ distance, text }, index) => drawMark(x(distance), area, text, index)),
    ...curves.flatMap((curve) => drawCurve(curve, columnsOf(curve, width, limit), area.left, y)),
  );
}

function drawMark(x, { top, bottom }, text, index) {
  const line = svg("line", { x1: x, x2: x, y1: top, y2: bottom });
  return svg(
    "g",
    { class: "mark" },
    line,
    svg("text", { x: x - 6, y: bottom - 10 - 16 * index, "text-anchor": "end" }, text),
  );
}

/** Lowest, highest and mean score over the distances in each column. */
function columnsOf({ rope, seqLen }, width, limit) {
  const { rotary_dim } = rope.plan(seqLen);
  return Array.from({ length: Math.floor(width / COLUMN) }, (_, column) => {
    const [first, next] = [column, column + 1].map((edge) => limit ** ((edge * COLUMN) / width));
    const shares = rope
      .decay({ first, step: (next - first) / SAMPLES, count: SAMPLES, seqLen })
      .map((score) => score / rotary_dim);
    return {
      low: Math.min(...shares),
      high: Math.max(...shares),
      mean: shares.reduce((sum, share) => sum + share, 0) / SAMPLES,
    };
  });
}

function drawCurve({ name }, columns, left, y) {
  const points = (key) => columns.map((column, index) => [left + (index + 0.5) * COLUMN, y(column[key])]);
  return [
    svg("path", { class: `band ${name}`, d: `${pathThrough([...points("high"), ...points("low").reverse()])}Z` }),
    svg("path", { class: `curve ${name}`, d: pathThrough(points("mean")) }),
  ];
}
