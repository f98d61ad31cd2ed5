// The temperature of YaRN: the weights of one query with the attention factor and without it.
import type { FrequencyPlan, Rope, Ropewalk } from "ropewalk";
import { drawChart, Plot } from "../page/chart.js";
import { shown } from "../page/elements.js";
import type { Curve, Lengths } from "./scaling_kinds.js";

/** Standard deviation of the scores, before the attention factor. Trained heads have larger ones than random vectors. */
const SPREAD = 1.5;

/** Draws the weights of as many keys as a head has elements, at distances up to the length of the text, largest first. */
export function drawWeights(figure: HTMLElement, rw: Ropewalk, curves: readonly Curve[], { text }: Lengths): void {
  const lines = ["ntk_by_parts", "yarn"].map((id) => {
    const { rope, color, dashes } = curves.find((curve) => curve.id === id)!;
    return { plan: rope.plan(text), color, dashes, weights: weightsOf(rw, rope, text).sort((a, b) => b - a) };
  });
  const [without, scaled] = [lines[0]!, lines[1]!];
  const times = scoreFactor(scaled.plan, without.plan);
  const half = lines.map(({ weights }) => {
    let sum = 0;
    return weights.findIndex((weight) => (sum += weight) >= 0.5) + 1;
  });
  const percent = (weight: number): string => `${shown(weight * 100, 3)} %`;
  drawChart(
    figure,
    "Softmax weights with and without the attention factor",
    `Attention factor ${shown(scaled.plan.attention_factor, 4)}: scores are ${shown(times, 4)} times as large. The largest weight goes from ${percent(without.weights[0]!)} to ${percent(scaled.weights[0]!)}, and half of the weight is on ${half[1]} ${half[1] === 1 ? "key" : "keys"} instead of ${half[0]}.`,
    {
      height: 300,
      marginTop: 34,
      x: {
        type: "log",
        label: "keys, largest weight first",
        domain: [1, without.weights.length],
        ticks: 5,
        tickFormat: "~s",
      },
      y: { label: "weight", tickFormat: "~%", zero: true, ticks: 6 },
      marks: [
        Plot.ruleY([0], { stroke: "var(--line)" }),
        ...lines.map(({ weights, color, dashes }) =>
          Plot.line(
            Array.from(weights, (weight, index) => ({ key: index + 1, weight })),
            { x: "key", y: "weight", stroke: color, strokeWidth: 2.5, strokeDasharray: dashes },
          ),
        ),
      ],
    },
  );
}

/** What a scaling multiplies scores by: in cos and sin of q and of k, or in the softmax scale (DeepSeek). */
export function scoreFactor(plan: FrequencyPlan, plain: FrequencyPlan): number {
  return (plan.attention_factor ** 2 * plan.softmax_scale) / plain.softmax_scale;
}

/** The values are the rows of an identity matrix, so the output of attention is the weights. */
function weightsOf(rw: Ropewalk, rope: Rope, length: number): Float32Array {
  const { head_dim } = rope.config;
  const stretch = Math.sqrt(SPREAD);
  const normal = normals(7, stretch);
  const [q, k] = [head_dim, head_dim ** 2].map((count) => Float32Array.from({ length: count }, normal));
  const identity = Float32Array.from({ length: head_dim ** 2 }, (_, i) => (i % (head_dim + 1) === 0 ? 1 : 0));
  const last = length - 1;
  const kvPositions = Int32Array.from({ length: head_dim }, (_, i) => last - Math.round(last ** (1 - i / head_dim)));
  return rw.attention(q!, k!, identity, {
    layout: "thd",
    shape: [1, 1, head_dim],
    kvShape: [head_dim, 1, head_dim],
    positions: Int32Array.of(last),
    kvPositions,
    rope,
  });
}

/** Numbers with a normal distribution, the same at each call. */
function normals(seed: number, deviation: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => deviation * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
