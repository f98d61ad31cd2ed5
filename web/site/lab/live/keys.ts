// The pairs of a cached key as clock hands, before and after a change of the scaling.
import type { Ropewalk } from "ropewalk";
import { overridesFor } from "../../../../examples/small_model/scalings.mjs";
import { overrideRopeConfig, type RopeConfig } from "ropewalk";
import { drawChart, Plot, widthOf } from "../../page/chart.js";
import { labelOf } from "./charts.js";
import { LENGTH } from "./run.js";

/** The RoPE of the small model, as its file has it. */
export const SMALL_ROPE: RopeConfig = {
  head_dim: 32,
  pairing: "half",
  rope_theta: 10000,
  max_position_embeddings: 256,
};
const PAIRS = 16;
const GAP = 2.5;

/** The hands of a key whose pairs all point to the right before they are rotated. */
function handsAt(rw: Ropewalk, scaling: string, position: number): { x: number; y: number }[] {
  const rope = rw.rope(overrideRopeConfig(SMALL_ROPE, overridesFor(scaling, LENGTH)));
  try {
    const key = new Float32Array(2 * PAIRS).fill(1, 0, PAIRS);
    rope.rotate(key, { layout: "thd", shape: [1, 1, 2 * PAIRS], positions: [position], role: "key" });
    return Array.from({ length: PAIRS }, (_, pair) => ({ x: key[pair]!, y: key[pair + PAIRS]! }));
  } finally {
    rope.dispose();
  }
}

/** Draws the key at a position. `moved` is how far the hands have moved from the first scaling to the later one: 1 at the end. */
export function drawKeys(
  figure: HTMLElement,
  rw: Ropewalk,
  { first, later, position }: { first: string; later: string; position: number },
  moved = 1,
): void {
  const columns = widthOf(figure) < 560 ? 4 : 8;
  const [before, after] = [handsAt(rw, first, position), handsAt(rw, later, position)];
  const turns = before.map((hand, i) => {
    const [from, to] = [Math.atan2(hand.y, hand.x), Math.atan2(after[i]!.y, after[i]!.x)];
    const turn = to - from - 2 * Math.PI * Math.round((to - from) / (2 * Math.PI)); // the short way
    return { from, turn };
  });
  const clocks = before.map((hand, pair) => {
    const [x, y] = [(pair % columns) * GAP, -Math.floor(pair / columns) * GAP];
    const { from, turn } = turns[pair]!;
    const angle = from + moved * turn;
    return { pair, x, y, xOld: x + hand.x, yOld: y + hand.y, xNew: x + Math.cos(angle), yNew: y + Math.sin(angle) };
  });
  const rows = PAIRS / columns;
  const largest = turns.reduce((best, { turn }, i) => (Math.abs(turn) > Math.abs(turns[best]!.turn) ? i : best), 0);
  const kept = turns.filter(({ turn }) => Math.abs(turn) < 0.01).length;
  const degrees = (turn: number): string => `${Math.round((Math.abs(turn) * 180) / Math.PI)}°`;
  drawChart(
    figure,
    "The pairs of a cached key",
    `The key of token ${position}: brown with ${labelOf(first)}, blue with ${labelOf(later)}. Pair ${largest} moves most, by ${degrees(turns[largest]!.turn)}. ${kept} of ${PAIRS} pairs stay where they are. Each pair is drawn as if it pointed to the right before it was rotated.`,
    {
      height: (widthOf(figure) / columns) * rows,
      margin: 4,
      marginLeft: 4,
      marginBottom: 4,
      x: { domain: [-GAP / 2, (columns - 0.5) * GAP], axis: null },
      y: { domain: [-(rows - 0.5) * GAP, GAP / 2], axis: null },
      marks: [
        Plot.dot(clocks, { x: "x", y: "y", r: (widthOf(figure) / columns / GAP) * 0.98, stroke: "var(--line)" }),
        Plot.link(clocks, { x1: "x", y1: "y", x2: "xOld", y2: "yOld", stroke: "var(--trained)", strokeWidth: 3 }),
        Plot.link(clocks, { x1: "x", y1: "y", x2: "xNew", y2: "yNew", stroke: "var(--chosen)", strokeWidth: 3 }),
        Plot.text(clocks, {
          x: (clock: { x: number }) => clock.x - 1,
          y: (clock: { y: number }) => clock.y + 1,
          text: "pair",
          fill: "var(--faint)",
        }),
      ],
    },
  );
}
