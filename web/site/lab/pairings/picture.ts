// Pictures of which elements of a head form a pair.
import type { Pairing, Ropewalk } from "ropewalk";
import { find } from "../../page/elements.js";

/** The pairings between which weights can be converted. */
export type TwoPairings = Exclude<Pairing, "interleaved_to_half">;

const ELEMENTS = 8;
const CELL = 40;
const TOP = 62;
const COLORS = ["var(--chosen)", "var(--trained)", "var(--ntk)", "var(--linear)"];

const FAMILIES: Readonly<Record<TwoPairings, string>> = {
  interleaved: "Neighbors: GPT-J, Command R, GLM, and Llama in GGUF files.",
  half: "First half with second half: Llama, Mistral, Qwen, Gemma and Phi in Hugging Face files.",
};

/** Draws the pairs of a small head into a figure, and names them in its caption. */
export function drawPairs(figure: HTMLElement, rw: Ropewalk, pairing: TwoPairings): void {
  const pairs = pairsOf(rw, pairing);
  const drawing = element("svg", { viewBox: `0 0 ${ELEMENTS * CELL} ${TOP + CELL}` });
  const middle = (index: number): number => (index + 0.5) * CELL;
  for (const [pair, [first, second]] of pairs.entries()) {
    const color = COLORS[pair]!;
    const height = Math.min(TOP - 8, 14 + (second - first) * 11);
    const arc = `M${middle(first)} ${TOP}C${middle(first)} ${TOP - 1.3 * height} ${middle(second)} ${TOP - 1.3 * height} ${middle(second)} ${TOP}`;
    drawing.append(element("path", { d: arc, stroke: color }));
    for (const index of [first, second]) {
      const cell = { x: index * CELL + 2, y: TOP, width: CELL - 4, height: CELL - 4, rx: 5, fill: color };
      const label = element("text", { x: middle(index), y: TOP + 23 });
      label.textContent = String(index);
      drawing.append(element("rect", cell), label);
    }
  }
  find(".picture", figure).replaceChildren(drawing);
  const names = pairs.map(([first, second]) => `(${first}, ${second})`).join(" ");
  find("figcaption", figure).textContent = `${pairing}: ${names}. ${FAMILIES[pairing]}`;
}

/** The pairs of a head: a rotated unit vector is not zero in the two elements of its pair. */
function pairsOf(rw: Ropewalk, pairing: TwoPairings): [number, number][] {
  const rope = rw.rope({ head_dim: ELEMENTS, pairing, rope_theta: 100 });
  const units = Float32Array.from({ length: ELEMENTS ** 2 }, (_, i) => (i % (ELEMENTS + 1) === 0 ? 1 : 0));
  rope.rotate(units, { layout: "thd", shape: [1, ELEMENTS, ELEMENTS], positions: 1 });
  rope.dispose();
  const rows = Array.from({ length: ELEMENTS }, (_, row) => units.subarray(row * ELEMENTS, (row + 1) * ELEMENTS));
  const partners = rows.map((row) => [row.findIndex((x) => x !== 0), row.findLastIndex((x) => x !== 0)]);
  return partners.filter(([first], row) => first === row) as [number, number][];
}

function element(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}
