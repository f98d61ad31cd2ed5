// Panel 4: how scores fall with distance, by base, head size and trained length.
import type { DecayCurve, Rope } from "ropewalk";
import { drawChart, Plot, widthOf } from "../../page/chart.js";
import { listConfigs } from "../../page/config_list.js";
import { bundledConfigs } from "../../page/configs.js";
import { changeTo, choiceIn, controlOf, numberIn, showOutputs } from "../../page/controls.js";
import { makeDraggable, scaleOf } from "../../page/drag.js";
import { find, shown } from "../../page/elements.js";
import type { Mount } from "../panel.js";

/** Distances are shown, and searched for a negative score, up to this multiple of the trained length. */
const LIMIT = 4;
/** Pixels of a column, and distances in it. */
const COLUMN = 3;
const SAMPLES = 32;

interface Settings {
  readonly base: number;
  readonly size: number;
  readonly window: number;
  readonly curve: DecayCurve;
  readonly seed: number;
}

const CURVES: Readonly<Record<DecayCurve, string>> = {
  ones: "score of two vectors of ones",
  random: "mean score of 16 random vectors with themselves",
  bound: "bound on the score",
};

/** @see lab/distance/panel.html */
export const mount: Mount = ({ section, form, rw, redraw }) => {
  listConfigs({ section, form, rw, redraw });
  const list = controlOf<HTMLSelectElement>(form, "config");
  list.addEventListener("input", () => {
    const config = bundledConfigs.find(({ id }) => id === list.value)?.config;
    if (config === undefined) return;
    const { plan, window } = rw.describe(config);
    controlOf(form, "base").value = String(Math.log10(config.rope_theta ?? 10000));
    controlOf(form, "size").value = String(plan.rotary_dim);
    if (window !== null) controlOf(form, "window").value = String(Math.log2(window));
  });
  for (const name of ["base", "size", "window"])
    controlOf(form, name).addEventListener("input", () => (list.value = "own"));

  const figure = find("#distance-scores", section);
  let lowest = 0;
  makeDraggable(figure, () => {
    const { toPixel, toValue } = scaleOf(figure, "x");
    const move = (pixel: number): void => changeTo(controlOf(form, "window"), Math.log2(Math.max(1, toValue(pixel))));
    return [{ x: toPixel(settingsIn(form).window), dot: scaleOf(figure, "y").toPixel(lowest), move }];
  });

  return () => {
    const settings = settingsIn(form);
    const { base, size, window, curve, seed } = settings;
    showOutputs(form, { base: shown(base), size: String(size), window: shown(window), seed: String(seed) });
    find("[data-shown-if=random]", form).hidden = curve !== "random";
    const rope = rw.rope({ head_dim: size, pairing: "half", rope_theta: base, max_position_embeddings: window });
    lowest = draw(figure, rope, settings);
    rope.dispose();
  };
};

function settingsIn(form: HTMLFormElement): Settings {
  const tokens = 2 ** numberIn(form, "window");
  const unit = tokens > 16384 ? 1024 : 64; // lengths of models are such multiples
  return {
    base: Number((10 ** numberIn(form, "base")).toPrecision(2)),
    size: numberIn(form, "size"),
    window: Math.round(tokens / unit) * unit,
    curve: choiceIn(form, "curve") as DecayCurve,
    seed: numberIn(form, "seed"),
  };
}

/** Draws the chart. Returns the lowest score that it has space for. */
function draw(figure: HTMLElement, rope: Rope, settings: Settings): number {
  const { window, curve } = settings;
  const limit = LIMIT * window;
  const columns = columnsOf(rope, settings, limit, widthOf(figure));
  const negative = rope.firstNegativeDistance(limit);
  const lowest = Math.min(-0.4, ...columns.map(({ low }) => low));
  // the search is for equal vectors of ones
  const marked = curve === "ones" && negative !== null ? [negative] : [];
  const isRight = negative !== null && negative > limit / 10;
  drawChart(figure, "Scores by distance", textOf(settings, negative, limit), {
    height: 320,
    marginTop: 36,
    x: {
      type: "log",
      domain: [1, limit],
      label: "distance in tokens",
      labelAnchor: "center",
      tickFormat: "~s",
      ticks: 6,
    },
    y: { label: `${CURVES[curve]} ÷ that at distance 0`, domain: [lowest, 1], ticks: 7 },
    marks: [
      Plot.ruleY([0], { stroke: "var(--line)" }),
      Plot.areaY(columns, { x: "distance", y1: "low", y2: "high", fill: "var(--chosen)", fillOpacity: 0.2 }),
      Plot.line(columns, { x: "distance", y: "mean", stroke: "var(--chosen)", strokeWidth: 2, clip: true }),
      Plot.ruleX([window], { stroke: "var(--trained)", strokeWidth: 2.5 }),
      Plot.dot([window], { x: (tokens: number) => tokens, y: lowest, r: 7, fill: "var(--trained)" }),
      Plot.text([window], {
        x: (tokens: number) => tokens,
        frameAnchor: "top",
        dx: -6,
        dy: 4,
        textAnchor: "end",
        text: (tokens: number) => `trained length ${shown(tokens)}`,
      }),
      Plot.ruleX(marked, { y1: -0.27, y2: 0, stroke: "var(--wrong)" }),
      Plot.dot(marked, {
        x: (distance: number) => distance,
        y: 0,
        r: 6,
        fill: "var(--wrong)",
      }),
      Plot.text(marked, {
        x: (distance: number) => distance,
        y: -0.3,
        textAnchor: isRight ? "end" : "middle",
        fill: "var(--wrong)",
        text: (distance: number) => `first below zero: ${shown(distance)}`,
      }),
    ],
  });
  return lowest;
}

/** Lowest, highest and mean score of the distances in each column of the chart. */
function columnsOf(rope: Rope, { curve, seed }: Settings, limit: number, width: number) {
  const scores = (first: number, step: number, count: number): Float64Array =>
    rope.decay({ first, step, count, curve, seed });
  const [atZero] = scores(0, 1, 1);
  const count = Math.floor(width / COLUMN);
  return Array.from({ length: count }, (_, column) => {
    const [first, next] = [limit ** (column / count), limit ** ((column + 1) / count)];
    const shares = scores(first, (next - first) / SAMPLES, SAMPLES).map((score) => score / atZero!);
    return {
      distance: Math.sqrt(first * next),
      low: Math.min(...shares),
      high: Math.max(...shares),
      mean: shares.reduce((sum, share) => sum + share, 0) / SAMPLES,
    };
  });
}

function textOf({ base, size, window, curve }: Settings, negative: number | null, limit: number): string {
  const values = `Base ${shown(base)}, ${size} elements.`;
  if (curve === "bound") return `${values} The bound is no score: it is never below zero.`;
  if (negative === null)
    return `${values} The score of two vectors of ones stays above zero up to distance ${shown(limit)}, ${LIMIT} times the trained length.`;
  const where = negative < window ? "within" : "beyond";
  return (
    `${values} The score of two vectors of ones is first below zero at distance ${shown(negative)}, ${where} the trained ` +
    `length of ${shown(window)} tokens.`
  );
}
