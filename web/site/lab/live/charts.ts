// The charts of a run: answers by position, perplexity by position, and recall by distance.
import { distanceOctaves } from "../../../../examples/small_model/measures.mjs";
import { scalings } from "../../../../examples/small_model/scalings.mjs";
import { TRAINED_LENGTH } from "../../../../examples/small_model/texts.mjs";
import evaluation from "../../../../examples/small_model/results/evaluation.json";
import { drawChart, Plot, widthOf } from "../../page/chart.js";
import { shown } from "../../page/elements.js";
import { percentText } from "../../page/units.js";
import { count, LENGTH, type Run } from "./run.js";

/** Tokens in one mean of the loss. */
const STEP = 32;
const ROWS = Array.from({ length: LENGTH / TRAINED_LENGTH }, (_, i) => i * TRAINED_LENGTH);

export const labelOf = (scaling: string): string => (scaling === "none" ? "plain RoPE" : scalings[scaling]!.label);
const rowOf = (at: number): number => Math.floor(at / TRAINED_LENGTH) * TRAINED_LENGTH;
const rowName = (start: number): string => `${shown(start)}–${shown(start + TRAINED_LENGTH - 1)}`;

/** The parts of a run between two switches. */
function partsOf({ switches, losses }: Run): { from: number; to: number; scaling: string }[] {
  return switches.map(({ at, scaling }, i) => ({ from: at, to: switches[i + 1]?.at ?? losses.length, scaling }));
}

/** One row for each trained length, with a mark for each answer. */
export function drawStrip(figure: HTMLElement, run: Run): void {
  const parts = partsOf(run);
  const bars = parts.flatMap(({ from, to }, i) =>
    ROWS.flatMap((row) => {
      const [x1, x2] = [Math.max(from, row), Math.min(to, row + TRAINED_LENGTH)];
      return x1 < x2 ? [{ row: rowName(row), x1: x1 - row, x2: x2 - row, isFirst: i === 0 }] : [];
    }),
  );
  const marks = run.answers.map(({ at, isRight, word, distance }) => ({
    row: rowName(rowOf(at)),
    x: at - rowOf(at),
    isRight,
    title: `token ${at}: ${word ?? "?"}, ${isRight ? "right" : `wrong, it is in the ${run.words[at] ?? "?"}`}${distance === undefined ? "" : `; the fact is ${distance} words back`}`,
  }));
  const switched = parts
    .filter(({ from }) => from > 0)
    .map(({ from, scaling }) => ({
      row: rowName(rowOf(from)),
      x: from - rowOf(from),
      text: labelOf(scaling),
      at: from,
    }));
  const lengths = [
    { row: rowName(0), x: 0, text: "trained length" },
    { row: rowName(TRAINED_LENGTH), x: 0, text: "past the trained length" },
  ];
  drawChart(figure, "Answers by position", stripText(run), {
    height: 54 * ROWS.length + 56,
    marginTop: 26,
    marginLeft: 78,
    marginBottom: 36,
    x: { domain: [0, TRAINED_LENGTH], label: "token in the row", ticks: [0, 64, 128, 192, 256] },
    y: { domain: ROWS.map(rowName), label: null, padding: 0.35, tickSize: 0 },
    marks: [
      Plot.barX(bars, {
        y: "row",
        x1: "x1",
        x2: "x2",
        fill: (bar: { isFirst: boolean }) => (bar.isFirst ? "var(--trained)" : "var(--chosen)"),
        fillOpacity: 0.22,
      }),
      Plot.tickX(switched, { y: "row", x: "x", stroke: "var(--chosen)", strokeWidth: 2 }),
      Plot.text(lengths, { y: "row", x: "x", text: "text", dy: -24, fill: "var(--faint)", textAnchor: "start" }),
      ...switched.map((mark) =>
        Plot.text([mark], {
          y: "row",
          x: "x",
          text: "text",
          dy: -24,
          fill: "var(--chosen)",
          textAnchor: mark.x > TRAINED_LENGTH / 2 || mark.row === rowName(TRAINED_LENGTH) ? "end" : "start",
        }),
      ),
      Plot.text(marks, {
        y: "row",
        x: "x",
        text: (mark: { isRight: boolean }) => (mark.isRight ? "✓" : "✗"),
        fill: (mark: { isRight: boolean }) => (mark.isRight ? "var(--right)" : "var(--wrong)"),
        fontSize: widthOf(figure) < 480 ? 13 : 17, // on phones neighbors would touch
        fontWeight: 700,
      }),
      Plot.tip(marks, Plot.pointer({ y: "row", x: "x", title: "title", fill: "var(--raised)", stroke: "var(--line)" })),
    ],
  });
}

/** What the strip shows, in words. */
function stripText(run: Run): string {
  const sentences = partsOf(run).flatMap(({ from, to, scaling }) => {
    const past = Math.max(from, TRAINED_LENGTH);
    const inside = count(run, from, Math.min(to, TRAINED_LENGTH));
    const beyond = count(run, past, to);
    const of = ({ right, asked }: { right: number; asked: number }): string => `${right} of ${asked}`;
    return [
      ...(inside.asked > 0
        ? [`Within its ${TRAINED_LENGTH} tokens, with ${labelOf(scaling)}: ${of(inside)} answers right.`]
        : []),
      ...(past < to ? [`From token ${past} to ${to}, with ${labelOf(scaling)}: ${of(beyond)} right.`] : []),
    ];
  });
  return sentences.join(" ");
}

/** exp of the mean loss of each step. */
function perplexities(losses: readonly number[]): { position: number; perplexity: number }[] {
  return Array.from({ length: Math.floor(losses.length / STEP) }, (_, i) => {
    const some = losses.slice(i * STEP, (i + 1) * STEP).filter((loss) => !Number.isNaN(loss));
    const mean = some.reduce((sum, loss) => sum + loss, 0) / some.length;
    return { position: (i + 0.5) * STEP, perplexity: Math.exp(mean) };
  });
}

/** Perplexity by position. Grows as the story is read. */
export function drawLoss(figure: HTMLElement, run: Run): void {
  const points = perplexities(run.losses);
  const switches = run.switches.filter(({ at }) => at > 0);
  const [first, last] = [points[0], points.at(-1)];
  const caption =
    first === undefined || last === undefined
      ? `Perplexity of each ${STEP} tokens, as they are read.`
      : `Perplexity of each ${STEP} tokens, how many words it hesitates between, so smaller is better: ${shown(first.perplexity, 3)} at the beginning, ${shown(last.perplexity, 3)} at token ${run.losses.length}. The dashed line is the trained length.`;
  drawChart(figure, "Perplexity by position", caption, {
    height: 260,
    marginTop: 34,
    x: { domain: [0, LENGTH], label: "token" },
    y: {
      type: "log",
      domain: [1, Math.max(30, ...points.map(({ perplexity }) => perplexity))],
      label: "perplexity",
      ticks: 4,
      tickFormat: "~s",
    },
    marks: [
      Plot.ruleX([TRAINED_LENGTH], { stroke: "var(--faint)", strokeDasharray: "4 4" }),
      Plot.ruleX(switches, { x: "at", stroke: "var(--chosen)" }),
      Plot.text(switches, {
        x: "at",
        frameAnchor: "top",
        text: ({ scaling }: { scaling: string }) => labelOf(scaling),
        dx: 4,
        textAnchor: "start",
        fill: "var(--chosen)",
      }),
      Plot.line(points, { x: "position", y: "perplexity", stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.dot(points, { x: "position", y: "perplexity", fill: "var(--ink)", r: 2 }),
      Plot.tip(points, Plot.pointerX({ x: "position", y: "perplexity", fill: "var(--raised)", stroke: "var(--line)" })),
    ],
  });
}

interface Measured {
  readonly model: string;
  readonly scaling: string;
  readonly length: number;
  readonly groups: readonly { readonly asked?: readonly number[]; readonly right?: readonly number[] }[];
}

/** Shares of right answers by octave of the distance, over all measured stories of this length. */
function measuredRecall(scaling: string): { distance: number; share: number; scaling: string }[] {
  const measured = (evaluation.measured as readonly Measured[]).find(
    (one) => one.model === "trained" && one.scaling === scaling && one.length === LENGTH,
  );
  if (measured === undefined) return [];
  return Array.from({ length: distanceOctaves.count(LENGTH) }, (_, octave) => {
    const sum = (counts: "asked" | "right"): number =>
      measured.groups.reduce((total, group) => total + (group[counts]?.[octave] ?? 0), 0);
    return { distance: distanceOctaves.first * 2 ** (octave + 0.5), share: sum("right") / sum("asked"), scaling };
  }).filter(({ share }) => !Number.isNaN(share));
}

/** The share of right answers by the distance of the fact: this run's answers on top of the committed measurement. */
export function drawRecall(figure: HTMLElement, run: Run | undefined, names: readonly string[]): void {
  const lines = [...new Set(names)].map((name, i) => ({ name, color: i === 0 ? "var(--trained)" : "var(--chosen)" }));
  const curves = lines.map(({ name, color }) => ({ color, points: measuredRecall(name), name }));
  const answers = (run?.answers ?? [])
    .filter(({ distance, at }) => distance !== undefined && at >= TRAINED_LENGTH)
    .map(({ distance, isRight, at }) => ({
      distance,
      from: isRight ? 1.07 : -0.13,
      to: isRight ? 1.13 : -0.07,
      color: at < (run?.switches[1]?.at ?? Infinity) ? "var(--trained)" : "var(--chosen)",
    }));
  const strokes =
    answers.length === 0
      ? ""
      : ` Each stroke above (right) and below (wrong) is an answer of this story past token ${TRAINED_LENGTH}.`;
  const far = curves.map(({ name, points }) => `${percentText(points.at(-1)?.share ?? 0)} with ${labelOf(name)}`);
  const caption = `Right answers by distance of the fact, measured on stories of this length. From ${LENGTH / 2} words on: ${far.join(", ")}.${strokes}`;
  drawChart(figure, "Right answers by distance of the fact", caption, {
    height: 260,
    marginTop: 44,
    x: { type: "log", base: 2, domain: [8, LENGTH], label: "words between the fact and the answer", tickFormat: "~d" },
    y: {
      domain: [-0.15, 1.15],
      ticks: [0, 0.5, 1],
      percent: false,
      tickFormat: (share: number) => percentText(share),
      label: "right answers",
    },
    marks: [
      ...curves.flatMap(({ color, points, name }, i) => [
        Plot.line(points, { x: "distance", y: "share", stroke: color, strokeWidth: 2 }),
        Plot.text([labelOf(name)], { frameAnchor: "top-right", dy: 16 * i - 36, fill: color, fontWeight: 600 }), // both lines may be near 100 %
      ]),
      Plot.ruleX(answers, { x: "distance", y1: "from", y2: "to", stroke: "color", strokeWidth: 3 }),
    ],
  });
}
