// The sessions that answers are generated in. They stay, so that the next turn of a chat reads only what is new.
import * as advise from "../../core/base/advice.js";
import { fail, RopewalkError } from "../../core/base/errors.js";
import { commonLength } from "../../core/base/lists.js";
import { CallQueue } from "../../runtime/model/session/call_queue.js";
import { MIN_COPIED, readsAlikeInParts } from "../../runtime/model/several_texts.js";
import type { Serving } from "./options.js";
import type { ServedModel, ServedSession } from "./served_model.js";

const NO_TOKENS: readonly number[] = [];

/** A session and the calls that run in it, one after the other. */
class Slot {
  readonly queue = new CallQueue(() => undefined, failAbandoned);
  session: ServedSession | undefined;
  /** The last prompt that was read. A session in a Worker can't say its tokens while a call runs. */
  prompt: ArrayLike<number> = NO_TOKENS;
  /** Calls that run or wait. */
  calls = 0;
  /** When its last call began, as a count of calls. */
  lastUsed = 0;
}

/** Length of the prefix that a slot shares with a prompt. */
interface Candidate {
  readonly slot: Slot;
  readonly shared: number;
  /** Tokens of its session. */
  readonly length: number;
}

/** What a call reads its prompt with. */
export type ReadPrompt = () => Promise<{ session: ServedSession; cached: number }>;

/** A call and what ends it. */
export interface ServedCall {
  readonly signal: AbortSignal | undefined;
  /** Calls of `dispose()` before it. The next one ends it. */
  readonly disposals: number;
}

export class PromptSessions {
  readonly #model: ServedModel;
  readonly #adapting: Serving["adapting"];
  readonly #slots: readonly Slot[];
  #calls = 0;
  #disposals = 0;

  /** One session for each of `parallel` calls that run at the same time. */
  constructor(model: ServedModel, { parallel, adapting }: Pick<Serving, "parallel" | "adapting">) {
    this.#model = model;
    this.#adapting = adapting;
    this.#slots = Array.from({ length: parallel }, () => new Slot());
  }

  /** A call that begins now. Its prompt may still have to be made. */
  newCall(signal: AbortSignal | undefined): ServedCall {
    return { signal, disposals: this.#disposals };
  }

  /**
   * Passes on the events of a call when it's its turn; the last one has `finish`. A call whose events aren't read for a second is ended if
   * others wait. Rejects with the signal's reason.
   * @throws DISPOSED: `dispose()` was called after the call had begun
   */
  async *inTurn<Event extends { finish?: unknown }>(
    prompt: Int32Array,
    call: ServedCall,
    begin: (read: ReadPrompt) => AsyncGenerator<Event, void, void>,
  ): AsyncGenerator<Event, void, void> {
    this.#checkCall(call);
    const slot = chosen(await this.#candidates(prompt));
    slot.calls += 1;
    slot.lastUsed = ++this.#calls;
    try {
      yield* slot.queue.generate(call.signal, () => begin(() => this.#read(slot, prompt, call)));
    } catch (cause) {
      if (isDisposed(cause)) this.#checkCall(call, cause);
      throw cause;
    } finally {
      slot.calls -= 1;
    }
  }

  dispose(): void {
    this.#disposals += 1;
    for (const slot of this.#slots) disposeSession(slot);
  }

  #checkCall({ disposals }: ServedCall, cause?: unknown): void {
    if (disposals === this.#disposals) return;
    fail("DISPOSED", "dispose", "was called during this call, and frees its session", {
      ...advise.code("await the calls first"),
      cause,
    });
  }

  /** A session, or undefined if it was disposed of meanwhile. If the call has ended, the session is disposed of. */
  async #ofCall(call: ServedCall, made: Promise<ServedSession | undefined>): Promise<ServedSession | undefined> {
    const session = await made;
    if (call.disposals !== this.#disposals) disposeOf(session);
    this.#checkCall(call);
    return session;
  }

  async #candidates(prompt: Int32Array): Promise<Candidate[]> {
    return Promise.all(
      this.#slots.map(async (slot) => {
        const tokens = slot.calls === 0 ? await tokensOf(slot) : slot.prompt;
        return { slot, shared: commonLength(tokens, prompt), length: tokens.length };
      }),
    );
  }

  /** Reads a prompt. Only the tokens after the beginning that it shares with a session are read. */
  async #read(slot: Slot, prompt: Int32Array, call: ServedCall): ReturnType<ReadPrompt> {
    try {
      return await this.#readOnce(slot, prompt, call);
    } catch (error) {
      const idle = this.#slots.filter((other) => other !== slot && other.calls === 0 && other.session !== undefined);
      if (!(error instanceof RopewalkError) || error.code !== "OUT_OF_MEMORY" || idle.length === 0) throw error;
      for (const other of idle) disposeSession(other); // their chats are read again
      return this.#readOnce(slot, prompt, call);
    }
  }

  async #readOnce(slot: Slot, prompt: Int32Array, call: ServedCall): ReturnType<ReadPrompt> {
    this.#checkCall(call);
    await this.#copyBeginning(slot, prompt, call);
    const { signal } = call;
    slot.session ??= await this.#ofCall(call, (async () => this.#model.session(this.#adapting))());
    const session = slot.session!;
    slot.prompt = prompt;
    const cached = await session.bringTo(prompt, signal && { signal });
    return { session, cached };
  }

  /** Replaces a session by a copy of one that has more of the prompt, such as the same system message. */
  async #copyBeginning(slot: Slot, prompt: Int32Array, call: ServedCall): Promise<void> {
    const candidates = await this.#candidates(prompt);
    this.#checkCall(call);
    const shared = commonLength(await tokensOf(slot), prompt); // its own call runs, and has not read yet
    const [best] = candidates.filter((other) => other.slot.calls === 0).sort((a, b) => b.shared - a.shared);
    const { session, queue } = best?.slot ?? slot;
    if (best === undefined || session === undefined || best.shared < shared + MIN_COPIED) return;
    if (!readsAlikeInParts(this.#model.info)) return; // a copy that goes back isn't exact
    const fork = queue.run("fork", "read", call.signal, async () => session.fork());
    const copy = await this.#ofCall(call, fork.catch(undefinedIfDisposed));
    if (copy === undefined) return;
    disposeSession(slot);
    slot.session = copy;
  }
}

/** Picks a free slot: the one with this chat, else the least recently used. */
function chosen(candidates: readonly Candidate[]): Slot {
  const fewest = Math.min(...candidates.map(({ slot }) => slot.calls));
  const free = candidates.filter(({ slot }) => slot.calls === fewest);
  const continues = ({ shared, length }: Candidate): boolean => shared > 0 && 2 * shared >= length;
  const rank = (candidate: Candidate): number => (continues(candidate) ? candidate.shared : 0);
  const [best] = [...free].sort((a, b) => rank(b) - rank(a) || a.slot.lastUsed - b.slot.lastUsed);
  return best!.slot;
}

/** None if the session is disposed of meanwhile, because its memory was needed. */
async function tokensOf({ session }: Slot): Promise<ArrayLike<number>> {
  if (session === undefined) return NO_TOKENS;
  const tokens = (async () => session.tokens)();
  return (await tokens.catch(undefinedIfDisposed)) ?? NO_TOKENS;
}

function undefinedIfDisposed(error: unknown): undefined {
  if (!isDisposed(error)) throw error;
}

function isDisposed(error: unknown): boolean {
  return error instanceof RopewalkError && error.code === "DISPOSED";
}

function failAbandoned(): never {
  fail("INVALID_ARGUMENT", "stream", "was ended: nothing was read from it for a second, and another call waited");
}

function disposeSession(slot: Slot): void {
  disposeOf(slot.session);
  slot.session = undefined;
  slot.prompt = NO_TOKENS;
}

function disposeOf(session: ServedSession | undefined): void {
  const ignore = (): void => undefined; // the Worker has ended
  Promise.resolve(session?.dispose()).catch(ignore);
}
