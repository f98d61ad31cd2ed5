// Panel 1: a query and a key as clock hands, and their score by distance.
import { drawChart, Plot, widthOf } from "../page/chart.js";
import { find, shown } from "../page/elements.js";
import type { Mount } from "./panel.js";

/** Radians per position. One of the faster pairs of a real model, slow enough to follow by eye. */
const THETA = 0.1;
const LARGEST_DISTANCE = 64;
const QUERY = [1, 0] as const;
const KEY = [Math.cos(0.5), Math.sin(0.5)] as const;

/** @see lab/one_pair.html */
export const mount: Mount = ({ section, form, rw }) => {
  // a rope with one pair: its frequency is base^0 = 1, so positions are given in units of THETA
  const rope = rw.rope({ head_dim: 2, pairing: "interleaved", rope_theta: 10000, max_position_embeddings: 4096 });
  const turned = (vector: readonly [number, number], position: number): [number, number] => {
    const [x, y] = rope.rotate(Float32Array.from(vector), {
      layout: "thd",
      shape: [1, 1, 2],
      positions: [position * THETA],
    });
    return [x!, y!];
  };
  const scoreAt = (query: number, key: number): number => {
    const [a, b] = [turned(QUERY, query), turned(KEY, key)];
    return a[0] * b[0] + a[1] * b[1];
  };
  return () => {
    const number = (name: string): number => Number((form.elements.namedItem(name) as HTMLInputElement).value);
    const shift = number("shift");
    const [query, key] = [number("query") + shift, number("key") + shift];
    for (const output of form.querySelectorAll("output"))
      output.textContent = shown(
        output.dataset["of"] === "query" ? query : output.dataset["of"] === "key" ? key : shift,
      );

    const score = scoreAt(query, key);
    const hands = find("#one_pair-hands", section);
    const size = Math.min(widthOf(hands), 340);
    const hand = (vector: [number, number], name: string) => ({ x: vector[0], y: vector[1], name });
    const ends = [hand(turned(QUERY, query), "query"), hand(turned(KEY, key), "key")];
    const color = ({ name }: { name: string }): string => `var(--${name})`;
    drawChart(
      hands,
      "The query and the key as clock hands",
      `The query is turned by ${shown(query * THETA, 3)} radians, the key by ${shown(key * THETA, 3)}. Their score is ${shown(score, 3)}.`,
      {
        height: size,
        aspectRatio: 1,
        margin: 10,
        x: { domain: [-1.15, 1.15], axis: null },
        y: { domain: [-1.15, 1.15], axis: null },
        marks: [
          Plot.line(
            Array.from({ length: 91 }, (_, i) => [Math.cos((i * Math.PI) / 45), Math.sin((i * Math.PI) / 45)] as const),
            { stroke: "var(--line)" },
          ),
          Plot.arrow(ends, { x1: 0, y1: 0, x2: "x", y2: "y", stroke: color, strokeWidth: 3 }),
          Plot.text(ends, { x: "x", y: "y", text: "name", dy: -12, fill: color, fontSize: 14 }),
        ],
      },
    );

    const distances = Array.from({ length: 2 * LARGEST_DISTANCE + 1 }, (_, i) => i - LARGEST_DISTANCE);
    const curve = distances.map((distance) => ({ distance, score: scoreAt(distance, 0) }));
    drawChart(
      find("#one_pair-score", section),
      "The score by distance",
      `At distance ${shown(query - key)} the score is ${shown(score, 3)}, wherever the two are.`,
      {
        height: 260,
        x: { label: "distance: position of the query − position of the key" },
        y: { label: "score", domain: [-1.05, 1.05] },
        marks: [
          Plot.ruleY([0], { stroke: "var(--line)" }),
          Plot.line(curve, { x: "distance", y: "score", stroke: "var(--trained)" }),
          Plot.dot([{ distance: query - key, score }], { x: "distance", y: "score", fill: "var(--chosen)", r: 6 }),
        ],
      },
    );
  };
};
