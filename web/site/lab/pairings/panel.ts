// Panel 3: the two pairings, what the wrong one does to scores, and the conversion between them.
import type { Rope } from "ropewalk";
import { drawChart, Plot } from "../../page/chart.js";
import { choiceIn, numberIn, showOutputs } from "../../page/controls.js";
import { find, shown } from "../../page/elements.js";
import { randomNumbers } from "../../page/random.js";
import { drawPairs, type TwoPairings } from "./picture.js";
import { tryPairings } from "./model.js";
import type { Mount } from "../panel.js";
import "./panel.css";

const HEAD_DIM = 64;
const POSITIONS = 97;
/** Small, so that all pairs turn within these positions. */
const BASE = 100;

/** @see lab/pairings/panel.html */
export const mount: Mount = ({ section, form, rw }) => {
  for (const pairing of ["interleaved", "half"] as const)
    drawPairs(find(`#pairings-pictures [data-pairing=${pairing}]`, section), rw, pairing);
  tryPairings(section, rw);
  const figure = find("#pairings-scores", section);
  const ropeWith = (pairing: TwoPairings): Rope => rw.rope({ head_dim: HEAD_DIM, pairing, rope_theta: BASE });
  const ropes = { half: ropeWith("half"), interleaved: ropeWith("interleaved") };

  return () => {
    const right = choiceIn(form, "trained") as TwoPairings;
    const wrong = right === "half" ? "interleaved" : "half";
    const [distance, seed] = [numberIn(form, "distance"), numberIn(form, "seed")];
    showOutputs(form, { distance: `${distance} tokens`, seed: String(seed) });

    const head = headFor(ropes[right], distance, seed);
    const scores = scoresOf(ropes[right], head);
    const mistaken = scoresOf(ropes[wrong], head);
    const convert = (rows: Float32Array): Float32Array =>
      rw.convertPairing(rows, { heads: 1, head_dim: HEAD_DIM, from: right, to: wrong });
    const converted = scoresOf(ropes[wrong], { query: convert(head.query), key: convert(head.key) });

    const difference = (others: readonly number[]): string => {
      const largest = Math.max(...others.map((score, i) => Math.abs(score - scores[i]!)));
      return largest === 0 || largest > 1e-3 ? shown(largest, 2) : largest.toExponential(1);
    };
    const highest = (all: readonly number[]): number => all.indexOf(Math.max(...all));
    const rows = (all: readonly number[]): { distance: number; score: number }[] =>
      all.map((score, i) => ({ distance: i, score }));
    const caption =
      `Right pairing (${right}): the highest score is at distance ${highest(scores)}. Wrong pairing (${wrong}): it is ` +
      `at distance ${highest(mistaken)}, and scores are off by up to ${difference(mistaken)}. With converted parameters ` +
      `they are off by at most ${difference(converted)}, which is rounding.`;
    drawChart(figure, "Scores by distance under both pairings", caption, {
      height: 280,
      x: { label: "tokens back", labelAnchor: "center" },
      y: { label: "score" },
      marks: [
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.ruleX([distance], { stroke: "var(--trained)", strokeDasharray: "2 3" }),
        Plot.text([distance], {
          x: (tokens: number) => tokens,
          frameAnchor: "top",
          textAnchor: "start",
          dx: 6,
          text: () => `${distance} tokens back`,
          fill: "var(--faint)",
        }),
        Plot.line(rows(mistaken), { x: "distance", y: "score", stroke: "var(--wrong)", strokeWidth: 2 }),
        Plot.line(rows(scores), { x: "distance", y: "score", stroke: "var(--right)", strokeWidth: 2.5 }),
        Plot.dot(rows(converted), { x: "distance", y: "score", fill: "var(--ink)", r: 2 }),
      ],
    });
  };
};

/** The projections of a head for the input 1: one column each. */
interface Head {
  readonly query: Float32Array;
  readonly key: Float32Array;
}

/** A head whose score is highest at a distance: its key is the query, rotated ahead by that distance. */
function headFor(rope: Rope, distance: number, seed: number): Head {
  const random = randomNumbers(seed);
  const query = Float32Array.from({ length: HEAD_DIM }, () => 2 * random() - 1);
  const key = rope.rotate(query.slice(), { layout: "thd", shape: [1, 1, HEAD_DIM], positions: distance });
  return { query, key };
}

/** The score of the last query with the key of each token, nearest first. */
function scoresOf(rope: Rope, { query, key }: Head): number[] {
  const last = rope.rotate(query.slice(), { layout: "thd", shape: [1, 1, HEAD_DIM], positions: POSITIONS - 1 });
  const keys = new Float32Array(POSITIONS * HEAD_DIM);
  for (let token = 0; token < POSITIONS; token++) keys.set(key, token * HEAD_DIM);
  rope.rotate(keys, { layout: "thd", shape: [POSITIONS, 1, HEAD_DIM], positions: 0 });
  const scale = rope.plan().softmax_scale;
  return Array.from({ length: POSITIONS }, (_, distance) => {
    const start = (POSITIONS - 1 - distance) * HEAD_DIM;
    return scale * last.reduce((sum, value, i) => sum + value * keys[start + i]!, 0);
  });
}
