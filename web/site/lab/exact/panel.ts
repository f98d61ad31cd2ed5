// Panel 7: the error of cos and sin by position, in this package and with f32 angles.
import { overrideRopeConfig, type Rope } from "ropewalk";
import { drawChart, pairTicks, Plot } from "../../page/chart.js";
import { listConfigs } from "../../page/config_list.js";
import type { NamedConfig } from "../../page/configs.js";
import { numberIn, showOutputs } from "../../page/controls.js";
import { find, shown, withText } from "../../page/elements.js";
import { exactAngles, ggmlAngles } from "./reference.js";
import type { Mount } from "../panel.js";
import "./panel.css";

/** An error is the largest over this many positions up to the one named, as in docs/accuracy.md. */
const NEIGHBORS = 64;
/** Exponents of the positions: from 2^6 to 2^24, in half octaves. */
const EXPONENTS = Array.from({ length: 37 }, (_, i) => 6 + i / 2);
const IN_TABLE = [4096, 32768, 131072, 1048576, 16777216];
/** Half a unit in the last place of an f32 between 0.5 and 1: the best that an f32 can do there. */
const BEST = 2 ** -25;

const SYSTEMS = [
  { id: "ropewalk", name: "Ropewalk", color: "var(--ropewalk)" },
  { id: "hf", name: "transformers", color: "var(--hf)" },
  { id: "ggml", name: "ggml on a CPU", color: "var(--ggml)" },
] as const;
type Errors = Record<(typeof SYSTEMS)[number]["id"], number[]>;

/** @see lab/exact/panel.html */
export const mount: Mount = ({ section, form, rw, redraw }) => {
  const chosen = listConfigs({ section, form, rw, redraw });
  let measured: { id: string; measure: (position: number) => Errors; ropes: Rope[] } | undefined;
  const measureOf = ({ id, config }: NamedConfig) => {
    if (measured?.id === id) return measured.measure;
    for (const rope of measured?.ropes ?? []) rope.dispose();
    const unscaled = overrideRopeConfig(config, { rope_scaling: null });
    const ropes = [rw.rope(unscaled), rw.rope({ ...unscaled, precision: "hf" })];
    const known = new Map<number, Errors>();
    const measure = (position: number): Errors => {
      if (!known.has(position)) known.set(position, errorsAt(ropes[0]!, ropes[1]!, position));
      return known.get(position)!;
    };
    measured = { id, measure, ropes };
    return measure;
  };

  return async () => {
    const measure = measureOf((await chosen())!);
    const position = Math.round(2 ** numberIn(form, "position"));
    showOutputs(form, { position: shown(position, 8) });
    drawByPosition(find("#exact-by_position", section), measure, position);
    drawByPair(find("#exact-by_pair", section), measure(position), position);
    fillTable(find("tbody", section), measure);
  };
};

/** The error of each pair: the largest of its cosines and sines over the positions up to one. */
function errorsAt(exact: Rope, like: Rope, last: number): Errors {
  const { inv_freq } = exact.plan();
  const pairs = inv_freq.length;
  const errors: Errors = { ropewalk: [], hf: [], ggml: [] };
  for (const { id } of SYSTEMS) errors[id] = Array<number>(pairs).fill(0);
  const positions = Float64Array.from({ length: NEIGHBORS }, (_, i) => last - NEIGHBORS + 1 + i).filter((p) => p >= 0);
  const tables = { ropewalk: exact.table(positions), hf: like.table(positions) };
  positions.forEach((position, row) => {
    const angles = exactAngles(inv_freq, position);
    const iterated = ggmlAngles(inv_freq[1]! / inv_freq[0]!, pairs, position);
    for (let pair = 0; pair < pairs; pair++) {
      const [cos, sin] = [Math.cos(angles[pair]!), Math.sin(angles[pair]!)];
      const note = (id: keyof Errors, otherCos: number, otherSin: number): void => {
        errors[id][pair] = Math.max(errors[id][pair]!, Math.abs(otherCos - cos), Math.abs(otherSin - sin));
      };
      const at = row * pairs + pair;
      note("ropewalk", tables.ropewalk.cos[at]!, tables.ropewalk.sin[at]!);
      note("hf", tables.hf.cos[at]!, tables.hf.sin[at]!);
      note("ggml", Math.fround(Math.cos(iterated[pair]!)), Math.fround(Math.sin(iterated[pair]!)));
    }
  });
  return errors;
}

const largest = (errors: readonly number[]): number => errors.reduce((most, error) => Math.max(most, error), 0);
const written = (error: number): string => (error < 1e-3 ? error.toExponential(1) : shown(error, 2));
const powerOfTen = (error: number): string => (error === 1 ? "1" : `1e${Math.round(Math.log10(error))}`);
const errorAxis = {
  type: "log",
  label: "error of cos and sin",
  domain: [1e-9, 3],
  ticks: 9,
  tickFormat: powerOfTen,
} as const;
const bestLine = () => [
  Plot.ruleY([BEST], { stroke: "var(--trained)", strokeDasharray: "2 3" }),
  Plot.text(["rounding of an f32"], {
    frameAnchor: "left",
    textAnchor: "start",
    y: BEST,
    dx: 6,
    dy: 14,
    fill: "var(--faint)",
    stroke: "var(--ground)", // the line of a small position may be behind it
    strokeWidth: 4,
  }),
];

function drawByPosition(figure: HTMLElement, measure: (position: number) => Errors, position: number): void {
  const curves = SYSTEMS.map((system) => ({
    ...system,
    points: EXPONENTS.map((exponent) => {
      const at = Math.round(2 ** exponent);
      return { position: at, error: largest(measure(at)[system.id]) };
    }),
    chosen: largest(measure(position)[system.id]),
  }));
  const said = curves.map(({ name, chosen }) => `${name} ${written(chosen)}`);
  drawChart(
    figure,
    "The largest error by position",
    `Largest error at position ${shown(position, 8)}: ${said.join(", ")}. ${meaning(curves[1]!.chosen)}`,
    {
      height: 300,
      marginLeft: 56,
      x: { type: "log", label: "position", domain: [64, 2 ** 24], ticks: 5, tickFormat: "~s" },
      y: errorAxis,
      marks: [
        Plot.ruleX([position], { stroke: "var(--line)", strokeWidth: 2 }),
        ...bestLine(),
        ...curves.map(({ points, color }) =>
          Plot.line(points, { x: "position", y: "error", stroke: color, strokeWidth: 2.5 }),
        ),
        Plot.dot(curves, { x: position, y: "chosen", fill: "color", r: 5 }),
      ],
    },
  );
}

/** The error of a point on the circle as an angle. */
function meaning(error: number): string {
  const degrees = (2 * Math.asin(Math.min(1, error / 2)) * 180) / Math.PI;
  return `In transformers the worst pair points at least ${shown(degrees, 2)}° off.`;
}

function drawByPair(figure: HTMLElement, errors: Errors, position: number): void {
  const { ropewalk, hf } = errors;
  const worst = hf.indexOf(largest(hf));
  const equal = hf.filter((error, pair) => error < 2 * ropewalk[pair]!).length;
  drawChart(
    figure,
    "The error of each pair",
    `At position ${shown(position, 8)} the worst pair of transformers is pair ${worst}. Its angle is large, and an f32 rounds large numbers coarsely. ${equal} of ${hf.length} pairs ${equal === 1 ? "is" : "are"} as exact as in Ropewalk.`,
    {
      height: 300,
      marginLeft: 56,
      x: { label: "pair, fastest first", ...pairTicks(hf.length) },
      y: { ...errorAxis, clamp: true },
      marks: [
        ...bestLine(),
        ...SYSTEMS.map(({ id, color }) =>
          Plot.dot(
            errors[id].map((error, pair) => ({ pair, error })),
            { x: "pair", y: "error", fill: color, r: 2.5 },
          ),
        ),
      ],
    },
  );
}

function fillTable(body: HTMLElement, measure: (position: number) => Errors): void {
  const rows = IN_TABLE.map((position) => {
    const errors = measure(position);
    const row = document.createElement("tr");
    row.dataset["position"] = String(position);
    const cells = SYSTEMS.map(({ id }) => withText("td", written(largest(errors[id]))));
    row.append(Object.assign(withText("th", shown(position, 8)), { scope: "row" }), ...cells);
    return row;
  });
  body.replaceChildren(...rows);
}
