// The picture of the story: a rope for each 256 tokens. The looser the strands, the more surprised the model is by the words.
import { type Reading, type RecordedAnswer, type RecordedStory, isRight, lossAt } from "./story.js";
import { amplitudeOf, type RopePaths, ropePaths } from "./rope.js";

/** Time for a row to be healed, and between the beginnings of two rows. */
const ROW_MS = 700;
const NEXT_ROW_MS = 180;

const LAYERS = ["first", "under", "second", "over", "top"] as const;
type Layer = (typeof LAYERS)[number];

interface Row {
  /** Its first token. */
  readonly start: number;
  readonly group: SVGGElement;
  readonly layers: Record<Layer, SVGPathElement>;
  readonly beads: { readonly answer: RecordedAnswer; readonly element: SVGGElement }[];
}

/** Sizes in pixels. Phones are as narrow as in front.css. */
function sizes(): { left: number; pitch: number; period: number; bead: number; loose: number } {
  return matchMedia("(max-width: 40rem)").matches
    ? { left: 40, pitch: 36, period: 17, bead: 7, loose: 2.2 }
    : { left: 64, pitch: 54, period: 26, bead: 10, loose: 3.5 };
}

export class StoryPicture {
  readonly #svg: SVGSVGElement & HTMLElement;
  readonly #story: RecordedStory;
  readonly #onChoose: (answer: RecordedAnswer) => void;
  #rows: Row[] = [];
  #width = 0;
  #reading: Reading = "plain";
  #chosen: RecordedAnswer | undefined;
  /** How far each row has come from plain RoPE, 0, to YaRN, 1. */
  readonly #healed: number[];
  #frame = 0;

  /** @param onChoose - called with the answer under the pointer, or that has the focus */
  constructor(svg: SVGSVGElement & HTMLElement, story: RecordedStory, onChoose: (answer: RecordedAnswer) => void) {
    this.#svg = svg;
    this.#story = story;
    this.#onChoose = onChoose;
    this.#healed = Array.from({ length: story.length / story.trained }, () => 0);
    this.#build();
  }

  show(reading: Reading, isAnimated: boolean): void {
    cancelAnimationFrame(this.#frame);
    this.#reading = reading;
    const goal = reading === "yarn" ? 1 : 0;
    const begin = [...this.#healed];
    const started = performance.now();
    const first = Math.floor(this.#story.switchAt / this.#story.trained);
    const step = (): void => {
      const time = performance.now() - started;
      let isMoving = false;
      for (const [i, row] of this.#rows.entries()) {
        if (i < first) continue;
        const share = isAnimated ? clamp((time - (i - first) * NEXT_ROW_MS) / ROW_MS) : 1;
        this.#healed[i] = begin[i]! + (goal - begin[i]!) * share * share * (3 - 2 * share);
        if (share < 1) isMoving = true;
        this.#draw(row, i);
      }
      if (isMoving) this.#frame = requestAnimationFrame(step);
    };
    step();
  }

  choose(answer: RecordedAnswer): void {
    this.#chosen = answer;
    for (const { beads } of this.#rows)
      for (const { element, answer: other } of beads) element.classList.toggle("chosen", other === answer);
  }

  /** Draws everything again if the width has changed. */
  resize(): void {
    if (this.#svg.clientWidth === this.#width) return;
    this.#build();
    this.show(this.#reading, false);
    if (this.#chosen !== undefined) this.choose(this.#chosen);
  }

  #build(): void {
    const { trained, length, answers } = this.#story;
    this.#width = this.#svg.clientWidth;
    const { left, pitch, bead } = sizes();
    const count = length / trained;
    this.#svg.setAttribute("viewBox", `0 0 ${this.#width} ${pitch * count}`);
    this.#svg.replaceChildren();
    const scale = (this.#width - left - bead) / trained;
    this.#rows = Array.from({ length: count }, (_, i) => {
      const start = i * trained;
      const group = child(this.#svg, "g", { transform: `translate(${left} ${pitch * (i + 0.5)})` });
      const label = child(group, "text", { x: -bead - 4, y: 5, class: "token" });
      label.textContent = start.toLocaleString("en");
      const layers = Object.fromEntries(
        LAYERS.map((layer) => [layer, child(group, "path", { class: layer })]),
      ) as Record<Layer, SVGPathElement>;
      const beads = answers
        .filter(({ at }) => at >= start && at < start + trained)
        .map((answer) => ({ answer, element: this.#bead(group, answer, (answer.at - start) * scale, bead) }));
      return { start, group, layers, beads };
    });
    for (const [i, row] of this.#rows.entries()) this.#draw(row, i);
  }

  #bead(group: SVGGElement, answer: RecordedAnswer, x: number, radius: number): SVGGElement {
    const element = child(group, "g", { transform: `translate(${x.toFixed(1)} 0)`, class: "bead" });
    child(element, "circle", { r: radius + 4, class: "touch" });
    child(element, "circle", { r: radius });
    child(element, "path", { class: "mark" });
    for (const event of ["pointerenter", "click"]) element.addEventListener(event, () => this.#onChoose(answer));
    return element;
  }

  #draw({ start, group, layers, beads }: Row, index: number): void {
    const { left, period, bead, loose } = sizes();
    const width = this.#width - left - bead;
    const healed = this.#healed[index]!;
    const amplitudeAt = (x: number): number => {
      const token = start + (x / width) * this.#story.trained;
      const loss = lossAt(this.#story, "plain", token) * (1 - healed) + lossAt(this.#story, "yarn", token) * healed;
      return amplitudeOf(loss, period, loose);
    };
    const paths = ropePaths(width, period, amplitudeAt);
    const d: Record<Layer, keyof RopePaths> = {
      first: "first",
      under: "secondOver",
      second: "second",
      over: "firstOver",
      top: "firstOver",
    };
    for (const layer of LAYERS) layers[layer].setAttribute("d", paths[d[layer]]);
    group.classList.toggle("healed", healed > 0.5);
    const size = bead * 0.38;
    for (const { answer, element } of beads) {
      const right = isRight(answer, healed > 0.5 ? "yarn" : "plain");
      element.classList.toggle("wrong", !right);
      element.lastElementChild!.setAttribute("d", right ? tick(size) : cross(size));
    }
  }
}

const tick = (size: number): string =>
  `M${-1.1 * size} ${0.1 * size}L${-0.3 * size} ${0.9 * size}L${1.15 * size} ${-0.9 * size}`;
const cross = (size: number): string =>
  `M${-0.9 * size} ${-0.9 * size}L${0.9 * size} ${0.9 * size}M${0.9 * size} ${-0.9 * size}L${-0.9 * size} ${0.9 * size}`;

const clamp = (share: number): number => Math.min(1, Math.max(0, share));

function child<K extends keyof SVGElementTagNameMap>(
  parent: SVGElement,
  name: K,
  attributes: Readonly<Record<string, string | number>>,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  parent.append(element);
  return element;
}
