// Makes the calls on a session run one after the other.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";

/** How long other calls wait for a generation whose loop doesn't ask for the next piece, in milliseconds. */
const PATIENCE = 1000;

/** A call that waits, runs, or is a generation between two pieces. */
class Turn {
  readonly call: string;
  readonly kind: "change" | "read" | "generation";
  /** Ends the wait. */
  wake: () => void = () => undefined;
  /** Frees what a generation holds. */
  free: () => Promise<unknown> = () => Promise.resolve();
  /** Whether the loop of a generation waits for a piece. */
  isAsked = true;
  /** The call that ended a generation before its last piece. */
  endedBy: string | undefined;

  constructor(call: string, kind: Turn["kind"]) {
    this.call = call;
    this.kind = kind;
  }
}

/**
 * The calls on a session, in the order in which they were made. One runs at a time.
 *
 * A generation begins with its first piece and ends with its last one, or when its loop is left. Between two pieces only calls that read may
 * run. A loop may also never ask again, so waiting calls end a generation that isn't asked for {@link PATIENCE}, and calls that can't wait
 * end it at once: its loop's next step then throws.
 *
 * @internal
 */
export class CallQueue {
  readonly #check: () => void;
  readonly #failEnded: (endedBy: string, call: string) => never;
  readonly #waiting: Turn[] = [];
  #running: Turn | undefined;
  /** The generation that has begun and not ended. */
  #generation: Turn | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param check - throws DISPOSED if the session is disposed
   * @param failEnded - throws what the loop of a generation gets that another call has ended
   */
  constructor(check: () => void, failEnded: (endedBy: string, call: string) => never = failGeneration) {
    this.#check = check;
    this.#failEnded = failEnded;
  }

  /** Runs a call after those before it. Rejects with the signal's reason if it is aborted while the call waits. */
  async run<T>(
    call: string,
    kind: "change" | "read",
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const turn = new Turn(call, kind);
    await this.#take(turn, signal);
    try {
      this.#check();
      const result = await work();
      this.#check();
      return result;
    } finally {
      this.#leave(turn);
    }
  }

  /** Runs a call that can't wait. Throws INVALID_ARGUMENT while another call runs, or waits to change the session. */
  now<T>(call: string, kind: "change" | "read", work: () => T): T {
    this.#check();
    const before = this.#running ?? (kind === "change" ? this.#waiting[0] : undefined);
    if (before !== undefined) {
      const state = before === this.#running ? "is running" : "is waiting for its turn";
      fail("INVALID_ARGUMENT", "session", `${before.call}() ${state}`, advise.code(`await it before ${call}()`));
    }
    const result = work();
    if (kind === "change") this.#endNow(call); // a call that fails doesn't end it
    return result;
  }

  /**
   * Passes on the pieces of a generation.
   * @param begin - called when it's the generation's turn
   * @param call - its name in errors
   */
  async *generate<Piece extends { finish?: unknown }>(
    signal: AbortSignal | undefined,
    begin: () => AsyncGenerator<Piece, void, void>,
    call = "generate",
  ): AsyncGenerator<Piece, void, void> {
    const turn = new Turn(call, "generation");
    await this.#take(turn, signal);
    let pieces: AsyncGenerator<Piece, void, void> | undefined;
    turn.free = async () => pieces?.return();
    try {
      this.#check();
      pieces = begin();
      for (;;) {
        const { value } = await pieces.next();
        this.#check();
        if (value === undefined) return;
        if (value.finish === undefined) this.#pause(turn);
        else await this.#end(turn); // many loops don't ask again after the last piece
        yield value;
        if (value.finish !== undefined) return;
        await this.#resume(turn, signal);
      }
    } finally {
      await this.#end(turn);
    }
  }

  /** Ends the calls that wait, and a generation between two pieces. The session must be disposed by now. */
  close(): void {
    this.#endNow("dispose");
    for (const turn of this.#waiting.splice(0)) turn.wake();
  }

  /** Resolves when it's the turn of a call. */
  async #take(turn: Turn, signal: AbortSignal | undefined): Promise<void> {
    this.#check();
    signal?.throwIfAborted();
    // nothing that may run waits if nothing runs
    if (this.#running === undefined && this.#mayRun(turn)) {
      this.#start(turn);
      return;
    }
    const woken = new Promise<void>((resolve) => (turn.wake = resolve));
    signal?.addEventListener("abort", turn.wake);
    this.#waiting.push(turn);
    this.#watch();
    await woken;
    signal?.removeEventListener("abort", turn.wake);
    try {
      this.#check();
      signal?.throwIfAborted();
    } catch (error) {
      this.#release(turn); // it may have been started before it was aborted
      throw error;
    }
  }

  #mayRun(turn: Turn): boolean {
    return this.#generation === undefined || this.#generation === turn || turn.kind === "read";
  }

  #start(turn: Turn): void {
    this.#running = turn;
    if (turn.kind === "generation") this.#generation = turn;
    this.#watch();
  }

  /** Ends a call, or its wait, and starts the next one. */
  #leave(turn: Turn): void {
    const at = this.#waiting.indexOf(turn);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (this.#running === turn) this.#running = undefined;
    const next = this.#running === undefined ? this.#waiting.findIndex((waiting) => this.#mayRun(waiting)) : -1;
    const [started] = next < 0 ? [] : this.#waiting.splice(next, 1);
    if (started !== undefined) this.#start(started);
    started?.wake();
    this.#watch();
  }

  #pause(turn: Turn): void {
    turn.isAsked = false;
    this.#leave(turn);
  }

  async #resume(turn: Turn, signal: AbortSignal | undefined): Promise<void> {
    turn.isAsked = true;
    this.#watch();
    this.#check();
    if (turn.endedBy !== undefined) this.#failEnded(turn.endedBy, turn.call);
    await this.#take(turn, signal);
  }

  /** Ends a generation. The next call starts when what the generation held is free. */
  async #end(turn: Turn, endedBy?: string): Promise<void> {
    turn.endedBy ??= endedBy;
    await turn.free();
    this.#release(turn);
  }

  /** Ends a generation between two pieces for a call that can't wait. */
  #endNow(endedBy: string): void {
    const generation = this.#generation;
    if (generation === undefined || generation === this.#running) return;
    generation.endedBy = endedBy;
    void generation.free();
    this.#release(generation);
    generation.wake(); // it may wait for a call that reads
  }

  #release(turn: Turn): void {
    if (this.#generation === turn) this.#generation = undefined;
    this.#leave(turn);
  }

  /** Starts the timer while calls wait for a generation whose loop doesn't ask for the next piece, or stops it. */
  #watch(): void {
    const generation = this.#generation;
    const [first] = this.#waiting.filter((turn) => !this.#mayRun(turn));
    if (generation === undefined || generation.isAsked || first === undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else {
      this.#timer ??= setTimeout(() => void this.#end(generation, first.call), PATIENCE);
    }
  }
}

function failGeneration(endedBy: string, call: string): never {
  const message = `was ended by ${endedBy}(), which was called before the loop asked for the next piece`;
  fail("INVALID_ARGUMENT", call, message, advise.code("leave the loop before such a call"));
}
