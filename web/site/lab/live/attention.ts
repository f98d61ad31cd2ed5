// Attention weights of the small model's heads at the moment of an answer, under two scalings, and the keys that they read.
import type { Ropewalk } from "ropewalk";
import { load, type WorkerRopewalk } from "ropewalk/worker";
import { overridesFor } from "../../../../examples/small_model/scalings.mjs";
import { TRAINED_LENGTH, textOf } from "../../../../examples/small_model/texts.mjs";
import { drawChart, Plot } from "../../page/chart.js";
import { find, shown } from "../../page/elements.js";
import { labelOf } from "./charts.js";
import { HEAD_DIM, HEADS, LAYERS, type LayerVectors, Probe } from "./probe.js";
import { LENGTH, wordsOf } from "./run.js";
import { keysOf, weightsOf } from "./weights.js";

/** Answers up to this token can be chosen: each token is read in every layer, under both scalings. */
const LAST = 832;
/** Keys shown in the pictures of keys. */
const SHOWN_KEYS = 48;

/** What the form asks for. */
export interface WantedView {
  readonly seed: number;
  readonly first: string;
  readonly later: string;
  readonly question: number;
  readonly layer: number;
  readonly head: number;
  readonly word: number;
}

/** The questions of a story that the view can show: past the trained length. */
export function questionsOf(seed: number): { at: number; distance: number }[] {
  return textOf({ seed, length: LENGTH }).questions.filter(({ at }) => at > TRAINED_LENGTH && at < LAST);
}

interface Answer {
  readonly vectors: LayerVectors[];
  /** [layer][head][token] */
  readonly weights: Float32Array[][];
}

/** Reads what the view shows, and draws it. */
export class AttentionView {
  readonly #rw: Ropewalk;
  readonly #worker: WorkerRopewalk;
  readonly #probe: Probe;
  /** By story, scaling and answer. */
  readonly #answers = new Map<string, Promise<Answer>>();

  private constructor(rw: Ropewalk, worker: WorkerRopewalk, probe: Probe) {
    [this.#rw, this.#worker, this.#probe] = [rw, worker, probe];
  }

  /** Fetches the weights and starts a Worker. */
  static async open(rw: Ropewalk): Promise<AttentionView> {
    const worker = await load({ build: "simd", threads: 1 });
    try {
      return new AttentionView(rw, worker, await Probe.open(worker));
    } catch (error) {
      await worker.dispose();
      throw error;
    }
  }

  /** Reads the story up to the answer under both scalings. Returns at once if that has been done. */
  async read({ seed, first, later, question }: WantedView, onProgress: (text: string) => void): Promise<Answer[]> {
    const at = questionsOf(seed)[question]!.at;
    const answers: Answer[] = [];
    for (const scaling of [first, later]) {
      const key = [seed, scaling, at].join();
      let answer = this.#answers.get(key);
      if (answer === undefined) {
        answer = this.#readUnder(scaling, seed, at, (layer) =>
          onProgress(`Reading ${at} tokens with ${labelOf(scaling)}: layer ${layer + 1} of ${LAYERS} …`),
        );
        this.#answers.set(key, answer);
        answer.catch(() => this.#answers.delete(key)); // the next change tries again
      }
      answers.push(await answer);
    }
    return answers;
  }

  async #readUnder(scaling: string, seed: number, at: number, onLayer: (layer: number) => void): Promise<Answer> {
    const tokens = await this.#probe.tokensOf(textOf({ seed, length: LENGTH }).text);
    const answer: Answer = { vectors: [], weights: [] };
    for (let layer = 0; layer < LAYERS; layer++) {
      onLayer(layer);
      const vectors = await this.#probe.read(layer, tokens.slice(0, at), overridesFor(scaling, LENGTH));
      answer.vectors.push(vectors);
      answer.weights.push(weightsOf(this.#rw, vectors, at - 1));
    }
    return answer;
  }

  /** Ends the Worker. */
  dispose(): Promise<void> {
    return this.#worker.dispose();
  }

  /** Draws what has been read. */
  draw(section: HTMLElement, wanted: WantedView, answers: Answer[]): void {
    const { seed, first, later, question, layer, head, word } = wanted;
    const { at, distance } = questionsOf(seed)[question]!;
    const words = ["(begin)", ...wordsOf(seed).slice(1)];
    const fact = at - distance;
    const names = first === later ? [labelOf(first)] : [`before, ${labelOf(first)}`, `after, ${labelOf(later)}`];
    const some = answers.slice(0, names.length);
    drawHeads(find("#live-heads", section), { names, answers: some, at, fact, words, layer, head });
    const rows = some.map(({ weights }) => weights[layer]![head]!);
    drawWeights(find("#live-weights", section), { names, rows, at, fact, words, word, layer, head });
    const keys = keysOf(this.#rw, some.at(-1)!.vectors[layer]!, head);
    const name = `layer ${layer + 1}, head ${head + 1}, ${labelOf(later)}`;
    drawKeyPicture(find("#live-raw", section), `Keys of ${name}, before they are rotated`, keys.raw, words);
    drawKeyPicture(find("#live-rotated", section), `The same keys, rotated to their positions`, keys.rotated, words);
  }
}

interface HeadsToDraw {
  readonly names: string[];
  readonly answers: Answer[];
  readonly at: number;
  readonly fact: number;
  readonly words: string[];
  readonly layer: number;
  readonly head: number;
}

/** All heads: a row for each, a column for each token that is read. */
function drawHeads(figure: HTMLElement, { names, answers, at, fact, words, layer, head }: HeadsToDraw): void {
  const rowName = (l: number, h: number): string => `${l + 1}.${h + 1}`;
  const cells = answers.flatMap(({ weights }, i) =>
    weights.flatMap((heads, l) =>
      heads.flatMap((row, h) =>
        Array.from(row, (weight, token) => ({ name: names[i]!, row: rowName(l, h), token, weight })).filter(
          ({ weight }) => weight > 0.02,
        ),
      ),
    ),
  );
  const onFact = answers.map(({ weights }) => Math.max(...weights.flat().map((row) => row[fact]!)));
  const strongest = names.map((name, i) => `${name} ${shown(onFact[i]! * 100, 2)} %`).join(", ");
  drawChart(
    figure,
    "Attention weights of all heads",
    `Each row is a head (layer.head), each mark a token that it reads with a weight of 2 % or more, larger for a larger weight. The dashed line is the word to find, “${words[fact]}”, ${at - fact} words back. The most that any head reads it with: ${strongest}.`,
    {
      height: 250 * names.length + 60,
      marginLeft: 44,
      marginRight: 20,
      x: { domain: [0, at], label: "token that is read" },
      y: {
        domain: Array.from({ length: LAYERS * HEADS }, (_, i) => rowName(Math.floor(i / HEADS), i % HEADS)),
        label: null,
      },
      fy: { domain: names, label: null, axis: null, padding: 0.16 },
      r: { domain: [0, 1], range: [0, 9] },
      marks: [
        Plot.text(names, {
          fy: (name: string) => name,
          text: (name: string) => name,
          frameAnchor: "top-right",
          dy: -16,
          fontSize: 13,
        }),
        Plot.ruleY([rowName(layer, head)], { stroke: "var(--line)", strokeWidth: 12 }),
        Plot.ruleX([fact], { stroke: "var(--right)", strokeDasharray: "4 3" }),
        Plot.dot(cells, {
          fy: "name",
          x: "token",
          y: "row",
          r: "weight",
          fill: (cell: { name: string }) => (cell.name === names[0] ? "var(--trained)" : "var(--chosen)"),
          fillOpacity: 0.8,
        }),
        Plot.tip(
          cells,
          Plot.pointer({
            fy: "name",
            x: "token",
            y: "row",
            title: (cell: { row: string; token: number; weight: number }) =>
              `head ${cell.row}: ${percent(cell.weight)} on token ${cell.token}, “${words[cell.token] ?? ""}”`,
            fill: "var(--raised)",
            stroke: "var(--line)",
          }),
        ),
      ],
    },
  );
}

interface WeightsToDraw extends Omit<HeadsToDraw, "answers"> {
  readonly rows: Float32Array[];
  readonly word: number;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const percent = (weight: number): string => `${shown(weight * 100, 2)} %`;

/** One head: its weights by token, with the words that have the largest. */
function drawWeights(figure: HTMLElement, { names, rows, at, fact, words, word, layer, head }: WeightsToDraw): void {
  const points = rows.flatMap((row, i) =>
    Array.from(row, (weight, token) => ({ name: names[i]!, token, weight, isFirst: i === 0 })),
  );
  const labels = names.flatMap((name) =>
    points
      .filter((point) => point.name === name)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 3)
      .filter(({ weight }) => weight > 0.05),
  );
  const token = Math.min(word, at - 1);
  const mostly = rows.map((row, i) => {
    const largest = row.indexOf(Math.max(...row));
    return `${capital(names[i]!)}, mostly “${words[largest]}” at token ${largest} (${percent(row[largest]!)})`;
  });
  const read = (one: number): string => names.map((name, i) => `${name} ${percent(rows[i]![one]!)}`).join(", ");
  drawChart(
    figure,
    "Attention weights of one head",
    `Layer ${layer + 1}, head ${head + 1}, at the moment of the answer. ${mostly.join("; ")}. On the word to find, “${words[fact]}” at token ${fact}: ${read(fact)}. On token ${token}, “${words[token]}”: ${read(token)}.`,
    {
      height: 150 * names.length + 70,
      x: { domain: [0, at], label: "token that is read" },
      y: { domain: [0, 1], label: "weight", ticks: [0, 0.5, 1], tickFormat: ".0%" },
      fy: { domain: names, label: null, axis: null, padding: 0.3 },
      marks: [
        Plot.text(names, {
          fy: (name: string) => name,
          text: (name: string) => name,
          frameAnchor: "top-right",
          dy: -16,
          fontSize: 13,
        }),
        Plot.ruleX([fact], { stroke: "var(--right)", strokeDasharray: "4 3" }),
        Plot.ruleX([token], { stroke: "var(--line)" }),
        Plot.ruleX(
          points.filter(({ weight }) => weight > 0.002),
          {
            fy: "name",
            x: "token",
            y1: 0,
            y2: "weight",
            stroke: (point: { isFirst: boolean }) => (point.isFirst ? "var(--trained)" : "var(--chosen)"),
            strokeWidth: 2.5,
          },
        ),
        Plot.text(labels, {
          fy: "name",
          x: "token",
          y: "weight",
          text: (label: { token: number }) => words[label.token]!,
          dy: -8,
        }),
        Plot.tip(
          points,
          Plot.pointerX({
            fy: "name",
            x: "token",
            y: "weight",
            title: (point: { token: number; weight: number }) =>
              `${point.token} “${words[point.token] ?? ""}”: ${percent(point.weight)}`,
            fill: "var(--raised)",
            stroke: "var(--line)",
          }),
        ),
      ],
    },
  );
}

/** The newest keys as a picture: a row for each token, a column for each element. */
function drawKeyPicture(figure: HTMLElement, title: string, keys: Float32Array, words: string[]): void {
  const first = keys.length / HEAD_DIM - SHOWN_KEYS;
  const cells = Array.from({ length: SHOWN_KEYS * HEAD_DIM }, (_, i) => ({
    token: first + Math.floor(i / HEAD_DIM),
    element: i % HEAD_DIM,
    value: keys[first * HEAD_DIM + i]!,
  }));
  const largest = Math.max(...cells.map(({ value }) => Math.abs(value)));
  drawChart(figure, title, `${title}. Blue is positive, red negative; the largest is ${shown(largest, 2)}.`, {
    height: 460,
    marginLeft: 70,
    x: { domain: [0, HEAD_DIM], label: "element" },
    y: {
      domain: [first, first + SHOWN_KEYS],
      reverse: true,
      label: null,
      ticks: Array.from({ length: SHOWN_KEYS / 3 }, (_, i) => first + 3 * i + 0.5),
      tickFormat: (at: number) => words[Math.floor(at)] ?? "",
      tickSize: 0,
    },
    marks: [
      Plot.rect(cells, {
        x1: "element",
        x2: (cell: { element: number }) => cell.element + 1,
        y1: "token",
        y2: (cell: { token: number }) => cell.token + 1,
        fill: (cell: { value: number }) => (cell.value > 0 ? "var(--query)" : "var(--key)"),
        fillOpacity: (cell: { value: number }) => Math.abs(cell.value) / largest,
        inset: 0,
      }),
    ],
  });
}
