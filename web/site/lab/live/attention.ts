// Attention weights of the small model's heads at the moment of an answer, under two scalings, and the keys that they read.
import type { Ropewalk, RopeConfig } from "ropewalk";
import { load, type WorkerModel, type WorkerRopewalk } from "ropewalk/worker";
import { overridesFor } from "../../../../examples/small_model/scalings.mjs";
import { TRAINED_LENGTH, textOf } from "../../../../examples/small_model/texts.mjs";
import { drawHead, drawHeads, weightsText } from "../../page/attention_charts.js";
import { drawChart, Plot } from "../../page/chart.js";
import { find, shown } from "../../page/elements.js";
import { percentText } from "../../page/units.js";
import { fetchSmallModel } from "../../page/small_model.js";
import { labelOf } from "./charts.js";
import { SMALL_ROPE } from "./keys.js";
import { LENGTH, wordsOf } from "./run.js";

/** Answers up to this token can be chosen: a story is read up to the answer, under both scalings. */
const LAST = 832;
/** The length that scalings are made for here, as in examples/small_model/explain.mjs: four times the trained length. */
const SCALED_LENGTH = 1024;
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

/** What the heads read for an answer. */
interface Answer {
  /** [layer][head][token] */
  readonly weights: Float32Array[][];
  /** Rotated to their positions, [layer][head][token · headDim]. */
  readonly keys: Float32Array[][];
  readonly rope: RopeConfig;
}

/** Reads what the view shows, and draws it. */
export class AttentionView {
  readonly #rw: Ropewalk;
  readonly #worker: WorkerRopewalk;
  readonly #model: WorkerModel;
  /** By story, scaling and answer. */
  readonly #answers = new Map<string, Promise<Answer>>();

  private constructor(rw: Ropewalk, worker: WorkerRopewalk, model: WorkerModel) {
    [this.#rw, this.#worker, this.#model] = [rw, worker, model];
  }

  /** Fetches the model, unless the page has it, and starts a Worker. */
  static async open(rw: Ropewalk): Promise<AttentionView> {
    const worker = await load({ build: "simd", threads: 1 });
    try {
      return new AttentionView(rw, worker, await worker.model([await fetchSmallModel()], { kv: { dtype: "f32" } }));
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
        onProgress(`Reading ${at} tokens with ${labelOf(scaling)} …`);
        answer = this.#readUnder(scaling, seed, at);
        this.#answers.set(key, answer);
        answer.catch(() => this.#answers.delete(key)); // the next change tries again
      }
      answers.push(await answer);
    }
    return answers;
  }

  async #readUnder(scaling: string, seed: number, at: number): Promise<Answer> {
    const tokens = await this.#model.tokenizer.encode(textOf({ seed, length: LENGTH }).text);
    const session = await this.#model.session({ contextLength: at });
    try {
      await session.retune(overridesFor(scaling, SCALED_LENGTH));
      await session.append(tokens.slice(0, at));
      const layers = this.#model.info.layers.map((_, layer) => layer);
      const [weights, keys] = await Promise.all([
        Promise.all(layers.map((layer) => session.attention(layer))),
        Promise.all(layers.map((layer) => session.keys(layer))),
      ]);
      return { weights, keys, rope: session.rope! };
    } finally {
      await session.dispose();
    }
  }

  /** Ends the Worker. */
  dispose(): Promise<void> {
    return this.#worker.dispose();
  }

  /** Draws what has been read. */
  draw(section: HTMLElement, { seed, first, later, question, layer, head, word }: WantedView, answers: Answer[]): void {
    const { at, distance } = questionsOf(seed)[question]!;
    const words = ["(begin)", ...wordsOf(seed).slice(1)];
    const fact = at - distance;
    const names = [...new Set([first, later])].map(labelOf);
    const some = answers.slice(0, names.length);
    const picture = {
      readings: some.map(({ weights }, i) => ({ name: names[i]!, heads: headsOf(weights) })),
      head: nameOf(layer, head),
      token: Math.min(word, at - 1),
      sought: fact,
      textOf: (token: number): string => words[token] ?? "",
    };
    const onFact = some.map(({ weights }) => Math.max(...weights.flat().map((row) => row[fact]!)));
    const most = weightsText(picture.readings, onFact);
    drawHeads(
      find("#live-heads", section),
      `Each row is a head (layer.head), each mark a token that it reads with a weight of 2\u00a0% or more, larger for a larger weight. The dashed line is the word to find, “${words[fact]}”, ${distance} words back. The most that any head reads it with: ${most}.`,
      picture,
    );

    const rows = some.map(({ weights }) => weights[layer]![head]!);
    const mostly = rows.map((row, i) => {
      const largest = row.indexOf(Math.max(...row));
      return `With ${names[i]!} it mostly reads “${words[largest]}” at token ${largest} (${percentText(row[largest]!)})`;
    });
    const { token } = picture;
    const on = (token: number): string =>
      weightsText(
        picture.readings,
        rows.map((row) => row[token]!),
      );
    drawHead(
      find("#live-weights", section),
      `Layer ${layer + 1}, head ${head + 1}, at the moment of the answer. ${mostly.join(". ")}. On the word to find, “${words[fact]}” at token ${fact}: ${on(fact)}. On token ${token}, “${words[token]}”: ${on(token)}.`,
      picture,
    );

    const { keys, rope } = some.at(-1)!;
    const rotated = keys[layer]![head]!;
    const name = `layer ${layer + 1}, head ${head + 1}, ${labelOf(later)}`;
    drawKeyPicture(
      find("#live-raw", section),
      `Keys of ${name}, before they are rotated`,
      this.#raw(rotated, rope),
      words,
    );
    drawKeyPicture(find("#live-rotated", section), `The same keys, rotated to their positions`, rotated, words);
  }

  /** The keys of a head as they were projected, [tokens, headDim]. */
  #raw(rotated: Float32Array, config: RopeConfig): Float32Array {
    const rope = this.#rw.rope(config);
    try {
      const shape = [rotated.length / config.head_dim, 1, config.head_dim] as const;
      return rope.rotate(rotated.slice(), { layout: "thd", shape, positions: 0, inverse: true, role: "key" });
    } finally {
      rope.dispose();
    }
  }
}

const nameOf = (layer: number, head: number): string => `${layer + 1}.${head + 1}`;

function headsOf(weights: readonly Float32Array[][]): Map<string, Float32Array> {
  return new Map(
    weights.flatMap((heads, layer) => heads.map((row, head) => [nameOf(layer, head), row] as [string, Float32Array])),
  );
}

/** The newest keys as a picture: a row for each token, a column for each element. */
function drawKeyPicture(figure: HTMLElement, title: string, keys: Float32Array, words: string[]): void {
  const headDim = SMALL_ROPE.head_dim;
  const first = keys.length / headDim - SHOWN_KEYS;
  const cells = Array.from({ length: SHOWN_KEYS * headDim }, (_, i) => ({
    token: first + Math.floor(i / headDim),
    element: i % headDim,
    value: keys[first * headDim + i]!,
  }));
  const largest = Math.max(...cells.map(({ value }) => Math.abs(value)));
  drawChart(figure, title, `${title}. Blue is positive, red negative; the largest is ${shown(largest, 2)}.`, {
    height: 460,
    marginLeft: 70,
    x: { domain: [0, headDim], label: "element" },
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
