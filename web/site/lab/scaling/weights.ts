// The temperature of YaRN: the weights of one query with the attention factor and without it.
import type { FrequencyPlan, Rope, Ropewalk } from "ropewalk";
import { drawChart, Plot } from "../../page/chart.js";
import { shown } from "../../page/elements.js";
import { randomNumbers } from "../../page/random.js";
import { percentText } from "../../page/units.js";
import type { Curve, Lengths } from "./kinds.js";

/** Random queries, whose sorted weights are averaged. */
const QUERIES = 64;
/** Standard deviation of the scores, before the attention factor. Trained heads have larger ones than random vectors. */
const SPREAD = 2;

/** Draws the weights of as many keys as a head has elements, at distances up to the length of the text. */
export function drawWeights(figure: HTMLElement, rw: Ropewalk, curves: readonly Curve[], { text }: Lengths): void {
  const lines = ["ntk_by_parts", "yarn"].map((id) => {
    const { rope, color, dashes } = curves.find((curve) => curve.id === id)!;
    return { plan: rope.plan(text), color, dashes, weights: meanWeights(rw, rope, text) };
  });
  const [without, scaled] = [lines[0]!, lines[1]!];
  const times = scoreFactor(scaled.plan, without.plan);
  const inScale = scaled.plan.attention_factor ** 2 === times ? "" : " This model has it in its softmax scale.";
  const half = lines.map(({ weights }) => {
    let sum = 0;
    return weights.findIndex((weight) => (sum += weight) >= 0.5) + 1;
  });
  const percent = (weight: number): string => percentText(weight, 3);
  drawChart(
    figure,
    "Softmax weights with and without the attention factor",
    `Attention factor ${shown(scaled.plan.attention_factor, 4)}: scores are ${shown(times, 4)} times as large.${inScale} The largest weight goes from ${percent(without.weights[0]!)} to ${percent(scaled.weights[0]!)}, and half of the weight is on ${half[1]} ${half[1] === 1 ? "key" : "keys"} instead of ${half[0]}.`,
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
      y: { label: "weight", tickFormat: (weight: number) => percentText(weight, 3), zero: true, ticks: 6 },
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

/** The mean weights of the queries at the end of a text, largest first. The values are the rows of an identity matrix, so outputs are weights. */
function meanWeights(rw: Ropewalk, rope: Rope, length: number): number[] {
  const size = rope.config.head_dim;
  const normal = normals(Math.sqrt(SPREAD));
  const vectors = (count: number): Float32Array => Float32Array.from({ length: count * size }, normal);
  const [q, k] = [vectors(QUERIES), vectors(size)];
  const identity = Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0));
  const last = length - 1;
  const weights = rw.attention(q, k, identity, {
    layout: "thd",
    shape: [QUERIES, 1, size],
    kvShape: [size, 1, size],
    causal: false,
    positions: new Int32Array(QUERIES).fill(last),
    kvPositions: Int32Array.from({ length: size }, (_, i) => last - Math.round(last ** (1 - i / size))),
    rope,
  });
  const means = Array<number>(size).fill(0);
  for (let query = 0; query < QUERIES; query++) {
    const sorted = weights.slice(query * size, (query + 1) * size).sort((a, b) => b - a);
    sorted.forEach((weight, i) => (means[i]! += weight / QUERIES));
  }
  return means;
}

/** Numbers with a normal distribution, the same at each call. */
function normals(deviation: number): () => number {
  const random = randomNumbers(7);
  return () => deviation * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
