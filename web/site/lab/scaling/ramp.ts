// The ramp of the panel "Past the window": the share of its frequency that each scaling leaves to each pair.
import { drawChart, Plot, widthOf } from "../../page/chart.js";
import { changeTo, controlOf, numberIn } from "../../page/controls.js";
import { makeDraggable, scaleOf } from "../../page/drag.js";
import { shown } from "../../page/elements.js";
import { type Curve, type Lengths, newAngles } from "./kinds.js";
import { placeNames } from "./labels.js";

interface Point {
  pair: number;
  wavelength: number;
  left: number;
}

/** 1, 1/2, 1/4, … */
const fraction = (share: number): string => (share >= 1 ? shown(share, 2) : `1/${shown(1 / share, 3)}`);

const HEIGHT = 330;
/** Pixels from the bottom of the chart to the dots of the limits. */
const DOT = 26;
const MARGIN = { top: 46, right: 20, bottom: 44, left: 44 };

/** Draws the chosen curves over the plain wavelengths of the pairs. */
export function drawRamp(
  figure: HTMLElement,
  curves: readonly Curve[],
  plain: Curve,
  lengths: Lengths,
  betas: { fast: number; slow: number } | null,
): void {
  const wavelengths = plain.description.pairs.map(({ wavelength }) => wavelength);
  const points = (curve: Curve): Point[] =>
    curve.description.pairs.map(({ pair, inv_freq }) => ({
      pair,
      wavelength: wavelengths[pair]!,
      left: inv_freq / plain.description.pairs[pair]!.inv_freq,
    }));
  const lines = curves.map((curve) => ({ ...curve, points: points(curve) }));
  const lowest = Math.min(0.5, ...lines.flatMap((line) => line.points.map(({ left }) => left)));
  const halves = Array.from({ length: Math.floor(-Math.log2(lowest) + 1e-9) + 1 }, (_, power) => 2 ** -power);
  const over = overExtrapolated(lines);
  const limit = (beta: number) => ({
    wavelength: lengths.trained / beta,
    name: `${shown(beta)} ${beta === 1 ? "rotation" : "rotations"}`,
  });
  const limits = betas === null ? [] : [limit(betas.fast), limit(betas.slow)];

  const inner = { width: widthOf(figure) - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const [fastest, slowest] = [wavelengths[0]!, wavelengths.at(-1)!];
  const toX = (wavelength: number): number =>
    (inner.width * Math.log(wavelength / fastest)) / Math.log(slowest / fastest);
  const toY = (left: number): number => (inner.height * Math.log2(left)) / Math.log2(lowest);
  const places = placeNames(
    lines.map((line) => ({
      name: line.name,
      points: line.points.map(({ wavelength, left }) => ({ x: toX(wavelength), y: toY(left) })),
    })),
    limits.map(({ wavelength }) => toX(wavelength)),
    inner.width,
  );

  drawChart(figure, "The share of its frequency that each pair keeps", rampCaption(curves, over), {
    height: HEIGHT,
    marginTop: MARGIN.top,
    marginRight: MARGIN.right,
    marginBottom: MARGIN.bottom,
    marginLeft: MARGIN.left,
    x: {
      type: "log",
      label: "positions per rotation, unscaled",
      domain: [fastest, slowest],
      ticks: 6,
      tickFormat: "~s",
    },
    y: {
      type: "log",
      base: 2,
      label: "frequency / unscaled frequency",
      domain: [lowest ** 1.05, lowest ** -0.05],
      ticks: halves,
      tickFormat: fraction,
    },
    marks: [
      over.length > 1
        ? Plot.rectX([{ x1: over[0]!.wavelength, x2: over.at(-1)!.wavelength }], {
            x1: "x1",
            x2: "x2",
            fill: "var(--wrong)",
            fillOpacity: 0.1,
          })
        : null,
      Plot.gridY(halves, { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.ruleX(limits, { x: "wavelength", stroke: "var(--yarn)", strokeWidth: 2, strokeDasharray: "2 3" }),
      ...limits.map((limit, index) =>
        Plot.text([limit], {
          x: "wavelength",
          text: "name",
          textAnchor: index === 0 ? "end" : "start", // the two may be close
          frameAnchor: "top",
          dy: -20,
          fill: "var(--yarn)",
        }),
      ),
      ...lines.map(({ points, color, dashes }) =>
        Plot.line(points, { x: "wavelength", y: "left", stroke: color, strokeWidth: 2.5, strokeDasharray: dashes }),
      ),
      ...lines.map(({ name, color, points }, line) =>
        Plot.text([points[places[line]!.index]!], {
          x: "wavelength",
          y: "left",
          text: () => name,
          dx: places[line]!.dx,
          dy: places[line]!.dy,
          fill: color,
          stroke: "var(--ground)",
          strokeWidth: 4,
        }),
      ),
      Plot.dot(over, { x: "wavelength", y: "left", fill: "var(--wrong)", r: 3 }),
      Plot.dot(limits, {
        x: "wavelength",
        frameAnchor: "bottom",
        dy: -DOT,
        r: 8,
        fill: "var(--yarn)",
        stroke: "var(--ground)",
      }),
    ],
  });
}

/** Points of NTK-aware's pairs that reach angles that training didn't show, and how many times the largest trained angle. */
function overExtrapolated(lines: readonly (Curve & { points: Point[] })[]): (Point & { times: number })[] {
  const ntk = lines.find(({ id }) => id === "ntk");
  if (!ntk) return [];
  return newAngles(ntk.description, ntk.description.seqLen).map(({ pair, times }) => ({ ...ntk.points[pair]!, times }));
}

function rampCaption(curves: readonly Curve[], over: readonly (Point & { times: number })[]): string {
  const yarn = curves.find(({ id }) => id === "yarn" || id === "ntk_by_parts");
  const ntk = curves.find(({ id }) => id === "ntk");
  const sentences = [];
  if (yarn) {
    const { kept, blended, interpolated } = yarn.description.counts;
    sentences.push(
      `${yarn.name} keeps the ${kept} fastest pairs, slows the ${interpolated} slowest by the factor ${shown(yarn.description.factor, 4)}, and blends ${blended} between them.`,
    );
  }
  if (ntk && over.length > 0) {
    const worst = over.reduce((most, point) => (point.times > most.times ? point : most));
    sentences.push(
      `The red pairs are NTK-aware's weakness: pairs ${over[0]!.pair} to ${over.at(-1)!.pair} didn't complete a rotation in training, and are divided by less than ${shown(ntk.description.factor, 4)}. Pair ${worst.pair} reaches ${shown(worst.times, 3)} times its largest trained angle.`,
    );
  }
  return sentences.join(" ") || "Choose a scaling to see what it does to each pair.";
}

/** Lets a pointer drag the two limits of the ramp: it moves the range inputs `beta_fast` and `beta_slow`. */
export function dragLimits(figure: HTMLElement, form: HTMLFormElement, trained: () => number): void {
  makeDraggable(figure, () =>
    ["beta_fast", "beta_slow"].map((name) => ({
      x: scaleOf(figure, "x").toPixel(trained() / numberIn(form, name)),
      dot: HEIGHT - MARGIN.bottom - DOT,
      move: (x) => changeTo(controlOf(form, name), trained() / scaleOf(figure, "x").toValue(x)),
    })),
  );
}
