// Generates text token by token: samples a token, reads it, and says what it adds to the text.
import { fail } from "../../../core/base/errors.js";
import type { FormatMatcher } from "../../grammar/formats.js";
import type { TokenStream } from "../../text/tokenizer.js";
import { withoutTokens } from "../config/suppressed_tokens.js";
import { EventLoopYielder } from "../run/event_loop.js";
import { breakingTokens } from "./dry_breakers.js";
import { Draft } from "./draft.js";
import { extendText } from "./extend.js";
import type { FinishReason, GenerateSettings, GeneratingSession, Piece } from "./generate.js";
import { PromptLookup } from "./prompt_lookup.js";
import { logprobOf, mostProbable, Sampler } from "./sampler.js";
import type { SessionModel } from "./session_model.js";
import { checkMovable } from "./supported_length.js";
import type { SessionText } from "./text.js";

/** What a generation needs of a session. @internal */
export function generatingSession({ tokenizer, formats }: SessionModel, text: SessionText): GeneratingSession {
  const { heap, vocabularySize } = text.core;
  return {
    heap,
    tokenizer,
    formats,
    // some models pad the embedding with rows that no token uses
    vocabularySize: Math.min(vocabularySize, tokenizer.vocabularySize),
    text,
    extend: () => extendText(text),
  };
}

/** Generates token by token. @internal */
export async function* generate(
  session: GeneratingSession,
  settings: GenerateSettings,
): AsyncGenerator<Piece, void, void> {
  const generation = new Generation(session, settings);
  const yielder = new EventLoopYielder();
  try {
    for (let count = 1; count <= settings.maxTokens; count++) {
      settings.signal?.throwIfAborted();
      const piece = generation.sample();
      const ended = generation.endAt(piece);
      if (ended !== undefined) {
        yield ended;
        return;
      }
      const isRead = await generation.read(piece.token, settings.maxTokens - count);
      const next = generation.finished(piece, isRead, count === settings.maxTokens);
      yield next;
      if (next.finish !== undefined) return;
      await yielder.yieldIfDue();
    }
  } finally {
    generation.dispose();
  }
}

/** A running generation. */
class Generation {
  readonly #session: GeneratingSession;
  readonly #settings: GenerateSettings;
  readonly #endTokens: ReadonlySet<number>;
  readonly #matcher: FormatMatcher | undefined;
  readonly #lookup: PromptLookup | undefined;
  readonly #stream: TokenStream;
  readonly #sampler: Sampler;
  readonly #draft: Draft | undefined;
  #isFirst = true;

  /** Throws UNSUPPORTED_MODEL for guesses that the model can't read ahead, INVALID_ARGUMENT, OUT_OF_MEMORY. */
  constructor(session: GeneratingSession, settings: GenerateSettings) {
    const { tokenizer, text, formats, heap } = session;
    const { sampling, whenFull, keep, guesses, draft, draftTokens, ignoreEnd, format, skipSpecial, marksSpecial } =
      settings;
    this.#session = session;
    this.#settings = settings;
    this.#endTokens = new Set(ignoreEnd ? [] : tokenizer.endTokens);
    if (whenFull === "shift") {
      keptTokens(keep, text);
      checkMovable(text.core.plan.config);
    }
    if (guesses > 0 && !text.canReadAhead)
      fail("UNSUPPORTED_MODEL", "promptLookup", "must be 0 for a model with recurrent layers, which can't go back");
    if (draft !== undefined && !text.canReadAhead)
      fail("UNSUPPORTED_MODEL", "draft", "can't be used for a model with recurrent layers, which can't go back");
    this.#lookup = guesses > 0 ? new PromptLookup(guesses, text.tokens) : undefined;
    const breakers = sampling.core.dry_multiplier > 0 ? breakingTokens(tokenizer, sampling.breakers) : new Int32Array();
    this.#matcher = format === undefined ? undefined : formats.matcher(format);
    this.#stream = tokenizer.stream({ continues: text.length > 0, skipSpecial, marksSpecial });
    this.#sampler = new Sampler(heap, sampling, breakers);
    try {
      this.#draft = draft === undefined ? undefined : new Draft(draft, draftTokens, tokenizer);
    } catch (error) {
      this.#sampler.dispose();
      throw error;
    }
  }

  /** Samples the next token. Throws INVALID_ARGUMENT if the format allows none. */
  sample(): Piece {
    const { heap, tokenizer, vocabularySize: size, text } = this.#session;
    const { alternatives } = this.#settings;
    const matcher = this.#matcher;
    if (matcher?.isStuck() === true)
      fail(
        "INVALID_ARGUMENT",
        "format",
        matcher.canEnd
          ? "allows only the empty text, and the model has no token that ends texts"
          : "can't be continued: no token of the model's vocabulary has the characters that come next",
      );
    const logits = text.freshLogits();
    const banned = this.#isFirst ? this.#settings.sampling.notFirst : [];
    this.#isFirst = false;
    const allowed = withoutTokens(matcher?.allowed, banned, size);
    const token = this.#sampler.sample(logits, size, text.lastTokens(this.#sampler.window), allowed);
    const piece: Piece = { token, text: "", logprob: logprobOf(heap, logits, size, token) };
    if (alternatives > 0) piece.alternatives = mostProbable(heap, tokenizer, logits, size, alternatives);
    return piece;
  }

  /** The last piece, if its token ends the text. Such a token isn't read. */
  endAt(piece: Piece): Piece | undefined {
    const isEnd = this.#endTokens.has(piece.token);
    if (!isEnd && !this.#settings.stopTokens.has(piece.token)) return undefined;
    return { ...piece, text: this.#rest(), finish: isEnd ? "end" : "stop" };
  }

  /**
   * Reads a token, with guesses of those that follow it. A full context is shifted or extended first.
   * @param remaining - tokens that may follow
   * @returns whether there was room
   */
  async read(token: number, remaining: number): Promise<boolean> {
    const { text, extend } = this.#session;
    const { whenFull, keep } = this.#settings;
    if (this.#isFull() && whenFull === "shift") shiftHalf(text, keptTokens(keep, text));
    if (this.#isFull() && whenFull === "extend") extend();
    this.#matcher?.accept(token);
    this.#lookup?.add(token);
    if (this.#isFull()) return false;
    if (!text.hasAhead(token)) {
      const guessed = await this.#guesses(token, Math.min(text.contextLength - text.length - 1, remaining - 1));
      if (guessed.length > 0) text.readAhead(token, guessed);
    }
    await text.append(Int32Array.of(token));
    return true;
  }

  /** The piece with its text, and with the reason if it is the last. */
  finished(piece: Piece, isRead: boolean, isLast: boolean): Piece {
    const { stops } = this.#settings;
    const text = stops.push(this.#stream.push(piece.token));
    const finish = this.#finishReason(isRead, isLast);
    if (finish === undefined) return { ...piece, text };
    return { ...piece, text: stops.isFound ? text : text + this.#rest(), finish };
  }

  #finishReason(isRead: boolean, isLast: boolean): FinishReason | undefined {
    if (this.#settings.stops.isFound) return "stop";
    // a complete text of a format, where no token says so
    if (this.#endTokens.size === 0 && this.#matcher?.isStuck() === true) return "end";
    if (!isRead) return "full";
    return isLast ? "length" : undefined;
  }

  /** What the stream and the stop strings held back. */
  #rest(): string {
    const { stops } = this.#settings;
    return stops.push(this.#stream.end()) + stops.end();
  }

  /** At most `room` tokens that may follow `token`: a repeat of the text, or else a draft. */
  async #guesses(token: number, room: number): Promise<readonly number[]> {
    const repeats = this.#lookup?.guesses(room) ?? [];
    if (repeats.length > 0) return repeats;
    return (await this.#draft?.guesses([...this.#session.text.tokens, token], room, this.#settings.signal)) ?? [];
  }

  #isFull(): boolean {
    const { text } = this.#session;
    return text.length >= text.contextLength;
  }

  dispose(): void {
    const { text } = this.#session;
    text.core.batches.leave(text);
    this.#sampler.dispose();
    this.#draft?.dispose();
  }
}

/** How many tokens a shift keeps. Throws INVALID_ARGUMENT if nothing would be left to discard. */
function keptTokens(keep: number | undefined, text: SessionText): number {
  const { contextLength } = text;
  if (keep !== undefined && keep >= contextLength) {
    const message = `must be below the context length, ${contextLength} (got ${keep})`;
    fail("INVALID_ARGUMENT", "keep", message);
  }
  return keep ?? Math.min(Math.max(4, groupOf(text)), contextLength >> 1);
}

/** Tokens that a cache of q4_channel moves together without rounding. */
const groupOf = (text: SessionText): number => (text.freshCache().dtype === "q4_channel" ? 32 : 1);

/**
 * Discards the older half of the tokens after the first `keep`, and at least as many as make room for one. Whole groups move without rounding.
 */
function shiftHalf(text: SessionText, keep: number): void {
  const half = (text.length - keep) >> 1;
  const whole = half - (half % groupOf(text));
  text.shift(keep, Math.max(whole === 0 ? half : whole, text.length - text.contextLength + 1));
}
