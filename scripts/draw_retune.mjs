// Draws docs/pictures/retune.svg: attention scores before and after retuning a cache. Run `node scripts/draw_retune.mjs` after a build.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { CARD, lightAndDark, svgCard } from "../examples/light_and_dark.mjs";
import { length, measureRetune } from "./retune_scores.mjs";
import { runMain } from "./run.mjs";

const target = join(import.meta.dirname, "..", "docs", "pictures", "retune.svg");

const { color, darkRules } = lightAndDark({
  ...CARD,
  fresh: ["#a5d3ff", "#1f5fae"],
  retuned: ["#0a3069", "#cae8ff"],
  stale: ["#d1242f", "#ff7b72"],
});

const width = 720;
const common = { width, marginLeft: 86, marginRight: 28, style: { fontSize: "13px" } };
const fresh = { stroke: color.fresh, strokeWidth: 8, strokeLinecap: "round", strokeLinejoin: "round" };
const retuned = { stroke: color.retuned, strokeWidth: 1.6, strokeLinejoin: "round" };
const stale = { stroke: color.stale, strokeWidth: 1.6, strokeLinejoin: "round" };
const words = { fill: color.text, textAnchor: "start" };

/** The points of a curve. Each is the mean score over the distances within 8 % of its own, so short distances are single keys. */
function pointsOf(scores) {
  const distances = new Set(Array.from({ length: 200 }, (_, i) => Math.round((length - 1) ** (i / 199))));
  return Array.from(distances, (distance) => {
    const near = scores.slice(Math.ceil(distance / 1.08), Math.floor(distance * 1.08) + 1);
    return { distance, score: near.reduce((sum, score) => sum + score, 0) / near.length };
  });
}

function drawCurves(document, curves) {
  const axes = { x: "distance", y: "score" };
  const legend = [
    [14.2, fresh, "keys recomputed under YaRN"],
    [13.1, retuned, "cached keys, retuned"],
    [12.0, stale, "cached keys, not retuned"],
  ];
  return Plot.plot({
    ...common,
    document,
    height: 330,
    marginTop: 46,
    marginBottom: 48,
    x: { type: "log", base: 4, domain: [1, length] },
    y: { domain: [-1.2, 15] },
    marks: [
      Plot.gridY({ stroke: color.edge, strokeOpacity: 1, ticks: [0, 5, 10, 15] }),
      Plot.axisY({ ticks: [0, 5, 10, 15], tickSize: 0, fill: color.faint, label: null }),
      Plot.axisX({
        ticks: [1, 4, 16, 64, 256, 1024, 4096],
        tickFormat: String,
        tickSize: 4,
        color: color.faint,
        label: null,
      }),
      Plot.line(pointsOf(curves.fresh), { ...axes, ...fresh }),
      Plot.line(pointsOf(curves.stale), { ...axes, ...stale }),
      Plot.line(pointsOf(curves.retuned), { ...axes, ...retuned }),
      ...legend.flatMap(([y, line, text]) => [
        Plot.line(
          [
            [110, y],
            [165, y],
          ],
          line,
        ),
        Plot.text([[190, y]], { ...words, text: [text] }),
      ]),
      Plot.text(["tokens between query and key"], { frameAnchor: "bottom", dy: 40, fill: color.faint }),
      Plot.text(["score q · k / √d"], {
        frameAnchor: "left",
        textAnchor: "middle",
        rotate: -90,
        dx: -56,
        fill: color.faint,
      }),
      heading("Scores of a YaRN × 4 query with 4096 keys cached under plain RoPE"),
    ],
  });
}

function drawErrors(document, errors) {
  const dot = { y: "dtype", r: 5 };
  return Plot.plot({
    ...common,
    document,
    height: 218,
    marginTop: 46,
    marginBottom: 48,
    x: { type: "log", domain: [5e-8, 20] },
    y: { domain: errors.map(({ dtype }) => dtype), padding: 0.5 },
    marks: [
      Plot.ruleY(errors, { y: "dtype", stroke: color.edge }),
      Plot.axisY({ tickSize: 0, fill: color.text, label: null }),
      Plot.axisX({
        ticks: [1e-7, 1e-5, 1e-3, 1e-1, 10],
        tickFormat: (x) => (x === 10 ? "10" : `10${superscript(Math.log10(x))}`),
        tickSize: 4,
        color: color.faint,
        label: null,
      }),
      Plot.dot(errors, { ...dot, x: "fresh", r: 8, fill: color.fresh }),
      Plot.dot(errors, { ...dot, x: "retuned", fill: color.retuned }),
      Plot.dot(errors, { ...dot, x: "stale", fill: color.stale }),
      Plot.text(errors, {
        ...words,
        y: "dtype",
        x: "retuned",
        dx: 12,
        dy: -9,
        fill: color.faint,
        text: ({ retuned }) => retuned.toExponential(1),
      }),
      Plot.text(["largest error of a score"], { frameAnchor: "bottom", dy: 40, fill: color.faint }),
      heading("Errors by the element type of the cache"),
    ],
  });
}

function heading(text) {
  return Plot.text([text], {
    frameAnchor: "top-left",
    dx: -64,
    dy: -30,
    fill: color.text,
    fontWeight: 600,
    fontSize: 14,
  });
}

function superscript(exponent) {
  return String(exponent).replace(/./g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
}

/** Returns the text of the SVG file. */
export async function drawRetune() {
  const { curves, errors } = await measureRetune();
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const drawings = [drawCurves(document, curves), drawErrors(document, errors)];
  let top = 0;
  const inner = drawings.map((drawing) => {
    for (const style of drawing.querySelectorAll("style")) style.remove();
    const y = top;
    top += Number(drawing.getAttribute("height"));
    return `<g transform="translate(0,${y})">${drawing.innerHTML}</g>`;
  });
  const about =
    "The scores of retuned keys match those of recomputed keys. The scores of keys that aren't retuned are far lower.";
  const title = "A cache retuned from plain RoPE to YaRN";
  return svgCard({ width, height: top, title, about }, inner.join("\n"), { color, darkRules });
}

await runMain(import.meta.url, async () => {
  const picture = await drawRetune();
  await writeFile(target, picture);
  console.log(`docs/pictures/retune.svg: ${picture.length} characters`);
});
