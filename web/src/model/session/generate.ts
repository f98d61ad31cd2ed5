// Generates text token by token.
import * as advise from "../../base/advice.js";
import { codeIn, optionalSignal, trueOrFalse, wholeNumber } from "../../base/checks.js";
import { fail } from "../../base/errors.js";
import { checkOptions } from "../../base/options.js";
import type { Heap } from "../../memory/heap.js";
import type { Formats } from "../../grammar/formats.js";
import type { OutputFormat } from "../../grammar/format.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { EventLoopYielder } from "../event_loop.js";
import { listOf } from "../../base/lists.js";
import { breakingTokens } from "./breakers.js";
import { Draft, type DraftModel, readDraft } from "./draft.js";
import { PromptLookup } from "./prompt_lookup.js";
import { FULL_POLICIES, type FullPolicy, GENERATE_OPTIONS, type GenerateOptions } from "./options.js";
import type { SamplingOptions } from "./sampling_options.js";
import { readSampling, type SamplingSettings } from "./sampling_settings.js";
import { logprobOf, mostProbable, Sampler, type TokenProbability } from "./sampler.js";
import type { SessionText } from "./text.js";
import { StopStrings } from "./stop_strings.js";

/**
 * Why generation ended: `end` token of the model, `stop` string or token, `maxTokens` reached (`length`), or the
 * context is `full`.
 */
export type FinishReason = "end" | "stop" | "length" | "full";

/** A generated token and the text it adds. */
export interface Piece {
  /** Id of the token. */
  token: number;
  /**
   * Text since the last piece. It can be empty while a character is incomplete or the text may be the beginning of a
   * stop string.
   */
  text: string;
  /** ln p of the token, before temperature and the other sampling options are applied. */
  logprob: number;
  /** The most probable tokens at this place, if `logprobs` asks for them. */
  alternatives?: TokenProbability[];
  /** Set on the last piece. */
  finish?: FinishReason;
}

/** The session that a generation continues. @internal */
export interface GeneratingSession {
  readonly heap: Heap;
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  readonly formats: Formats;
  readonly text: SessionText;
  readonly extend: () => void;
}

/** Options of a generation, read and checked. @internal */
export interface GenerateSettings {
  readonly sampling: SamplingSettings;
  readonly maxTokens: number;
  readonly stops: StopStrings;
  readonly skipSpecial: boolean;
  readonly marksSpecial: boolean;
  readonly stopTokens: ReadonlySet<number>;
  readonly ignoreEnd: boolean;
  readonly whenFull: FullPolicy;
  readonly keep: number | undefined;
  readonly alternatives: number;
  readonly guesses: number;
  readonly draft: DraftModel | undefined;
  readonly draftTokens: number;
  readonly format: OutputFormat | undefined;
  readonly signal: AbortSignal | undefined;
}

const LEAVE_OUT = advise.other("leave it out");

/** Reads each option once. `defaults` are the model's sampling options. Throws UNKNOWN_KEY, INVALID_ARGUMENT. @internal */
export function readGenerateOptions(
  options: GenerateOptions | undefined,
  defaults: SamplingOptions,
  vocabularySize: number,
): GenerateSettings {
  const {
    maxTokens,
    stop,
    skipSpecial,
    marksSpecial,
    stopTokens,
    ignoreEnd,
    whenFull,
    keep,
    logprobs,
    promptLookup,
    draft,
    draftTokens,
    format,
    signal,
    ...sampling
  } = checkOptions(options, GENERATE_OPTIONS);
  if (keep !== undefined && whenFull !== "shift")
    fail(
      "INVALID_ARGUMENT",
      "keep",
      "is only for texts that shift when the context is full",
      advise.either(advise.pass({ option: "whenFull", value: '"shift"' }), LEAVE_OUT),
    );
  if (format !== undefined && ignoreEnd === true)
    fail(
      "INVALID_ARGUMENT",
      "ignoreEnd",
      "can't be set for a text with a format, after which the end token follows",
      advise.leaveOut({ option: "format" }),
    );
  if (draftTokens !== undefined && draft === undefined)
    fail(
      "INVALID_ARGUMENT",
      "draftTokens",
      "is only for the guesses of a draft model",
      advise.either(advise.pass({ option: "draft" }), LEAVE_OUT),
    );
  return {
    sampling: readSampling(sampling, defaults, vocabularySize),
    maxTokens: wholeNumber(maxTokens ?? 2 ** 30, 0, 2 ** 30, "maxTokens"),
    stops: new StopStrings(typeof stop === "string" ? [stop] : listOf(stop ?? [], "stop", "a string or strings")),
    skipSpecial: trueOrFalse(skipSpecial ?? true, "skipSpecial"),
    marksSpecial: trueOrFalse(marksSpecial ?? false, "marksSpecial"),
    stopTokens: new Set(
      listOf(stopTokens ?? [], "stopTokens", "token ids").map((id, i) =>
        wholeNumber(id, 0, vocabularySize - 1, `stopTokens[${i}]`),
      ),
    ),
    ignoreEnd: trueOrFalse(ignoreEnd ?? false, "ignoreEnd"),
    whenFull: FULL_POLICIES[codeIn(FULL_POLICIES, whenFull ?? "stop", "whenFull")]!,
    keep: keep === undefined ? undefined : wholeNumber(keep, 0, 2 ** 24, "keep"),
    alternatives: wholeNumber(logprobs ?? 0, 0, vocabularySize, "logprobs"),
    guesses: wholeNumber(promptLookup ?? 0, 0, 63, "promptLookup"),
    draft: readDraft(draft),
    draftTokens: wholeNumber(draftTokens ?? 7, 1, 63, "draftTokens"),
    format,
    signal: optionalSignal(signal),
  };
}

/** Generates token by token. @internal */
export async function* generate(
  { heap, tokenizer, vocabularySize: size, formats, text, extend }: GeneratingSession,
  {
    sampling,
    maxTokens,
    stops,
    skipSpecial,
    marksSpecial,
    stopTokens,
    ignoreEnd,
    whenFull,
    keep,
    alternatives,
    guesses,
    draft: draftModel,
    draftTokens,
    format,
    signal,
  }: GenerateSettings,
): AsyncGenerator<Piece, void, void> {
  const endTokens = new Set(ignoreEnd ? [] : tokenizer.endTokens);
  const isFull = (): boolean => text.length >= text.contextLength;
  if (whenFull === "shift") keptTokens(keep, text.contextLength);
  if (guesses > 0 && !text.canReadAhead)
    fail("UNSUPPORTED_MODEL", "promptLookup", "must be 0 for a model with recurrent layers, which can't go back");
  if (draftModel !== undefined && !text.canReadAhead)
    fail("UNSUPPORTED_MODEL", "draft", "can't be used for a model with recurrent layers, which can't go back");
  const lookup = guesses > 0 ? new PromptLookup(guesses, text.tokens) : undefined;
  const breakers = sampling.core.dry_multiplier > 0 ? breakingTokens(tokenizer, sampling.breakers) : undefined;
  const matcher = format === undefined ? undefined : formats.matcher(format);
  const sampler = new Sampler(heap, sampling, breakers ?? new Int32Array());
  const stream = tokenizer.stream({ continues: text.length > 0, skipSpecial, marksSpecial });
  const yielder = new EventLoopYielder();
  let draft: Draft | undefined;
  try {
    if (draftModel !== undefined) draft = new Draft(draftModel, draftTokens, tokenizer);
    for (let count = 1; count <= maxTokens; count++) {
      signal?.throwIfAborted();
      if (matcher?.isStuck() === true)
        fail(
          "INVALID_ARGUMENT",
          "format",
          matcher.canEnd
            ? "allows only the empty text, and the model has no token that ends texts"
            : "can't be continued: no token of the model's vocabulary has the characters that come next",
        );
      const logits = text.freshLogits();
      const token = sampler.sample(logits, size, text.lastTokens(sampler.window), matcher?.allowed);
      const piece: Piece = { token, text: "", logprob: logprobOf(heap, logits, size, token) };
      if (alternatives > 0) piece.alternatives = mostProbable(heap, tokenizer, logits, size, alternatives);
      if (endTokens.has(token) || stopTokens.has(token)) {
        yield { ...piece, text: stops.push(stream.end()) + stops.end(), finish: endTokens.has(token) ? "end" : "stop" };
        return;
      }
      if (isFull() && whenFull === "shift") shiftHalf(text, keptTokens(keep, text.contextLength));
      if (isFull() && whenFull === "extend") extend();
      matcher?.accept(token);
      const endsHere = isFull();
      lookup?.add(token);
      if (!endsHere && !text.hasAhead(token)) {
        const room = Math.min(text.contextLength - text.length - 1, maxTokens - count - 1);
        const repeats = lookup?.guesses(room) ?? [];
        const guessed =
          repeats.length > 0 ? repeats : ((await draft?.guesses([...text.tokens, token], room, signal)) ?? []);
        if (guessed.length > 0) text.readAhead(token, guessed);
      }
      if (!endsHere) await text.append(Int32Array.of(token));
      piece.text = stops.push(stream.push(token));
      const isOver = endTokens.size === 0 && matcher?.isStuck() === true;
      const finish = stops.isFound
        ? "stop"
        : isOver
          ? "end"
          : endsHere
            ? "full"
            : count === maxTokens
              ? "length"
              : undefined;
      if (finish !== undefined) {
        const rest = stops.isFound ? "" : stops.push(stream.end()) + stops.end();
        yield { ...piece, text: piece.text + rest, finish };
        return;
      }
      yield piece;
      await yielder.yieldIfDue();
    }
  } finally {
    text.core.batches.leave(text);
    sampler.dispose();
    draft?.dispose();
  }
}

/** How many tokens a shift keeps. Throws INVALID_ARGUMENT if nothing would be left to discard. */
function keptTokens(keep: number | undefined, contextLength: number): number {
  if (keep !== undefined && keep >= contextLength) {
    const message = `must be below the context length, ${contextLength} (got ${keep})`;
    fail("INVALID_ARGUMENT", "keep", message);
  }
  return keep ?? Math.min(4, contextLength >> 1);
}

/** Discards the older half of the tokens after the first `keep`, and at least as many as make room for one. */
function shiftHalf(text: SessionText, keep: number): void {
  text.shift(keep, Math.max((text.length - keep) >> 1, text.length - text.contextLength + 1));
}
