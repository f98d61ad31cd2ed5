// Reads a story with the model in its Worker, and switches its scaling while it reads.
import type { WorkerModel, WorkerSession } from "ropewalk/worker";
import { readStory, type Step, tellStory } from "../../../../examples/small_model/reading.mjs";
import { overridesFor } from "../../../../examples/small_model/scalings.mjs";
import { words } from "../../../../examples/small_model/stories.mjs";
import { textOf, tokensOf } from "../../../../examples/small_model/texts.mjs";
import { LENGTH, type Run, type Wanted, wordsOf } from "./run.js";

/** Timers are late, in hidden pages by a second. What is later than this isn't made up for. */
const MAX_LATE_MS = 100;
const OPENING = "The red ball is in the garden.";

/** A story that is being read. */
export class Reader {
  readonly run: Run = { words: [], losses: [], answers: [], switches: [] };
  /** Milliseconds of reading so far, pauses excluded. */
  milliseconds = 0;
  #isPaused = false;
  /** When the next token is due, if the reading has a speed. */
  #due = performance.now();
  #isStopped = false;
  #resume: (() => void) | undefined;

  /** @param wanted - returns the present form: changes of the switch take effect at the next token */
  constructor(
    private readonly model: WorkerModel,
    private readonly wanted: () => Wanted,
  ) {}

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isFinished(): boolean {
    return this.run.losses.length >= LENGTH;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#resume?.();
  }

  /** Ends the reading after the present token. */
  stop(): void {
    this.#isStopped = true;
    this.resume();
  }

  /** Reads to the end, or until it is stopped. */
  async read(onStep: () => void): Promise<void> {
    const { text, seed } = this.wanted();
    const session = await this.model.session({ contextLength: LENGTH });
    try {
      for await (const step of await this.#steps(session, text, seed)) {
        await this.#add(step);
        if (this.#isStopped) return;
        onStep();
        await this.#wait();
      }
    } finally {
      await session.dispose();
    }
  }

  /** Waits until the next token is due. */
  async #wait(): Promise<void> {
    const { tokensPerSecond } = this.wanted();
    if (tokensPerSecond === 0) return;
    const now = performance.now();
    this.#due = Math.max(this.#due + 1000 / tokensPerSecond, now - MAX_LATE_MS);
    if (this.#due > now) await new Promise((resolve) => setTimeout(resolve, this.#due - now));
  }

  async #steps(session: WorkerSession, text: string, seed: number): Promise<AsyncGenerator<Step, void, void>> {
    let last = performance.now();
    const before = async (at: number): Promise<void> => {
      this.milliseconds += performance.now() - last;
      if (this.#isPaused && !this.#isStopped) await new Promise<void>((resolve) => (this.#resume = resolve));
      await this.#switch(session, at);
      last = performance.now();
    };
    if (text === "tell") return tellStory(session, OPENING, { length: LENGTH, seed, before });
    const story = textOf({ seed, length: LENGTH });
    this.run.words.push(...wordsOf(seed));
    return readStory(session, await tokensOf(this.model, story), story.questions, before);
  }

  /** Retunes the session if the form asks for another scaling at this token. */
  async #switch(session: WorkerSession, at: number): Promise<void> {
    const { first, later, at: switchAt } = this.wanted();
    const scaling = at < switchAt ? first : later;
    if (scaling === this.run.switches.at(-1)?.scaling) return;
    const start = performance.now();
    await session.retune(overridesFor(scaling, LENGTH));
    this.run.switches.push({ at, scaling, milliseconds: performance.now() - start });
  }

  async #add({ at, loss, answers, text }: Step): Promise<void> {
    const { run } = this;
    while (run.losses.length < at) run.losses.push(NaN); // the opening is one step
    run.losses.push(loss);
    if (text !== undefined) {
      const read = words(text) ?? [""];
      while (run.words.length < run.losses.length - read.length) run.words.push("");
      run.words.push(...read);
    }
    for (const { token, ...answer } of answers) {
      const word = token === undefined ? run.words[answer.at] : (await this.model.tokenizer.decode([token])).trim();
      run.answers.push({ ...answer, ...(word === undefined ? {} : { word }) });
    }
  }
}
