// The chart of a reading: loss by position in the color of its method, and a mark for each answer.
import { methods } from "../../../examples/arena/methods.mjs";
import { TRAINED_LENGTH } from "../../../examples/small_model/texts.mjs";
import { drawChart, Plot } from "../page/chart.js";
import { shown } from "../page/elements.js";
import { LENGTH, type Read } from "./reading.js";

/** Tokens of one mean. */
const STEP = 32;
/** Losses above this are drawn at it. */
const HIGHEST = 8;

const COLORS: Readonly<Record<string, string>> = {
  none: "var(--plain)",
  pi: "var(--linear)",
  ntk: "var(--ntk)",
  dynamic_ntk: "var(--dynamic)",
  ntk_by_parts: "var(--ntk_by_parts)",
  yarn: "var(--yarn)",
  dynamic_yarn: "var(--dynamic_yarn)",
};
const OTHERS = ["var(--llama3)", "var(--longrope)", "var(--custom)", "var(--query)", "var(--key)"];

/** The color of a method. */
export function colorOf(method: string): string {
  const others = Object.keys(methods).filter((name) => !(name in COLORS));
  return COLORS[method] ?? OTHERS[others.indexOf(method) % OTHERS.length]!;
}

interface Point {
  readonly at: number;
  readonly loss: number;
  readonly stretch: number;
  readonly method: string;
}

/** Means of whole steps inside each stretch. */
function pointsOf({ losses, stretches }: Read): Point[] {
  return stretches.flatMap(({ from, method }, stretch) => {
    const to = stretches[stretch + 1]?.from ?? losses.length;
    return Array.from({ length: Math.ceil((to - from) / STEP) }, (_, i) => {
      const first = from + i * STEP;
      const some = losses.slice(first, Math.min(to, first + STEP)).filter((loss) => !Number.isNaN(loss));
      const loss = some.reduce((sum, one) => sum + one, 0) / some.length;
      return { at: first + some.length / 2, count: some.length, loss: Math.min(loss, HIGHEST), stretch, method };
    }).filter(({ count }) => count >= STEP / 2); // a mean of few tokens would jump
  });
}

/** Right answers of a stretch, in words. */
function stretchText({ answers, losses, stretches }: Read, i: number): string {
  const { from, method } = stretches[i]!;
  const to = stretches[i + 1]?.from ?? losses.length;
  const asked = answers.filter(({ at }) => at >= from && at < to);
  const right = asked.filter(({ isRight }) => isRight).length;
  const { label } = methods[method]!;
  return `${label[0]!.toUpperCase()}${label.slice(1)} from token ${shown(from)}: ${right} of ${asked.length} answers right.`;
}

/** Draws what has been read. */
export function drawLoss(figure: HTMLElement, read: Read): void {
  const points = pointsOf(read);
  const marks = read.answers.map(({ at, isRight }) => ({
    at,
    isRight,
    low: isRight ? -0.45 : -0.9,
    high: isRight ? -0.15 : -0.6,
  }));
  const caption = [
    `Mean loss of ${STEP} tokens, lower is better. The dashed line is the trained length. Marks below are answers: right in the upper row, wrong in the lower.`,
    ...read.stretches.map((_, i) => stretchText(read, i)),
  ];
  drawChart(figure, "Loss by position", caption.join(" "), {
    height: 320,
    marginTop: 28,
    x: { domain: [0, LENGTH], label: "token" },
    y: { domain: [-1, HIGHEST], label: "loss", ticks: [0, 2, 4, 6, 8] },
    marks: [
      Plot.gridY([0, 2, 4, 6, 8], { stroke: "var(--line)", strokeOpacity: 0.8 }),
      Plot.ruleX([TRAINED_LENGTH], { stroke: "var(--faint)", strokeDasharray: "4 4" }),
      Plot.ruleX(
        read.stretches.filter(({ from }) => from > 0),
        { x: "from", stroke: "var(--line)", strokeWidth: 2 },
      ),
      Plot.line(points, {
        x: "at",
        y: "loss",
        z: "stretch",
        stroke: ({ method }: Point) => colorOf(method),
        strokeWidth: 2.5,
      }),
      Plot.ruleX(marks, {
        x: "at",
        y1: "low",
        y2: "high",
        stroke: ({ isRight }: { isRight: boolean }) => (isRight ? "var(--right)" : "var(--wrong)"),
        strokeWidth: 1.5,
      }),
    ],
  });
}
