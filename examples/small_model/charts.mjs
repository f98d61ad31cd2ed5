// Draws the two charts of the results as SVG for light and dark pages.
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { CARD, lightAndDark, svgCard } from "../light_and_dark.mjs";
import { distanceOctaves, positionSteps } from "./measures.mjs";
import { labelOf, mean, recallOf } from "./tables.mjs";

const { color, darkRules } = lightAndDark({
  ...CARD,
  inside: ["#f3f6f9", "#161c25"],
  none: ["#d1242f", "#ff7b72"],
  linear: ["#bc6a00", "#e3a54a"],
  ntk: ["#8250df", "#bc8cff"],
  dynamic: ["#bf3989", "#f778ba"],
  ntk_by_parts: ["#1a7f37", "#4ac26b"],
  yarn: ["#0969da", "#58a6ff"],
  dynamic_yarn: ["#0e8a94", "#39c5cf"],
  shift: ["#6e7781", "#8b949e"],
  tuned: ["#0a3069", "#cae8ff"],
});

const [width, height] = [820, 430];
const margins = { marginLeft: 62, marginRight: 178, marginTop: 66, marginBottom: 62 };
const innerHeight = height - margins.marginTop - margins.marginBottom;
const LINE = 17; // pixels between two labels

/** The cases to draw: every scaling on the trained weights and YaRN on the fine-tuned ones, in the longest texts. */
function drawn({ measured, plan, trainedLength }) {
  const longest = Math.max(...plan.stretches) * trainedLength;
  const isLongest = (one) => (one.recallLength ?? one.length) === longest;
  return measured
    .filter((one) => isLongest(one) && (one.model === "trained" || one.scaling === "yarn"))
    .map((one) => {
      const isTuned = one.model !== "trained";
      return {
        one,
        isBold: isTuned || one.scaling === "yarn",
        stroke: color[isTuned ? "tuned" : one.scaling],
        label: isTuned ? "YaRN, fine-tuned × 4" : labelOf(one.scaling),
      };
    });
}

/** Mean, lowest and highest value over the groups that have one. */
function point(x, values) {
  const known = values.filter((value) => typeof value === "number" && !Number.isNaN(value));
  return known.length === 0 ? [] : [{ x, y: mean(known), low: Math.min(...known), high: Math.max(...known) }];
}

/** y coordinates of the labels at the ends of the curves: in the order of the curves, without overlap. */
function labelHeights(ends, [low, high]) {
  const gap = (LINE * (high - low)) / innerHeight;
  const order = ends.map((end, i) => ({ i, at: Math.min(high, Math.max(low, end)) })).sort((a, b) => a.at - b.at);
  order.forEach((label, i) => (label.at = i === 0 ? label.at : Math.max(label.at, order[i - 1].at + gap)));
  const excess = order.at(-1).at - high;
  if (excess > 0) {
    order.at(-1).at = high;
    for (let i = order.length - 2; i >= 0; i--) order[i].at = Math.min(order[i].at, order[i + 1].at - gap);
  }
  const heights = [];
  for (const { i, at } of order) heights[i] = at;
  return heights;
}

/**
 * Draws curves with bands and labels at their ends, over a logarithmic axis with the trained length marked.
 * @param curves - `{ points: [{ x, y, low, high }], label, stroke, isBold }[]`
 */
function draw({
  curves,
  trainedLength,
  longest,
  xFirst,
  yDomain,
  yTicks,
  yFormat,
  title,
  subtitle,
  xTitle,
  yTitle,
  about,
}) {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const ends = curves.map(({ points }) => points.at(-1));
  const heights = labelHeights(
    ends.map(({ y }) => y),
    yDomain,
  );
  const ticks = Array.from({ length: Math.log2(longest / xFirst) + 1 }, (_, i) => xFirst * 2 ** i);
  const band = { y1: "low", y2: "high", x: "x", fillOpacity: 0.14 };
  const words = { textAnchor: "start", frameAnchor: "right" };
  const drawing = Plot.plot({
    document,
    width,
    height,
    ...margins,
    style: { fontSize: "13px" },
    x: { type: "log", base: 2, domain: [xFirst, longest] },
    y: { domain: yDomain, clamp: true },
    marks: [
      Plot.rect([0], { x1: xFirst, x2: trainedLength, y1: yDomain[0], y2: yDomain[1], fill: color.inside }),
      Plot.gridY({ stroke: color.edge, strokeOpacity: 1, ticks: yTicks }),
      Plot.axisY({ ticks: yTicks, tickFormat: yFormat, tickSize: 0, fill: color.faint, label: null }),
      Plot.axisX({
        ticks,
        tickFormat: (x) => (x >= trainedLength ? `${x}\n${x / trainedLength}×` : String(x)),
        tickSize: 4,
        color: color.faint,
        label: null,
      }),
      Plot.ruleX([trainedLength], { stroke: color.faint, strokeDasharray: "3 3" }),
      Plot.text(["trained length"], {
        x: () => trainedLength,
        frameAnchor: "top",
        textAnchor: "end",
        dx: -7,
        dy: 6,
        fill: color.faint,
      }),
      ...curves.map(({ points, stroke }) => Plot.areaY(points, { ...band, fill: stroke })),
      ...curves.map(({ points, stroke, isBold }) =>
        Plot.line(points, {
          x: "x",
          y: "y",
          stroke,
          strokeWidth: isBold ? 3 : 1.7,
          strokeLinejoin: "round",
          strokeLinecap: "round",
        }),
      ),
      ...curves.map(({ stroke }, i) =>
        Plot.link([0], {
          x1: ends[i].x,
          y1: ends[i].y,
          x2: longest,
          y2: heights[i],
          stroke,
          strokeWidth: 1,
          strokeDasharray: "1 3",
        }),
      ),
      ...curves.map(({ label, stroke, isBold }, i) =>
        Plot.text([label], { ...words, y: () => heights[i], dx: 9, fill: stroke, fontWeight: isBold ? 700 : 500 }),
      ),
      Plot.text([xTitle], { frameAnchor: "bottom", dy: 54, fill: color.faint }),
      Plot.text([yTitle], { frameAnchor: "left", textAnchor: "middle", rotate: -90, dx: -48, fill: color.faint }),
      Plot.text([title], {
        frameAnchor: "top-left",
        textAnchor: "start",
        dx: -46,
        dy: -50,
        fill: color.text,
        fontWeight: 600,
        fontSize: 16,
      }),
      Plot.text([subtitle], { frameAnchor: "top-left", textAnchor: "start", dx: -46, dy: -27, fill: color.faint }),
    ],
  });
  for (const style of drawing.querySelectorAll("style")) style.remove();
  return svgCard({ width, height, title, about }, drawing.innerHTML, { color, darkRules });
}

const spreadOf = ({ plan }) =>
  plan.groups === 1 ? "one group of stories" : `mean of ${plan.groups} groups of stories; bands from lowest to highest`;

/** Loss by position in the longest texts. */
export function drawLossByPosition(results) {
  const { trainedLength, plan } = results;
  const longest = Math.max(...plan.stretches) * trainedLength;
  const curves = drawn(results).map((curve) => {
    const steps = positionSteps.starts(longest).flatMap((start, i) =>
      point(
        start * 2 ** (1 / 6),
        curve.one.groups.map(({ lossByPosition }) => lossByPosition[i]),
      ),
    );
    return { ...curve, points: steps };
  });
  const top = Math.ceil(2 * Math.max(...curves.flatMap(({ points }) => points.map(({ high }) => high)))) / 2;
  const bottom = Math.floor(4 * Math.min(...curves.flatMap(({ points }) => points.map(({ low }) => low)))) / 4;
  const step = top > 4 ? 1 : 0.5;
  return draw({
    curves,
    trainedLength,
    longest,
    xFirst: 32,
    yDomain: [bottom, top],
    yTicks: Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step).filter((tick) => tick >= bottom),
    yFormat: (loss) => loss.toFixed(1),
    title: `A model trained on ${trainedLength} tokens reads ${longest.toLocaleString("en")}: loss under each RoPE scaling`,
    subtitle: `Loss by position, ${spreadOf(results)}`,
    xTitle: "position in the text, tokens",
    yTitle: "loss, nats per token",
    about: "One curve per scaling: mean loss by position, below and above the trained length.",
  });
}

/** Share of right answers by distance of the fact, in the longest texts. */
export function drawRecallByDistance(results) {
  const { trainedLength, plan } = results;
  const longest = Math.max(...plan.stretches) * trainedLength;
  const first = distanceOctaves.first;
  const curves = drawn(results).map((curve) => {
    const octaves = Array.from({ length: distanceOctaves.count(longest) }, (_, i) => first * 2 ** i);
    return { ...curve, points: octaves.flatMap((from, i) => point(from * Math.SQRT2, recallOf(curve.one, i, i + 1))) };
  });
  return draw({
    curves,
    trainedLength,
    longest,
    xFirst: first,
    yDomain: [0, 1],
    yTicks: [0, 0.25, 0.5, 0.75, 1],
    yFormat: (share) => `${share * 100} %`,
    title: `Recall of facts by distance, in texts of ${longest.toLocaleString("en")} tokens`,
    subtitle: `Share of right answers; ${spreadOf(results)}`,
    xTitle: "words between the fact and the answer",
    yTitle: "right answers",
    about: "One curve per scaling: share of right answers by the distance of the fact in words.",
  });
}
