// Reads a story with the model in its Worker, under a method that may change before any token.
import type { RopeOverrides } from "ropewalk";
import type { WorkerModel } from "ropewalk/worker";
import { ropeOf } from "../../../examples/arena/methods.mjs";
import { readStory } from "../../../examples/small_model/reading.mjs";
import { TRAINED_LENGTH, textOf, tokensOf } from "../../../examples/small_model/texts.mjs";

/** Tokens of a story, and that as a multiple of the trained length. */
export const LENGTH = 4096;
export const MULTIPLE = LENGTH / TRAINED_LENGTH;

/** A stretch of the story under one method. Those that began by a switch have the time that it took. */
export interface Stretch {
  readonly from: number;
  readonly method: string;
  readonly milliseconds?: number;
}

/** What has been read. */
export interface Read {
  /** −ln p of each token; NaN for the first. */
  readonly losses: number[];
  readonly answers: { readonly at: number; readonly isRight: boolean }[];
  readonly stretches: Stretch[];
}

/** A method's overrides for the whole story. */
export const overridesOf = (method: string): RopeOverrides =>
  ropeOf(method, { multiple: MULTIPLE, trained: TRAINED_LENGTH });

/** A story that is being read. */
export class Reading {
  readonly read: Read = { losses: [], answers: [], stretches: [] };
  /** Bytes of the cache. */
  bytes = 0;
  isPaused = false;
  #isStopped = false;

  constructor(
    private readonly model: WorkerModel,
    private readonly seed: number,
    /** The method to read the next token under. */
    private readonly method: () => string,
    /** Called with the problem if a method can't be switched to; the reading goes on under the one before. */
    private readonly onRefused: (method: string, problem: Error) => void,
  ) {}

  get isFinished(): boolean {
    return this.read.losses.length >= LENGTH || this.#isStopped;
  }

  /** Ends the reading before the next token. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Reads to the end, or until it is stopped. */
  async run(onStep: () => void): Promise<void> {
    const story = textOf({ seed: this.seed, length: LENGTH });
    const session = await this.model.session({ contextLength: LENGTH });
    const before = async (at: number): Promise<void> => {
      while (this.isPaused && !this.#isStopped) await new Promise((resume) => setTimeout(resume, 50));
      if (this.#isStopped) throw STOPPED;
      const wanted = this.method();
      if (this.read.stretches.at(-1)?.method === wanted) return;
      const begun = performance.now();
      try {
        await session.retune(overridesOf(wanted));
      } catch (error) {
        this.onRefused(wanted, error as Error);
        return;
      }
      const switched = at > 0 && { milliseconds: performance.now() - begun };
      this.read.stretches.push({ from: at, method: wanted, ...switched });
    };
    try {
      for await (const { loss, answers } of readStory(
        session,
        await tokensOf(this.model, story),
        story.questions,
        before,
      )) {
        this.read.losses.push(loss);
        this.read.answers.push(...answers);
        if (this.read.losses.length % 64 === 0) this.bytes = session.bytes;
        onStep();
      }
    } catch (error) {
      if (error !== STOPPED) throw error;
    } finally {
      await session.dispose();
    }
  }
}

const STOPPED = new Error("stopped");
