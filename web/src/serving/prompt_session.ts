// The session that answers are generated in. It stays, so that the next turn of a chat reads only what is new.
import { CallQueue } from "../model/session/call_queue.js";
import type { ServedModel, ServedSession } from "./served_model.js";

/** Calls run one after the other: they share the session. */
export class PromptSession {
  readonly #model: ServedModel;
  #session: ServedSession | undefined;
  readonly #queue = new CallQueue(() => undefined);

  constructor(model: ServedModel) {
    this.#model = model;
  }

  /**
   * Passes on the events of a call when it's its turn; the last one has `finish`. A call whose events nobody asks for doesn't keep others
   * waiting: after a second they end it. Rejects with the signal's reason.
   */
  inTurn<Event extends { finish?: unknown }>(
    signal: AbortSignal | undefined,
    begin: () => AsyncGenerator<Event, void, void>,
  ): AsyncGenerator<Event, void, void> {
    return this.#queue.generate(signal, begin);
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
