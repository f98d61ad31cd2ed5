// The four-element example of the guide (docs/rope_and_yarn_from_zero.md), step by step.
import type { Ropewalk } from "ropewalk";
import { changeTo, controlOf, numberIn } from "../../page/controls.js";
import { find, shown, withText } from "../../page/elements.js";

const QUERY = [1, 2, 3, 4];
const KEY = [2, 0, 1, 1];

interface Step {
  readonly query: number;
  readonly key: number;
  /** Rows of the table that are shown. */
  readonly rows: number;
  readonly text: (score: string) => string;
}

const STEPS: readonly Step[] = [
  {
    query: 7,
    key: 5,
    rows: 2,
    text: () =>
      "A query and a key of four elements. The query is at position 7, the key at 5. Two neighbors form a pair: each pair is a point (x, y) in the plane.",
  },
  {
    query: 7,
    key: 5,
    rows: 3,
    text: () =>
      "Each pair has its own frequency θ: how many radians it rotates per position. For pair j of four elements, θ = 10,000^(−2j/4).",
  },
  {
    query: 7,
    key: 5,
    rows: 5,
    text: () => "The angle is the position times θ. Pair 0 rotates fast. Pair 1 hardly moves.",
  },
  { query: 7, key: 5, rows: 7, text: () => "Each pair is rotated by its angle. Its length stays the same." },
  {
    query: 7,
    key: 5,
    rows: 8,
    text: (score) => `The score is the dot product of the rotated vectors: the sum over both pairs, ${score}.`,
  },
  {
    query: 1002,
    key: 1000,
    rows: 8,
    text: (score) =>
      `Both move by 995 positions. All angles and all rotated elements change. The distance is still 2, and the score is still ${score}.`,
  },
  {
    query: 7,
    key: 4,
    rows: 8,
    text: (score) => `Only the key moves, so the distance is 3. Now the score is different: ${score}.`,
  },
];

/** Sets up the example in its section. Returns the function that draws it from the control `step`. */
export function mountExample(section: HTMLElement, form: HTMLFormElement, rw: Ropewalk): () => void {
  const rope = rw.rope({ head_dim: 4, pairing: "interleaved", rope_theta: 10000 });
  const frequencies = [...rope.plan().inv_freq];
  const rotated = (vector: readonly number[], positions: number): number[] => [
    ...rope.rotate(Float32Array.from(vector), { layout: "thd", shape: [1, 1, 4], positions }),
  ];

  const range = controlOf(form, "step");
  const buttons = [...section.querySelectorAll<HTMLButtonElement>("[data-step]")];
  for (const button of buttons)
    button.addEventListener("click", () => changeTo(range, Number(range.value) + Number(button.dataset["step"])));

  return () => {
    const number = numberIn(form, "step");
    const step = STEPS[number - 1]!;
    const { query, key } = step;
    const [q, k] = [rotated(QUERY, query), rotated(KEY, key)];
    const products = [0, 1].map((pair) => q[2 * pair]! * k[2 * pair]! + q[2 * pair + 1]! * k[2 * pair + 1]!);
    const rows: [name: string, cells: string[]][] = [
      [`query, at position ${shown(query)}`, pairsOf(QUERY)],
      [`key, at position ${shown(key)}`, pairsOf(KEY)],
      ["frequency θ", frequencies.map((frequency) => shown(frequency))],
      ["angle of the query", frequencies.map((frequency) => `${shown(query * frequency)} rad`)],
      ["angle of the key", frequencies.map((frequency) => `${shown(key * frequency)} rad`)],
      ["rotated query", pairsOf(q)],
      ["rotated key", pairsOf(k)],
      ["product", products.map(numberText)],
    ];
    const score = (products[0]! + products[1]!).toFixed(4);
    find("#one_pair-text", section).textContent = step.text(score);
    find("output[data-of=step]", section).textContent = `${number} of ${STEPS.length}`;
    for (const button of buttons) button.disabled = STEPS[number - 1 + Number(button.dataset["step"])] === undefined;

    const before = STEPS[number - 2];
    const isNew = (row: number): boolean =>
      before === undefined || row >= before.rows || (row !== 2 && (before.query !== query || before.key !== key));
    find("#one_pair-steps tbody", section).replaceChildren(
      ...rows.slice(0, step.rows).map(([name, cells], row) => {
        const line = document.createElement("tr");
        line.classList.toggle("new", isNew(row));
        const heading = withText("th", name);
        heading.scope = "row";
        line.append(heading, ...cells.map((cell) => withText("td", cell)));
        return line;
      }),
    );
  };
}

function numberText(value: number): string {
  return (Number.isInteger(value) ? String(value) : value.toFixed(4)).replace("-", "−");
}

function pairsOf(vector: readonly number[]): string[] {
  return [0, 2].map((i) => `(${numberText(vector[i]!)}, ${numberText(vector[i + 1]!)})`);
}
