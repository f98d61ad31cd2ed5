// docs/retune.svg: what retuning does to scores, from what the package computes. `node scripts/draw_retune.mjs`, after a build.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { load } from "ropewalk";
import { CARD, lightAndDark } from "../examples/light_and_dark.mjs";
import { runMain } from "./run.mjs";

const target = join(import.meta.dirname, "..", "docs", "retune.svg");

const [head_dim, length, factor] = [128, 4096, 4];
const plain = { head_dim, rope_theta: 10000, pairing: "half" };
const yarn = { ...plain, rope_scaling: { rope_type: "yarn", factor, original_max_position_embeddings: length } };

/** Scores of the newest token's query with all keys by distance, where every query and key was all ones before it was turned. */
async function measure() {
  const rw = await load({ build: "simd" }); // the same bits everywhere
  const ones = (tokens) => new Float32Array(tokens * head_dim).fill(1);
  const shape = (tokens) => ({ layout: "thd", shape: [tokens, 1, head_dim] });
  const rope = rw.rope(yarn);
  const { inv_freq, attention_factor, softmax_scale } = rope.plan();
  const query = rope.rotate(ones(1), { ...shape(1), positions: length - 1 });
  const largestError = (scores) =>
    scores.reduce((largest, score, distance) => Math.max(largest, Math.abs(score - exact[distance])), 0);

  const fill = (config, dtype) => {
    const cache = rw.kvCache({ rope: config, kvHeads: 1, maxLength: length, dtype });
    cache.append({ k: ones(length), v: ones(length), ...shape(length) });
    return cache;
  };
  const scoresOf = (cache) => {
    const { k } = cache.read();
    const scoreAt = (token) =>
      query.reduce((sum, element, i) => sum + element * k[token * head_dim + i], 0) * softmax_scale;
    return Array.from({ length }, (_, distance) => scoreAt(length - 1 - distance));
  };
  const exact = Array.from({ length }, (_, distance) => {
    const cosines = inv_freq.reduce((sum, frequency) => sum + Math.cos(frequency * distance), 0);
    return 2 * cosines * attention_factor ** 2 * softmax_scale;
  });

  const curves = {};
  const errors = ["f32", "f16", "bf16", "q8_0"].map((dtype) => {
    const [cache, afresh] = [fill(plain, dtype), fill(yarn, dtype)];
    const [stale, fresh] = [scoresOf(cache), scoresOf(afresh)];
    cache.retune({ rope: yarn });
    const retuned = scoresOf(cache);
    if (dtype === "f32") Object.assign(curves, { fresh, retuned, stale });
    for (const made of [cache, afresh]) made.dispose();
    return { dtype, fresh: largestError(fresh), retuned: largestError(retuned), stale: largestError(stale) };
  });
  rope.dispose();
  return { curves, errors };
}

const { colour, darkRules } = lightAndDark({
  ...CARD,
  fresh: ["#a5d3ff", "#1f5fae"],
  retuned: ["#0a3069", "#cae8ff"],
  stale: ["#d1242f", "#ff7b72"],
});

const width = 720;
const common = { width, marginLeft: 86, marginRight: 28, style: { fontSize: "13px" } };
const fresh = { stroke: colour.fresh, strokeWidth: 8, strokeLinecap: "round", strokeLinejoin: "round" };
const retuned = { stroke: colour.retuned, strokeWidth: 1.6, strokeLinejoin: "round" };
const stale = { stroke: colour.stale, strokeWidth: 1.6, strokeLinejoin: "round" };
const words = { fill: colour.text, textAnchor: "start" };

/** A curve's points: the mean of the scores at the distances within 8 % of each, so that near ones are single keys. */
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
    [14.2, fresh, "keys computed afresh under YaRN"],
    [13.1, retuned, "the cache, retuned"],
    [12.0, stale, "the cache, not retuned"],
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
      Plot.gridY({ stroke: colour.edge, strokeOpacity: 1, ticks: [0, 5, 10, 15] }),
      Plot.axisY({ ticks: [0, 5, 10, 15], tickSize: 0, fill: colour.faint, label: null }),
      Plot.axisX({
        ticks: [1, 4, 16, 64, 256, 1024, 4096],
        tickFormat: String,
        tickSize: 4,
        color: colour.faint,
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
      Plot.text(["tokens between query and key"], { frameAnchor: "bottom", dy: 40, fill: colour.faint }),
      Plot.text(["score q · k / √d"], {
        frameAnchor: "left",
        textAnchor: "middle",
        rotate: -90,
        dx: -56,
        fill: colour.faint,
      }),
      heading("A query under YaRN × 4 meets 4096 keys that were cached under plain RoPE"),
    ],
  });
}

function drawErrors(document, errors) {
  const rows = errors;
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
      Plot.ruleY(rows, { y: "dtype", stroke: colour.edge }),
      Plot.axisY({ tickSize: 0, fill: colour.text, label: null }),
      Plot.axisX({
        ticks: [1e-7, 1e-5, 1e-3, 1e-1, 10],
        tickFormat: (x) => (x === 10 ? "10" : `10${superscript(Math.log10(x))}`),
        tickSize: 4,
        color: colour.faint,
        label: null,
      }),
      Plot.dot(rows, { ...dot, x: "fresh", r: 8, fill: colour.fresh }),
      Plot.dot(rows, { ...dot, x: "retuned", fill: colour.retuned }),
      Plot.dot(rows, { ...dot, x: "stale", fill: colour.stale }),
      Plot.text(rows, {
        ...words,
        y: "dtype",
        x: "retuned",
        dx: 12,
        dy: -9,
        fill: colour.faint,
        text: ({ retuned }) => retuned.toExponential(1),
      }),
      Plot.text(["largest error of a score"], { frameAnchor: "bottom", dy: 40, fill: colour.faint }),
      heading("What is left of the error, by the element type that the cache holds"),
    ],
  });
}

function heading(text) {
  return Plot.text([text], {
    frameAnchor: "top-left",
    dx: -64,
    dy: -30,
    fill: colour.text,
    fontWeight: 600,
    fontSize: 14,
  });
}

function superscript(exponent) {
  return String(exponent).replace(/./g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
}

/** The picture as text. */
export async function drawRetune() {
  const { curves, errors } = await measure();
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const drawings = [drawCurves(document, curves), drawErrors(document, errors)];
  let top = 0;
  const inner = drawings.map((drawing) => {
    for (const style of drawing.querySelectorAll("style")) style.remove();
    const y = top;
    top += Number(drawing.getAttribute("height"));
    return `<g transform="translate(0,${y})">${drawing.innerHTML}</g>`;
  });
  const description =
    "With keys that are retuned, scores lie on those of keys computed afresh; with keys that are not, they are far below.";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" role="img" aria-labelledby="title about">`,
    `<title id="title">A cache retuned from plain RoPE to YaRN</title><desc id="about">${description}</desc>`,
    `<style>text{white-space:pre}@media (prefers-color-scheme:dark){${darkRules.join("")}}</style>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${top - 1}" rx="8" fill="${colour.card}" stroke="${colour.edge}"/>`,
    `<g font-family="system-ui, sans-serif" font-size="13" text-anchor="middle" stroke-width="1">`,
    ...inner,
    "</g></svg>\n",
  ]
    .join("\n")
    .replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2))));
}

await runMain(import.meta.url, async () => {
  const picture = await drawRetune();
  await writeFile(target, picture);
  console.log(`docs/retune.svg: ${picture.length} characters`);
});
