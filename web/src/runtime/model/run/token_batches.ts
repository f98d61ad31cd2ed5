// Reads the next tokens of several texts of a model at once, so that each weight is read once for all of them.
import { areSameAdapters } from "./adapters_in_use.js";
import { nextTask } from "./event_loop.js";
import type { TextMemory } from "./text_memory.js";

/** Texts in one forward pass. Their logits are in memory together: 0.6 MB each with 150,000 tokens. */
const MAX_TEXTS = 32;

/** A text that reads one token at a time. @internal */
export interface BatchedText {
  /** What the model remembers of the text, up to date. */
  freshMemory(): TextMemory;
  /** Where the logits after the token are written, [vocabularySize] floats. */
  readonly logitsAddress: number;
  /** Throws DISPOSED. */
  checkAlive(): void;
  /** Called when the token was read. `row` is that of its hidden state; undefined if there was no memory for logits. */
  accept(token: number, row: number | undefined): void;
}

/** The next tokens of a text. @internal */
export interface TextTokens {
  readonly memory: TextMemory;
  readonly tokens: ArrayLike<number>;
}

/** A model that reads tokens of several texts at once. @internal */
export interface TextsReader {
  /** Throws INVALID_ARGUMENT while it must not read. */
  checkIdle(): void;
  /** All have the same adapters. On failure the memories are unchanged. */
  forwardTexts(texts: readonly TextTokens[]): void;
  /** Writes the logits of each text of the last forwardTexts(). */
  writeLastLogits(targets: readonly number[]): void;
}

interface Waiting {
  readonly text: BatchedText;
  readonly token: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A batch starts when all texts of the last one are ready, at the latest in the next task. A text that is alone never waits.
 *
 * @internal
 */
export class TokenBatches {
  readonly #model: TextsReader;
  #waiting: Waiting[] = [];
  /** Texts of the last batch that haven't asked for a token yet. */
  #expected = new Set<BatchedText>();
  #isScheduled = false;

  constructor(model: TextsReader) {
    this.#model = model;
  }

  /** Reads the next token of a text. Its logits and hidden state have the same bits as if it were alone. */
  read(text: BatchedText, token: number): Promise<void> {
    this.#model.checkIdle();
    const done = new Promise<void>((resolve, reject) => this.#waiting.push({ text, token, resolve, reject }));
    this.#expected.delete(text);
    if (this.#expected.size === 0) this.#run();
    else void this.#runSoon();
    return done;
  }

  /** To be called when a text has no next token for now, so that the others don't wait for it. */
  leave(text: BatchedText): void {
    if (this.#expected.delete(text) && this.#expected.size === 0 && this.#waiting.length > 0) this.#run();
  }

  async #runSoon(): Promise<void> {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    await nextTask();
    this.#isScheduled = false;
    if (this.#waiting.length > 0) this.#run();
  }

  #run(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#expected = new Set(batch.map(({ text }) => text));
    for (const group of byAdapters(batch))
      for (let first = 0; first < group.length; first += MAX_TEXTS)
        this.#readTogether(group.slice(first, first + MAX_TEXTS));
  }

  #readTogether(batch: readonly Waiting[]): void {
    const alive = batch.filter((waiting) => attempt(waiting, () => waiting.text.checkAlive()));
    if (alive.length === 0) return;
    try {
      this.#model.forwardTexts(alive.map(({ text, token }) => ({ memory: text.freshMemory(), tokens: [token] })));
    } catch (error) {
      // nothing was read: retry one by one, so that only the failing text fails
      if (alive.length > 1) for (const waiting of alive) this.#readTogether([waiting]);
      else alive[0]!.reject(error);
      return;
    }
    const failure = this.#writeLogits(alive);
    alive.forEach((waiting, row) => {
      const isAccepted = attempt(waiting, () =>
        waiting.text.accept(waiting.token, failure === undefined ? row : undefined),
      );
      if (failure !== undefined) waiting.reject(failure);
      else if (isAccepted) waiting.resolve();
    });
  }

  #writeLogits(batch: readonly Waiting[]): unknown {
    try {
      this.#model.writeLastLogits(batch.map(({ text }) => text.logitsAddress));
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

/** Texts with other adapters can't be read together: each product has the terms of one list of adapters. */
function byAdapters(batch: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const groups: Waiting[][] = [];
  for (const waiting of batch) {
    const { adapters } = waiting.text.freshMemory();
    const group = groups.find(([first]) => areSameAdapters(first!.text.freshMemory().adapters, adapters));
    if (group === undefined) groups.push([waiting]);
    else group.push(waiting);
  }
  return groups;
}

/** Returns false if `act` throws, after rejecting with what it threw. */
function attempt({ reject }: Waiting, act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    reject(error);
    return false;
  }
}
