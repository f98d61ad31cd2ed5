// Panel 6: the small model reads a story past its trained length, and its scaling is switched while it reads. The first view is a committed
// result; the model is loaded on request.
import "./panel.css";
import { load, type WorkerModel, type WorkerRopewalk } from "ropewalk/worker";
import { scalings } from "../../../../examples/small_model/scalings.mjs";
import { changeTo } from "../../page/controls.js";
import { find } from "../../page/elements.js";
import { wantsLessMotion } from "../../page/motion.js";
import { rarely } from "../../page/rarely.js";
import { fetchSmallModel, SMALL_MODEL_BYTES } from "../../page/small_model.js";
import { bytesText, speedText } from "../../page/units.js";
import { attentionPart } from "./attention_part.js";
import { drawLoss, drawRecall, drawStrip, labelOf } from "./charts.js";
import { drawKeys } from "./keys.js";
import { Reader } from "./reader.js";
import { committedRun, LENGTH, type Run, type Wanted } from "./run.js";
import { drawStory } from "./story.js";
import type { Mount, PanelParts } from "../panel.js";

/** Layers and heads of the small model, for the number of its keys. */
const [LAYERS, HEADS] = [4, 4];
const TURN_MS = 700;
/** Charts are drawn at most this often while a story is read. */
const DRAW_MS = 120;
const EMPTY: Run = { words: [], losses: [], answers: [], switches: [] };

/** @see lab/live/panel.html */
export const mount: Mount = (parts) => {
  const { form } = parts;
  for (const [name, chosen] of [
    ["first", "none"],
    ["later", "yarn"],
  ] as const) {
    const select = form.elements.namedItem(name) as HTMLSelectElement;
    select.append(
      ...Object.entries(scalings).map(([key, { label }]) => new Option(label, key, key === chosen, key === chosen)),
    );
    select.value = new URLSearchParams(location.search).get(`live.${name}`) ?? chosen;
    if (select.value === "") select.value = chosen;
  }
  const seed = form.elements.namedItem("seed") as HTMLInputElement;
  const clamp = (): void =>
    changeTo(seed, Math.min(Number(seed.max), Math.max(1, Math.round(Number(seed.value)) || 1)));
  seed.addEventListener("change", clamp); // not while the number is typed
  clamp();
  const live = new LivePart(parts);
  const attention = attentionPart(parts);
  return () => {
    live.draw();
    return attention();
  };
};

class LivePart {
  readonly #parts: PanelParts;
  #rw: WorkerRopewalk | undefined;
  #model: WorkerModel | undefined;
  #reader: Reader | undefined;
  /** The form's values that need another reading when they change. */
  #readFor = "";
  #shown = { first: "", later: "" };
  /** Whether the reader asked for a switch that the model hasn't made yet. */
  #isByHand = false;

  constructor(parts: PanelParts) {
    this.#parts = parts;
    const on = (id: string, action: () => void): void => this.#button(id).addEventListener("click", action);
    on("load", () => void this.#load());
    on("pause", () => this.#pauseOrResume());
    on("again", () => this.#start());
    on("here", () => this.#switchHere());
    this.#button("load").textContent = `Run it here (${bytesText(SMALL_MODEL_BYTES)})`;
  }

  #button(name: string): HTMLButtonElement {
    return find<HTMLButtonElement>(`#live-${name}`, this.#parts.section);
  }

  #value(name: string): string {
    return (this.#parts.form.elements.namedItem(name) as HTMLInputElement).value;
  }

  #wanted(): Wanted {
    return {
      text: this.#value("text"),
      seed: Math.max(1, Math.floor(Number(this.#value("seed"))) || 1),
      first: this.#value("first"),
      later: this.#value("later"),
      at: Number(this.#value("at")),
      tokensPerSecond: Number(this.#value("speed")),
    };
  }

  async #load(): Promise<void> {
    const [button, problem] = [this.#button("load"), find("#live-problem", this.#parts.section)];
    button.disabled = true;
    problem.hidden = true;
    this.#say("Loading the model …");
    try {
      const file = await fetchSmallModel();
      this.#rw = await load({ build: "simd", threads: 1 }); // the same bits everywhere, so the same story
      this.#model = await this.#rw.model([file]);
      button.hidden = true;
      this.#start();
    } catch (error) {
      await this.#fail(error as Error);
    }
  }

  async #fail({ message }: Error): Promise<void> {
    const problem = find("#live-problem", this.#parts.section);
    problem.textContent = `${message} The button tries again.`;
    problem.hidden = false;
    this.#say("");
    this.#reader?.stop();
    this.#reader = this.#model = undefined;
    Object.assign(this.#button("load"), { disabled: false, hidden: false, textContent: "Try again" });
    for (const name of ["pause", "here", "again"]) this.#button(name).hidden = true;
    await this.#rw?.dispose();
    this.#rw = undefined;
  }

  #start(): void {
    this.#reader?.stop();
    const reader = new Reader(this.#model!, () => this.#wanted());
    this.#reader = reader;
    this.#readFor = this.#inputs();
    const finished = reader.read(rarely(DRAW_MS, this.#parts.redraw));
    finished.then(
      () => this.#parts.redraw(),
      (error: unknown) => this.#reader === reader && void this.#fail(error as Error),
    );
    this.#parts.redraw();
  }

  #inputs(): string {
    const { text, seed, first } = this.#wanted();
    return [text, seed, first].join();
  }

  #pauseOrResume(): void {
    if (this.#reader?.isPaused) this.#reader.resume();
    else this.#reader?.pause();
    this.#parts.redraw();
  }

  /** Sets the switch to the present token, by its control. */
  #switchHere(): void {
    this.#isByHand = true;
    this.#setSwitch(this.#reader!.run.losses.length);
  }

  #setSwitch(at: number): void {
    const slider = this.#parts.form.elements.namedItem("at") as HTMLInputElement;
    slider.value = String(at);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** The model has read on until it switched: the control shows where that was. */
  #showSwitch({ switches }: Run): void {
    const { at } = switches.at(-1) ?? { at: 0 };
    if (!this.#isByHand || at === 0) return;
    this.#isByHand = false;
    this.#setSwitch(at);
  }

  draw(): void {
    const { section, rw } = this.#parts;
    const reader = this.#reader;
    if (reader !== undefined) this.#showSwitch(reader.run);
    const wanted = this.#wanted();
    if (reader !== undefined && this.#readFor !== this.#inputs()) {
      this.#start();
      return;
    }
    if (reader?.isFinished && this.#differs(reader.run, wanted)) {
      this.#start();
      return;
    }
    const run = reader?.run ?? committedRun(wanted);
    const isTold = wanted.text === "tell";
    for (const id of ["#live-strip", "#live-loss"]) find(id, section).hidden = run === undefined;
    // the model's own story has no facts at known distances
    for (const id of ["#live-recall-part", "#live-attention-part"]) find(id, section).hidden = isTold;
    if (run !== undefined) {
      drawStrip(find("#live-strip", section), run);
      drawLoss(find("#live-loss", section), run);
    }
    // of a run that wasn't measured there is nothing else to see
    if (run === undefined) find<HTMLDetailsElement>("#live-recall-part", section).open = true;
    if (!isTold) drawRecall(find("#live-recall", section), run, [wanted.first, wanted.later]);
    find("#live-words", section).hidden = run === undefined || run.words.length === 0;
    drawStory(find("#live-story", section), run ?? EMPTY);
    this.#showState(run);
    const position = Number(this.#value("position"));
    for (const name of ["at", "position"])
      find<HTMLOutputElement>(`output[data-of="${name}"]`, section).textContent = this.#value(name);
    this.#turnKeys(find("#live-keys", section), { ...wanted, position }, rw);
  }

  /** Whether the form has another switch than a run that has ended. */
  #differs({ switches }: Run, { first, later, at }: Wanted): boolean {
    const last = switches.at(-1);
    return last?.scaling !== later || (later !== first && last.at !== at && switches.length <= 2);
  }

  #showState(run: Run | undefined): void {
    const reader = this.#reader;
    const isReading = reader !== undefined && !reader.isFinished;
    Object.assign(this.#button("pause"), { hidden: !isReading, textContent: reader?.isPaused ? "Read on" : "Pause" });
    const hasSwitched = reader?.run.switches.some(({ at }) => at > 0) ?? false;
    this.#button("here").hidden = !isReading || hasSwitched;
    this.#button("again").hidden = reader === undefined || isReading;
    if (reader === undefined) {
      if (this.#button("load").disabled) return;
      this.#say(
        run === undefined
          ? "This run wasn't measured beforehand. Run the model to see its answers."
          : "Measured beforehand, with the same model. Run it to read other stories, and to switch where you like.",
      );
      return;
    }
    const read = reader.run.losses.length;
    const switched = reader.run.switches.filter(({ at }) => at > 0).at(-1);
    const progress = `${read.toLocaleString("en")} of ${LENGTH.toLocaleString("en")} tokens, ${speedText(read, reader.milliseconds)}.`;
    const keys = switched === undefined ? 0 : switched.at * LAYERS * HEADS;
    const retuned =
      switched === undefined
        ? ""
        : ` Switched to ${labelOf(switched.scaling)} at token ${switched.at}: ${keys.toLocaleString("en")} cached keys rotated in ${(switched.milliseconds ?? 0).toFixed(1)} ms, no token read again.`;
    this.#say(progress + retuned);
  }

  /** Moves the hands of the key when one of the scalings has changed. */
  #turnKeys(
    figure: HTMLElement,
    wanted: { first: string; later: string; position: number },
    rw: PanelParts["rw"],
  ): void {
    const { first, later } = wanted;
    const isNew = this.#shown.first !== "" && (this.#shown.first !== first || this.#shown.later !== later);
    this.#shown = { first, later };
    if (!isNew || wantsLessMotion()) {
      drawKeys(figure, rw, wanted);
      return;
    }
    const start = performance.now();
    const step = (): void => {
      const moved = Math.min(1, (performance.now() - start) / TURN_MS);
      drawKeys(figure, rw, wanted, moved);
      if (moved < 1 && this.#shown.first === first && this.#shown.later === later) requestAnimationFrame(step);
    };
    step();
  }

  #say(text: string): void {
    const state = find("#live-state", this.#parts.section);
    if (state.textContent !== text) state.textContent = text;
  }
}
