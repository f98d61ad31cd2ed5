// Draws figures as SVG, with colors for light and dark backgrounds.
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { RopeType } from "../../../core/config/types.js";
import type { Series, Weights } from "./data.js";
import { alphaPng } from "./png.js";

/** Titles, axes and legend of a line plot. */
export interface Axes {
  title: string;
  x: Axis;
  y: Axis;
  /** Corner of the legend. */
  legend: "top-left" | "top-right" | "bottom-left";
  /** Marked values, for example the trained length. */
  rules?: readonly { axis: "x" | "y"; value: number; name: string }[];
}

interface Axis {
  label: string;
  scale: "linear" | "log";
  domain?: readonly [number, number];
}

/** Width and height in pixels. */
export interface Size {
  width: number;
  height: number;
}

// Colors for a light and a dark background. The colors of lines are distinguishable for color-blind people.
const BACKGROUND = ["#ffffff", "#0d1117"] as const;
const BORDER = ["#d1d9e0", "#3d444d"] as const;
const TEXT = ["#1f2328", "#f0f6fc"] as const;
const MUTED_TEXT = ["#59636e", "#9198a1"] as const;
const LINES = [
  ["#0969da", "#58a6ff"],
  ["#bc4c00", "#f0883e"],
  ["#1a7f37", "#3fb950"],
  ["#8250df", "#bc8cff"],
  ["#bf3989", "#f778ba"],
  ["#6e5d00", "#d4b700"],
] as const;
const DASHES = ["none", "7 4", "2 3", "10 3 2 3"];

const FONT = "system-ui, sans-serif";
const light = ([color]: readonly [string, string]): string => color;

/** Draws lines. Returns SVG. */
export function drawLines(series: readonly Series[], { title, x, y, legend, rules = [] }: Axes, size: Size): string {
  const styles = stylesOf(series);
  const stroke = (index: number): string => light(LINES[styles[index]!]!);
  const dash = (index: number): string => DASHES[styles[index]! % DASHES.length]!;
  const isLeft = legend.endsWith("left");
  const isTop = legend.startsWith("top");
  const drawing = Plot.plot({
    ...frame(size),
    x: { type: x.scale, ...(x.domain !== undefined && { domain: x.domain }) },
    y: { type: y.scale, ...(y.domain !== undefined && { domain: y.domain }), nice: y.domain === undefined },
    marks: [
      Plot.gridY({ stroke: light(BORDER), strokeOpacity: 1, ...ticksOf(y.scale, series) }),
      Plot.axisY({
        tickSize: 0,
        color: light(MUTED_TEXT),
        label: null,
        ...tickFormat(y.scale),
        ...ticksOf(y.scale, series),
      }),
      Plot.axisX({ tickSize: 4, color: light(MUTED_TEXT), label: null, ...tickFormat(x.scale) }),
      ...rules.flatMap((rule) => ruleMarks(rule)),
      ...series.map(({ points }, i) =>
        Plot.line(points, { stroke: stroke(i), strokeWidth: 2, strokeDasharray: dash(i), strokeLinejoin: "round" }),
      ),
      ...series.map(({ name }, i) =>
        Plot.text([`${["━━", "╍╍", "┅┅", "┉┉"][styles[i]! % DASHES.length]!} ${name}`], {
          frameAnchor: legend,
          dx: isLeft ? 10 : -10,
          dy: isTop ? 10 + 18 * i : -10 - 18 * (series.length - 1 - i),
          fill: stroke(i),
          fontWeight: 600,
        }),
      ),
      ...labels(title, x.label, y.label),
    ],
  });
  return svgText(drawing, title, size);
}

/** The color of each type of scaling, the same in every plot. Other types share the last one. */
const STYLES: readonly RopeType[] = ["default", "yarn", "linear", "ntk", "dynamic"];

/** Indices of each line's color and dashes: its type's, or the next that is free. */
function stylesOf(series: readonly Series[]): number[] {
  const used = new Set<number>();
  return series.map(({ type }) => {
    const own = STYLES.includes(type) ? STYLES.indexOf(type) : STYLES.length;
    const choices = LINES.map((_, i) => (own + i) % LINES.length);
    const style = choices.find((choice) => !used.has(choice)) ?? own;
    used.add(style);
    return style;
  });
}

/**
 * Draws attention weights as squares, up to three in a row. The color scale of each query ends at its largest weight.
 * Returns SVG.
 */
export function drawWeights(squares: readonly Weights[], title: string, size: Size): string {
  const columns = Math.min(3, squares.length);
  const rows = Math.ceil(squares.length / columns);
  const tokens = squares[0]!.tokens;
  const names = squares.map(({ name }, square) => ({ fx: square % columns, fy: Math.floor(square / columns), name }));
  const total = { width: size.width, height: Math.round(((size.width - 90) / columns) * rows + 40 * rows + 80) };
  const drawing = Plot.plot({
    ...frame(total),
    fx: { axis: null, padding: 0.12 },
    fy: { axis: null, padding: rows > 1 ? 0.18 : 0 },
    x: { type: "linear", domain: [0, tokens] },
    y: { type: "linear", domain: [tokens, 0] },
    marginTop: 72,
    marks: [
      Plot.rect(names, { fx: "fx", fy: "fy", x1: 0, x2: tokens, y1: 0, y2: tokens, fill: light(LINES[0]) }),
      Plot.frame({ stroke: light(BORDER) }),
      Plot.axisX({ tickSize: 4, ticks: 4, color: light(MUTED_TEXT), label: null }),
      Plot.axisY({ tickSize: 4, ticks: 4, color: light(MUTED_TEXT), label: null }),
      Plot.text(names, {
        fx: "fx",
        fy: "fy",
        text: "name",
        frameAnchor: "top-left",
        dy: -18,
        fill: light(TEXT),
        fontWeight: 600,
      }),
      ...labels(title, "key", "query", 56),
    ],
  });
  maskSquares(drawing, squares);
  return svgText(drawing, title, total);
}

/**
 * Makes each square's rectangle as opaque as its weights, by an image with a pixel for each. A rectangle for each weight
 * would be megabytes.
 */
function maskSquares(drawing: Element, squares: readonly Weights[]): void {
  for (const [i, rect] of [...drawing.querySelectorAll('[aria-label="rect"] rect')].entries()) {
    const place = ["x", "y", "width", "height"].map((name) => `${name}="${rect.getAttribute(name)}"`).join(" ");
    const { weights, tokens } = squares[i]!;
    const png = alphaPng(sharesOfLargest(weights, tokens), tokens).toString("base64");
    rect.setAttribute("mask", `url(#weights-${i})`);
    rect.insertAdjacentHTML(
      "beforebegin",
      `<mask id="weights-${i}" style="mask-type:alpha" maskUnits="userSpaceOnUse" ${place}><image ${place} preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,${png}"></image></mask>`,
    );
  }
}

/** Weights as shares of the largest one of their query. */
function sharesOfLargest(weights: Float64Array, tokens: number): Float64Array {
  return weights.map((weight, i) => {
    const query = Math.floor(i / tokens) * tokens;
    return weight / weights.subarray(query, query + tokens).reduce((most, other) => Math.max(most, other));
  });
}

function frame({ width, height }: Size): Plot.PlotOptions {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const style = { fontSize: "13px", fontFamily: FONT };
  return {
    document,
    width,
    height,
    marginLeft: 84,
    marginRight: 24,
    marginTop: 46,
    marginBottom: 56,
    style,
    opacity: { type: "identity" },
  };
}

function labels(title: string, x: string, y: string, titleAbove = 30): Plot.Markish[] {
  const common = { facet: "super", fill: light(MUTED_TEXT) } as const;
  return [
    Plot.text([title], {
      ...common,
      frameAnchor: "top-left",
      dx: -66,
      dy: -titleAbove,
      fill: light(TEXT),
      fontWeight: 600,
      fontSize: 15,
    }),
    Plot.text([x], { ...common, frameAnchor: "bottom", dy: 44 }),
    Plot.text([y], { ...common, frameAnchor: "left", textAnchor: "middle", rotate: -90, dx: -62 }),
  ];
}

function ruleMarks({ axis, value, name }: { axis: "x" | "y"; value: number; name: string }): Plot.Markish[] {
  const stroke = { stroke: light(MUTED_TEXT), strokeDasharray: "3 3" };
  const label = { text: () => name, fill: light(MUTED_TEXT), fontSize: 11 };
  if (axis === "x") {
    const position = { x: () => value, frameAnchor: "bottom", textAnchor: "end", dx: -5, dy: -6 } as const;
    return [Plot.ruleX([value], stroke), Plot.text([value], { ...label, ...position })];
  }
  return [
    Plot.ruleY([value], stroke),
    Plot.text([value], { ...label, y: () => value, frameAnchor: "left", dx: 6, dy: -8 }),
  ];
}

/** Formats ticks on a log scale: only powers of ten have labels. */
function tickFormat(scale: "linear" | "log"): { tickFormat?: (value: number) => string } {
  if (scale === "linear") return {};
  return {
    tickFormat: (value) => {
      const power = Math.log10(value);
      if (Math.abs(power - Math.round(power)) > 1e-6) return "";
      return power >= 0 && power <= 3 ? String(Math.round(value)) : `10${superscript(Math.round(power))}`;
    },
  };
}

/** Ticks at powers of ten only. Those in between would be too dense. */
function ticksOf(scale: "linear" | "log", series: readonly Series[]): { ticks?: number[] } {
  if (scale === "linear") return {};
  const powers = series.flatMap(({ points }) => points.map(([, y]) => Math.log10(y)));
  const first = Math.floor(powers.reduce((a, b) => Math.min(a, b)));
  const last = Math.ceil(powers.reduce((a, b) => Math.max(a, b)));
  return { ticks: Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)) };
}

function superscript(power: number): string {
  return String(power).replace(/./g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)]!));
}

function svgText(drawing: Element, title: string, { width, height }: Size): string {
  for (const style of drawing.querySelectorAll("style")) style.remove();
  const darkRules = [BACKGROUND, BORDER, TEXT, MUTED_TEXT, ...LINES].map(
    ([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>text{white-space:pre}@media (prefers-color-scheme:dark){${darkRules.join("")}}</style>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="${light(BACKGROUND)}" stroke="${light(BORDER)}"/>`,
    `<g font-family="${FONT}" font-size="13" text-anchor="middle" stroke-width="1">`,
    drawing.innerHTML,
    "</g></svg>\n",
  ]
    .join("\n")
    .replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2))));
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
