// The sessions that answers are generated in. They stay, so that the next turn of a chat reads only what is new.
import { fail, RopewalkError } from "../base/errors.js";
import { commonLength } from "../base/lists.js";
import { CallQueue } from "../model/session/call_queue.js";
import type { ServedModel, ServedSession } from "./served_model.js";

/** A beginning of fewer tokens is read again rather than copied from another session. */
const LEAST_COPIED = 32;

/** A session and the calls that run in it, one after the other. */
class Slot {
  readonly queue = new CallQueue(() => undefined);
  session: ServedSession | undefined;
  /** Calls that run or wait. */
  calls = 0;
  /** When its last call began, as a count of calls. */
  lastUsed = 0;
}

/** How many tokens of a prompt a slot has at its beginning. */
interface Candidate {
  readonly slot: Slot;
  readonly shared: number;
  /** Tokens of its session. */
  readonly length: number;
}

/** What a call reads its prompt with. */
export type ReadPrompt = () => Promise<{ session: ServedSession; cached: number }>;

export class PromptSessions {
  readonly #model: ServedModel;
  readonly #slots: readonly Slot[];
  #calls = 0;
  #disposals = 0;

  /** @param parallel - sessions, and so calls that run at the same time */
  constructor(model: ServedModel, parallel: number) {
    this.#model = model;
    this.#slots = Array.from({ length: parallel }, () => new Slot());
  }

  /**
   * Passes on the events of a call when it's its turn; the last one has `finish`. A call whose events nobody asks for doesn't keep others
   * waiting: after a second they end it. Rejects with the signal's reason.
   */
  async *inTurn<Event extends { finish?: unknown }>(
    prompt: Int32Array,
    signal: AbortSignal | undefined,
    begin: (read: ReadPrompt) => AsyncGenerator<Event, void, void>,
  ): AsyncGenerator<Event, void, void> {
    const slot = chosen(await this.#candidates(prompt));
    slot.calls += 1;
    slot.lastUsed = ++this.#calls;
    const disposals = this.#disposals;
    try {
      yield* slot.queue.generate(signal, () => begin(() => this.#read(slot, prompt, signal)));
    } catch (cause) {
      const isDisposed = cause instanceof RopewalkError && cause.code === "DISPOSED" && cause.field === "session";
      if (!isDisposed || this.#disposals === disposals) throw cause;
      fail("DISPOSED", "dispose", "was called during this call, and frees its session; await the calls first", {
        cause,
      });
    } finally {
      slot.calls -= 1;
    }
  }

  dispose(): void {
    this.#disposals += 1;
    for (const slot of this.#slots) disposeSession(slot);
  }

  async #candidates(prompt: Int32Array): Promise<Candidate[]> {
    return Promise.all(
      this.#slots.map(async (slot) => {
        const tokens = (await slot.session?.tokens) ?? [];
        return { slot, shared: commonLength(tokens, prompt), length: tokens.length };
      }),
    );
  }

  /** Reads a prompt. Only the tokens after the beginning that it shares with a session are read. */
  async #read(slot: Slot, prompt: Int32Array, signal: AbortSignal | undefined): ReturnType<ReadPrompt> {
    try {
      return await this.#readOnce(slot, prompt, signal);
    } catch (error) {
      const idle = this.#slots.filter((other) => other !== slot && other.calls === 0 && other.session !== undefined);
      if (!(error instanceof RopewalkError) || error.code !== "OUT_OF_MEMORY" || idle.length === 0) throw error;
      for (const other of idle) disposeSession(other); // their chats are read again
      return this.#readOnce(slot, prompt, signal);
    }
  }

  async #readOnce(slot: Slot, prompt: Int32Array, signal: AbortSignal | undefined): ReturnType<ReadPrompt> {
    await this.#copyBeginning(slot, prompt, signal);
    const session = (slot.session ??= await this.#model.session());
    const cached = commonLength(await session.tokens, prompt);
    await session.rewind(cached);
    await session.append(prompt.subarray(cached), signal && { signal });
    return { session, cached };
  }

  /** Replaces a session by a copy of one that has more of the prompt, such as the same system message. */
  async #copyBeginning(slot: Slot, prompt: Int32Array, signal: AbortSignal | undefined): Promise<void> {
    const candidates = await this.#candidates(prompt);
    const own = candidates.find((candidate) => candidate.slot === slot)!;
    const [best = own] = candidates.filter((other) => other.slot.calls === 0).sort((a, b) => b.shared - a.shared);
    const { session, queue } = best.slot;
    if (session === undefined || best.shared < own.shared + LEAST_COPIED) return;
    const copy = await queue.run("fork", "read", signal, async () => session.fork());
    disposeSession(slot);
    slot.session = copy;
  }
}

/** The slot that loses least: one that is free, and has the prompt's chat, or none, or the one that was used the longest ago. */
function chosen(candidates: readonly Candidate[]): Slot {
  const fewest = Math.min(...candidates.map(({ slot }) => slot.calls));
  const free = candidates.filter(({ slot }) => slot.calls === fewest);
  const continues = ({ shared, length }: Candidate): boolean => shared > 0 && 2 * shared >= length;
  const rank = (candidate: Candidate): number => (continues(candidate) ? candidate.shared : 0);
  const [best] = [...free].sort((a, b) => rank(b) - rank(a) || a.slot.lastUsed - b.slot.lastUsed);
  return best!.slot;
}

function disposeSession(slot: Slot): void {
  const ignore = (): void => undefined; // the Worker has ended
  Promise.resolve(slot.session?.dispose()).catch(ignore);
  slot.session = undefined;
}
