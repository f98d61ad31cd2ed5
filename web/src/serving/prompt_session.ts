// The session that answers are generated in. It stays, so that the next turn of a chat reads only what is new.
import type { ServedModel, ServedSession } from "./served_model.js";

/** Calls run one after the other: they share the session. */
export class PromptSession {
  readonly #model: ServedModel;
  #session: ServedSession | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(model: ServedModel) {
    this.#model = model;
  }

  /** Waits for the calls before. Returns what ends the turn. Rejects with the signal's reason. */
  async turn(signal: AbortSignal | undefined): Promise<() => void> {
    const before = this.#last;
    let end!: () => void;
    this.#last = new Promise((resolve) => (end = resolve));
    await before;
    try {
      signal?.throwIfAborted();
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  /** Reads a prompt. Only the tokens after the beginning that it shares with the session are read. */
  async read(prompt: Int32Array, signal: AbortSignal | undefined): Promise<{ session: ServedSession; cached: number }> {
    const session = (this.#session ??= await this.#model.session());
    const cached = sharedLength(await session.tokens, prompt);
    await session.rewind(cached);
    await session.append(prompt.subarray(cached), signal && { signal });
    return { session, cached };
  }

  dispose(): void {
    const ignore = (): void => undefined; // the Worker has ended
    Promise.resolve(this.#session?.dispose()).catch(ignore);
    this.#session = undefined;
  }
}

function sharedLength(a: readonly number[], b: ArrayLike<number>): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length += 1;
  return length;
}
