// The pictures of docs/rope_and_yarn_from_zero.md, drawn from what the package computes. `node scripts/draw_pairs.mjs`, after a build.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { load } from "ropewalk";
import { CARD, lightAndDark, svgCard } from "../examples/light_and_dark.mjs";
import { runMain } from "./run.mjs";

const folder = join(import.meta.dirname, "..", "docs", "pictures");

// Llama 2: 64 pairs, trained on 4,096 tokens, extended to four times that
const [head_dim, rope_theta, trained, factor] = [128, 10000, 4096, 4];
const plain = { head_dim, rope_theta, pairing: "half", max_position_embeddings: trained };
const scaled = (rope_scaling) => ({ ...plain, rope_scaling });
const yarn = { factor, original_max_position_embeddings: trained };

const { color, darkRules } = lightAndDark({
  ...CARD,
  within: ["#1f5fae", "#79b8ff"],
  beyond: ["#d1242f", "#ff7b72"],
  other: ["#9a6700", "#d29922"],
  third: ["#1a7f37", "#56d364"],
});

const width = 720;
const common = { width, style: { fontSize: "13px" } };
const words = { fill: color.text, textAnchor: "start" };
const faint = { fill: color.faint };
const grid = { stroke: color.edge, strokeOpacity: 1 };
const heading = (text, dx) =>
  Plot.text([text], { ...words, frameAnchor: "top-left", dx, dy: -30, fontWeight: 600, fontSize: 14 });

/** Points of a circle's arc from angle 0, counterclockwise. */
const arc = ([x, y], radius, angle) =>
  Array.from({ length: 65 }, (_, i) => [
    x + radius * Math.cos((angle * i) / 64),
    y + radius * Math.sin((angle * i) / 64),
  ]);

/** Hands of clocks: each pair of a head of 8 elements, rotated at positions 0 to 6. */
function drawRotations(document, rw) {
  const rope = rw.rope({ head_dim: 8, rope_theta, pairing: "interleaved" });
  const { inv_freq } = rope.plan();
  const hands = Array.from({ length: 7 }, (_, position) => {
    const row = rope.rotate(Float32Array.of(1, 0, 1, 0, 1, 0, 1, 0), {
      layout: "thd",
      shape: [1, 1, 8],
      positions: position,
    });
    return Array.from(inv_freq, (_, pair) => ({ position, pair, x: row[2 * pair], y: row[2 * pair + 1] }));
  }).flat();
  rope.dispose();
  const at = (pair) => pair * 2.9;
  const tip = (hand, radius) => [at(hand.pair) + radius * hand.x, radius * hand.y];
  const labeled = hands.filter(({ pair, position }) => pair === 0 || (pair === 1 && position % 2 === 0));
  return Plot.plot({
    ...common,
    document,
    height: 243, // x and y at one scale: circles
    marginTop: 48,
    marginBottom: 44,
    marginLeft: 28,
    marginRight: 28,
    x: { domain: [-1.35, at(3) + 1.35], axis: null },
    y: { domain: [-1.3, 1.3], axis: null },
    marks: [
      Array.from(inv_freq, (_, pair) => Plot.line(arc([at(pair), 0], 1, 2 * Math.PI), { stroke: color.edge })),
      Plot.link(hands, {
        x1: ({ pair }) => at(pair),
        y1: 0,
        x2: (hand) => tip(hand, 1)[0],
        y2: (hand) => tip(hand, 1)[1],
        stroke: color.within,
        strokeWidth: 1.6,
      }),
      Plot.dot(hands, {
        x: (hand) => tip(hand, 1)[0],
        y: (hand) => tip(hand, 1)[1],
        r: 3,
        fill: color.within,
      }),
      Plot.text(labeled, {
        ...faint,
        x: (hand) => tip(hand, 1.2)[0],
        y: (hand) => tip(hand, 1.2)[1],
        text: ({ position }) => String(position),
      }),
      Plot.text(Array.from(inv_freq), {
        fill: color.text,
        x: (_, pair) => at(pair),
        y: -1.3,
        dy: 18,
        text: (frequency, pair) => `pair ${pair}: ${Number(frequency.toPrecision(4))}`,
      }),
      heading("The four pairs of an 8-element head at positions 0 to 6, with their frequencies", 0),
    ].flat(),
  });
}

/** The wavelength of every pair, and the trained window. */
function drawWavelengths(document, rw) {
  const wavelengths = rw.describe(plain).pairs.map(({ wavelength }, pair) => ({ pair, wavelength }));
  const isWithin = ({ wavelength }) => wavelength <= trained;
  const first = wavelengths.findIndex((one) => !isWithin(one));
  return Plot.plot({
    ...common,
    document,
    height: 340,
    marginTop: 48,
    marginBottom: 48,
    marginLeft: 74,
    marginRight: 28,
    x: { domain: [-1, 64] },
    y: { type: "log", domain: [4, 1e5] },
    marks: [
      Plot.gridY([10, 100, 1000, 10000, 100000], grid),
      Plot.axisY([10, 100, 1000, 10000, 100000], {
        tickFormat: (value) => value.toLocaleString("en-US"),
        tickSize: 0,
        ...faint,
        label: null,
      }),
      Plot.axisX([0, 8, 16, 24, 32, 40, 48, 56, 63], { tickSize: 4, color: color.faint, label: null }),
      Plot.ruleY([trained], { stroke: color.text, strokeDasharray: "5 4" }),
      Plot.text([[0, trained]], { ...words, dy: -10, text: ["trained window: 4,096 tokens"] }),
      Plot.dot(wavelengths, {
        x: "pair",
        y: "wavelength",
        r: 3.2,
        fill: (one) => (isWithin(one) ? color.within : color.beyond),
      }),
      Plot.text([[30, 90]], { ...words, text: [`pairs 0 to ${first - 1}: saw every angle in training`] }),
      Plot.text([[46, 3e4]], {
        ...words,
        textAnchor: "end",
        text: [`pairs ${first} to 63: saw only a part of the circle`],
      }),
      Plot.text(["pair"], { ...faint, frameAnchor: "bottom", dy: 40 }),
      Plot.text(["wavelength: tokens per rotation"], {
        ...faint,
        frameAnchor: "left",
        textAnchor: "middle",
        rotate: -90,
        dx: -60,
      }),
      heading("64 pairs, base 10,000 (Llama 2)", -60),
    ],
  });
}

/** Angles of some pairs: within the trained window, and at four times its length under several scalings. */
function drawAngles(document, rw) {
  const rows = [
    ["plain RoPE", plain],
    ["PI", scaled({ rope_type: "linear", factor })],
    ["NTK-aware", scaled({ rope_type: "ntk", factor })],
    ["YaRN", scaled({ rope_type: "yarn", ...yarn })],
  ];
  const columns = [8, 48, 54, 60];
  const frequencies = ([, config]) => {
    const rope = rw.rope(config);
    const { inv_freq } = rope.plan(trained * factor);
    rope.dispose();
    return inv_freq;
  };
  const before = frequencies(rows[0]);
  const marks = rows.flatMap((row, i) => {
    const after = frequencies(row);
    const center = (column) => [1.9 + column * 2.75, -i * 2.5];
    const circles = columns.flatMap((pair, column) => {
      const circle = Plot.line(arc(center(column), 1, 2 * Math.PI), { stroke: color.edge });
      if (column === 0) {
        const steps = [0, 1, 2, 3, 4].map((position) => [center(0), arc(center(0), 1, after[pair] * position).at(-1)]);
        return [
          circle,
          Plot.link(steps, {
            x1: ([[x]]) => x,
            y1: ([[, y]]) => y,
            x2: ([, [x]]) => x,
            y2: ([, [, y]]) => y,
            stroke: color.within,
            strokeWidth: 1.6,
          }),
        ];
      }
      const [seen, reached] = [before[pair] * trained, after[pair] * trained * factor].map((angle) =>
        Math.min(angle, 2 * Math.PI),
      );
      const arcStyle = (stroke, strokeWidth) => ({ stroke, strokeWidth, strokeLinecap: "butt" });
      return [
        circle,
        Plot.line(arc(center(column), 1, reached), arcStyle(reached > seen * 1.001 ? color.beyond : color.within, 6)),
        Plot.line(arc(center(column), 1, seen), arcStyle(color.within, 6)),
      ];
    });
    return [...circles, Plot.text([[-1.5, -i * 2.5]], { ...words, text: [row[0]], fontWeight: 600 })];
  });
  const titles = columns.map((pair, column) => ({
    x: 1.9 + column * 2.75,
    text: column === 0 ? `pair ${pair}: tokens 0 to 4` : `pair ${pair}: all angles`,
  }));
  return Plot.plot({
    ...common,
    document,
    height: 612, // x and y at one scale: circles
    marginTop: 76,
    marginBottom: 36,
    marginLeft: 28,
    marginRight: 28,
    x: { domain: [-1.6, 11.4], axis: null },
    y: { domain: [-3 * 2.5 - 1.15, 1.15], axis: null },
    marks: [
      ...marks,
      Plot.text(titles, { ...faint, x: "x", y: 1.15, dy: -14, text: "text" }),
      Plot.text([[-1.6, -3 * 2.5 - 1.15]], {
        ...words,
        dy: 24,
        fill: color.within,
        text: ["blue: angles that occurred in training"],
      }),
      Plot.text([[4.6, -3 * 2.5 - 1.15]], {
        ...words,
        dy: 24,
        fill: color.beyond,
        text: ["red: angles that are new to the model"],
      }),
      Plot.text(["A model trained on 4,096 tokens reads 16,384"], {
        ...words,
        frameAnchor: "top-left",
        dy: -56,
        fontWeight: 600,
        fontSize: 14,
      }),
    ],
  });
}

/** The share of its frequency that each pair keeps. */
function drawRamp(document, rw) {
  const shares = (rope_scaling) =>
    rw.describe(scaled(rope_scaling), trained * factor).pairs.map(({ kept_share }, pair) => ({ pair, kept_share }));
  const curves = [
    { stroke: color.other, label: "NTK-aware", at: [8, 0.55], data: shares({ rope_type: "ntk", factor }) },
    { stroke: color.within, label: "YaRN", at: [27, 0.82], data: shares({ rope_type: "yarn", ...yarn }) },
    {
      stroke: color.third,
      label: "paper's ramp",
      at: [20.8, 0.16],
      data: shares({ rope_type: "yarn", ...yarn, ramp: "rotations" }),
    },
    { stroke: color.beyond, label: "PI", at: [9, 0.05], data: shares({ rope_type: "linear", factor }) },
  ];
  const zones = [
    { from: 0, to: 20, text: "32 rotations or more: kept" },
    { from: 20, to: 46, text: "blended" },
    { from: 46, to: 63, text: "less than 1: interpolated" },
  ];
  return Plot.plot({
    ...common,
    document,
    height: 330,
    marginTop: 70,
    marginBottom: 48,
    marginLeft: 60,
    marginRight: 28,
    x: { domain: [0, 63] },
    y: { domain: [0, 1] },
    marks: [
      Plot.gridY([0, 0.5, 1], grid),
      Plot.axisY([0, 0.5, 1], { tickFormat: (value) => `${100 * value} %`, tickSize: 0, ...faint, label: null }),
      Plot.axisX([0, 8, 16, 24, 32, 40, 48, 56, 63], { tickSize: 4, color: color.faint, label: null }),
      Plot.ruleX([20, 46], { stroke: color.faint, strokeDasharray: "5 4" }),
      Plot.text(zones, { ...faint, x: ({ from, to }) => (from + to) / 2, y: 1, dy: -14, text: "text" }),
      ...curves.flatMap(({ stroke, label, at, data }) => [
        Plot.line(data, { x: "pair", y: "kept_share", stroke, strokeWidth: 2 }),
        Plot.text([at], { ...words, fill: stroke, text: [label], fontWeight: 600 }),
      ]),
      Plot.text(["pair"], { ...faint, frameAnchor: "bottom", dy: 40 }),
      Plot.text(["The share of its frequency that each pair keeps, factor 4"], {
        ...words,
        frameAnchor: "top-left",
        dx: -44,
        dy: -50,
        fontWeight: 600,
        fontSize: 14,
      }),
    ],
  });
}

/** The pictures, by file name. */
export const pictures = {
  "rotations.svg": {
    draw: drawRotations,
    title: "Pairs rotate at different speeds",
    about:
      "The first pair moves by one radian per position, the second by a tenth, the third and fourth hardly at all.",
  },
  "wavelengths.svg": {
    draw: drawWavelengths,
    title: "Wavelengths and the trained window",
    about: "Wavelengths grow from 6 tokens to 54,000. Those of the last 18 pairs are longer than the trained window.",
  },
  "angles.svg": {
    draw: drawAngles,
    title: "Angles beyond the trained length",
    about:
      "Plain RoPE reaches new angles. PI does not, but moves neighbors closer. NTK-aware reaches a few. YaRN reaches none.",
  },
  "ramp.svg": {
    draw: drawRamp,
    title: "YaRN's ramp",
    about: "YaRN keeps pairs 0 to 20, interpolates pairs from 46 on, and blends in a straight line between them.",
  },
};

/** A picture as SVG text. */
export function drawPicture(rw, name) {
  const { draw, title, about } = pictures[name];
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const drawing = draw(document, rw);
  for (const style of drawing.querySelectorAll("style")) style.remove();
  const height = Number(drawing.getAttribute("height"));
  return svgCard({ width, height, title, about }, drawing.innerHTML, { color, darkRules });
}

await runMain(import.meta.url, async () => {
  const rw = await load({ build: "simd" }); // the same bits everywhere
  for (const name of Object.keys(pictures)) await writeFile(join(folder, name), drawPicture(rw, name));
  console.log(`docs/pictures/: ${Object.keys(pictures).join(", ")}`);
});
