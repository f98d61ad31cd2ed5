// Panel 1: a query and a key as clock hands, and their score by distance.
import { drawChart, Plot, widthOf } from "../../page/chart.js";
import { changeTo, controlOf, numberIn, showOutputs } from "../../page/controls.js";
import { type Handle, makeDraggable, scaleOf } from "../../page/drag.js";
import { find, shown } from "../../page/elements.js";
import { mountExample } from "./example.js";
import { type Mount, nextTask } from "../panel.js";
import "./panel.css";

/** Radians per position. One of the faster pairs of a real model, slow enough to follow by eye. */
const THETA = 0.1;
const LARGEST_DISTANCE = 64;
const QUERY = [1, 0] as const;
/** Radians from the query to the key, before they are rotated. */
const AHEAD = 0.5;
const KEY = [Math.cos(AHEAD), Math.sin(AHEAD)] as const;
/** Where the two hands meet. */
const PEAK = { distance: AHEAD / THETA, score: 1 };

/** Edge of the dial's square in units of a hand, which leaves space for the labels. */
const EDGE = 1.34;
/** Radians between two labels, at least. */
const LABEL_GAP = 0.55;

/** @see lab/one_pair/panel.html */
export const mount: Mount = ({ section, form, rw }) => {
  // a rope with one pair: its frequency is base^0 = 1, so positions are given in units of THETA
  const rope = rw.rope({ head_dim: 2, pairing: "interleaved", rope_theta: 10000, max_position_embeddings: 4096 });
  const rotated = (vector: readonly [number, number], position: number): [number, number] => {
    const options = { layout: "thd", shape: [1, 1, 2], positions: [position * THETA] } as const;
    const [x, y] = rope.rotate(Float32Array.from(vector), options);
    return [x!, y!];
  };
  const scoreAt = (query: number, key: number): number => {
    const [a, b] = [rotated(QUERY, query), rotated(KEY, key)];
    return a[0] * b[0] + a[1] * b[1];
  };
  const positions = (): { query: number; key: number; shift: number } => {
    const shift = numberIn(form, "shift");
    return { query: numberIn(form, "query") + shift, key: numberIn(form, "key") + shift, shift };
  };
  const handsOf = ({ query, key }: { query: number; key: number }): Hand[] => [
    { name: "query", end: rotated(QUERY, query) },
    { name: "key", end: rotated(KEY, key) },
  ];

  const [dial, chart] = [find("#one_pair-hands", section), find("#one_pair-score", section)];
  makeDraggable(dial, () => handsOf(positions()).map((hand) => dragHandle(dial, hand, controlOf(form, hand.name))));
  makeDraggable(chart, () => {
    const { query, key } = positions();
    const [x, y] = [scaleOf(chart, "x"), scaleOf(chart, "y")];
    const move = (pixel: number): void =>
      changeTo(controlOf(form, "query"), numberIn(form, "key") + Math.round(x.toValue(pixel)));
    return [{ x: x.toPixel(query - key), y: y.toPixel(scoreAt(query, key)), move }];
  });
  const drawExample = mountExample(section, form, rw);
  let isFirst = true;

  return async () => {
    const { query, key, shift } = positions();
    showOutputs(form, { query: shown(query), key: shown(key), shift: shown(shift) });
    const score = scoreAt(query, key);
    const between = Math.abs(angleBetween(angleOf(rotated(QUERY, query)), angleOf(rotated(KEY, key))));
    const angles =
      `The query is rotated by ${shown(query * THETA, 3)} radians, the key by ${shown(key * THETA, 3)}. The hands are ` +
      `${shown(between, 3)} rad apart, and the cosine of that is their score, ${shown(score, 3)}.`;
    drawDial(dial, handsOf({ query, key }), handsOf({ query: 0, key: 0 }), angles);
    if (isFirst) await nextTask(); // later drawings follow a finger
    isFirst = false;

    const distances = Array.from({ length: 2 * LARGEST_DISTANCE + 1 }, (_, i) => i - LARGEST_DISTANCE);
    const curve = distances.map((distance) => ({ distance, score: scoreAt(distance, 0) }));
    const caption = `At distance ${shown(query - key)} the score is ${shown(score, 3)}, wherever the two are.`;
    drawChart(chart, "The score by distance", caption, {
      height: 280,
      marginTop: 40,
      x: { label: "distance: query − key, in positions", labelAnchor: "center" },
      y: { label: "score", domain: [-1.05, 1.05] },
      marks: [
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.line(curve, { x: "distance", y: "score", stroke: "var(--trained)", strokeWidth: 2 }),
        Plot.text([PEAK], {
          x: "distance",
          y: "score",
          text: () => `the hands meet: ${PEAK.distance}`,
          dy: -16,
          fill: "var(--faint)",
        }),
        Plot.dot([{ distance: query - key, score }], { x: "distance", y: "score", fill: "var(--chosen)", r: 7 }),
      ],
    });
    drawExample();
  };
};

interface Hand {
  name: "query" | "key";
  end: [number, number];
}

function angleOf([x, y]: readonly [number, number]): number {
  return Math.atan2(y, x);
}

/** Draws hands, and dashed where they start at position 0. */
function drawDial(figure: HTMLElement, hands: readonly Hand[], starts: readonly Hand[], caption: string): void {
  const [width, size] = [widthOf(figure), sizeOf(figure)];
  const circle = Array.from({ length: 91 }, (_, i) => [Math.cos((i * Math.PI) / 45), Math.sin((i * Math.PI) / 45)]);
  const pointsOf = (all: readonly Hand[]) => all.map(({ name, end: [x, y] }) => ({ name, x, y }));
  const ends = pointsOf(hands);
  const color = ({ name }: { name: string }): string => `var(--${name})`;
  drawChart(figure, "The query and the key as clock hands", caption, {
    height: size,
    margin: 0,
    marginLeft: 0,
    marginBottom: 0,
    marginRight: width - size, // a square, so that the circle is round
    x: { domain: [-EDGE, EDGE], axis: null },
    y: { domain: [-EDGE, EDGE], axis: null },
    marks: [
      Plot.line(circle as [number, number][], { stroke: "var(--line)" }),
      Plot.link(pointsOf(starts), { x1: 0, y1: 0, x2: "x", y2: "y", stroke: color, strokeDasharray: "3 4" }),
      Plot.line(arcBetween(hands), { stroke: "var(--ink)", strokeWidth: 1.5 }),
      Plot.link(ends, { x1: 0, y1: 0, x2: "x", y2: "y", stroke: color, strokeWidth: 3 }),
      Plot.dot(ends, { x: "x", y: "y", r: 7, fill: color }),
      Plot.text(labelsOf(hands), { x: "x", y: "y", text: "name", fill: color, fontSize: 14 }),
    ],
  });
}

function sizeOf(figure: HTMLElement): number {
  return Math.min(widthOf(figure), 340);
}

/** The angle between the hands, as points of an arc. */
function arcBetween([first, second]: readonly Hand[]): [number, number][] {
  const [start, between] = [angleOf(first!.end), angleBetween(angleOf(first!.end), angleOf(second!.end))];
  return Array.from({ length: 31 }, (_, i) => {
    const angle = start + (between * i) / 30;
    return [0.3 * Math.cos(angle), 0.3 * Math.sin(angle)];
  });
}

/** Labels beyond the ends of the hands, apart from each other. */
function labelsOf([first, second]: readonly Hand[]): { name: string; x: number; y: number }[] {
  const angle = ({ end }: Hand): number => angleOf(end);
  const between = angleBetween(angle(first!), angle(second!));
  const apart = Math.max(0, LABEL_GAP - Math.abs(between)) / 2;
  const toFirst = between < 0 ? apart : -apart;
  const place = ({ name }: Hand, at: number): { name: string; x: number; y: number } => ({
    name,
    x: 1.26 * Math.cos(at),
    y: 1.18 * Math.sin(at),
  });
  return [place(first!, angle(first!) + toFirst), place(second!, angle(second!) - toFirst)];
}

/** The end of a hand. Dragging it around the circle moves the position by 1 for each THETA, also past a full turn. */
function dragHandle(figure: HTMLElement, { end }: Hand, control: HTMLInputElement): Handle {
  const center = sizeOf(figure) / 2;
  const [x, y] = [center + (end[0] * center) / EDGE, center - (end[1] * center) / EDGE];
  const start = Number(control.value);
  let [angle, turned] = [angleOf(end), 0];
  const move = (toX: number, toY: number): void => {
    const next = Math.atan2(center - toY, toX - center);
    turned += angleBetween(angle, next);
    angle = next;
    changeTo(control, start + Math.round(turned / THETA));
  };
  return { x, y, move };
}

/** From one angle to another the shorter way, −π to π. */
function angleBetween(from: number, to: number): number {
  return Math.atan2(Math.sin(to - from), Math.cos(to - from));
}
