// What a generation takes and gives: its options, read and checked, and its pieces.
import * as advise from "../../../core/base/advice.js";
import { codeIn, optionalSignal, trueOrFalse, wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { checkOptions } from "../../../core/base/options.js";
import type { Heap } from "../../../core/memory/heap.js";
import type { Formats } from "../../grammar/formats.js";
import type { OutputFormat } from "../../grammar/format.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { listOf } from "../../../core/base/lists.js";
import { type DraftModel, readDraft } from "./draft.js";
import { FULL_POLICIES, type FullPolicy, GENERATE_OPTIONS, type GenerateOptions } from "./options.js";
import { readSampling, type SamplingDefaults, type SamplingSettings } from "./sampling_settings.js";
import type { TokenProbability } from "./sampler.js";
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

/** Reads each option once. `defaults` are the model's. Throws UNKNOWN_KEY, INVALID_ARGUMENT. @internal */
export function readGenerateOptions(
  options: GenerateOptions | undefined,
  defaults: SamplingDefaults,
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
