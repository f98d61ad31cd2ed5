// Memory by length in the panel "Other positions": a KV cache that grows, and a state that doesn't.
import type { Ropewalk } from "ropewalk";
import { drawChart, Plot } from "../../page/chart.js";
import { shown } from "../../page/elements.js";
import { bytesText } from "../../page/units.js";

/** The layers and heads of Llama 3.1 8B. */
const LAYERS = 32;
const HEADS = { heads: 32, kvHeads: 8, headDim: 128 };
const WINDOW = 4096;
const LENGTHS = Array.from({ length: 41 }, (_, i) => Math.round(2 ** (10 + i / 4)));

/** 16 MiB to 64 GiB. */
const MEMORY_TICKS = [24, 27, 30, 33, 36].map((exponent) => 2 ** exponent);

/** Returns the function that draws the chart with a length marked. */
export function memoryChart(rw: Ropewalk): (figure: HTMLElement, length: number) => void {
  const state = rw.linearState(HEADS);
  const stateBytes = LAYERS * state.save().byteLength;
  state.dispose();
  const { kvHeads, headDim } = HEADS;
  const cacheBytes = (length: number): number =>
    rw.kvCacheBytes({ layers: LAYERS, kvHeads, headDim, rope: null, dtype: "f16", length, maxLength: length });
  const lines = [
    { id: "cache", name: "KV cache", color: "var(--linear)", bytes: cacheBytes },
    {
      id: "window",
      name: `KV cache of a window of ${shown(WINDOW)} tokens`,
      color: "var(--ntk)",
      bytes: (length: number) => cacheBytes(Math.min(length, WINDOW)),
    },
    { id: "linear", name: "state of linear attention", color: "var(--chosen)", bytes: () => stateBytes },
  ];
  return (figure, length) => {
    const curves = lines.map((line) => ({
      ...line,
      points: LENGTHS.map((at) => ({ length: at, bytes: line.bytes(at) })),
      now: line.bytes(length),
    }));
    const said = curves.map(({ name, now }) => `${name}: ${bytesText(now)}`);
    drawChart(figure, "Memory by length", `For ${shown(length, 8)} tokens, ${said.join("; ")}.`, {
      height: 280,
      marginLeft: 64,
      x: { type: "log", label: "tokens", domain: [2 ** 10, 2 ** 20], ticks: 4, tickFormat: "~s" },
      y: {
        type: "log",
        base: 2,
        label: "memory",
        domain: [2 ** 23, 2 ** 37],
        ticks: MEMORY_TICKS,
        tickFormat: bytesText,
      },
      marks: [
        Plot.ruleX([length], { stroke: "var(--line)", strokeWidth: 2 }),
        ...curves.map(({ points, color }) =>
          Plot.line(points, { x: "length", y: "bytes", stroke: color, strokeWidth: 2.5 }),
        ),
        Plot.dot(curves, { x: length, y: "now", fill: "color", r: 5 }),
      ],
    });
    for (const { id, now } of curves) figure.dataset[id] = String(now);
  };
}
