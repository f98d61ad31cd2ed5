// The options of sessions: their types, and their names, which the Worker's client checks before it sends a call.
import type { RopeOverrides } from "../../../core/config/overrides.js";
import { fail } from "../../../core/base/errors.js";
import type { ModelConfig } from "../../../core/memory/model_fields.js";
import { codeIn, optionalFunction, optionalSignal, wholeNumber } from "../../../core/base/checks.js";
import { MODEL_ELSEWHERE } from "../../../core/base/elsewhere.js";
import { checkOptions, type OptionNames, optionNames } from "../../../core/base/options.js";
import type { OutputFormat } from "../../grammar/format.js";
import { CHAT_OPTION_NAMES, type ChatOptions } from "../../text/chat_options.js";
import type { AdapterOptions, AdaptersInUse } from "../run/adapters_in_use.js";
import type { AttentionKind } from "../plan/model_plan.js";
import type { ModelCore } from "../run/model_core.js";
import { defaultCheckpoints } from "../plan/checkpoints.js";
import type { DraftModel } from "./draft.js";
import { SAMPLING, type SamplingOptions } from "./sampling_options.js";

/** Options of `session.fork()`. */
export interface ForkOptions {
  /**
   * Maximum number of tokens, 1 to 2^24. Default: the model's `contextLength`. `session.retune()` and `whenFull:
   * "extend"` can change it.
   */
  contextLength?: number;
  /**
   * When copies of the states of recurrent layers are kept, to which `rewind()` can go back. It reads the tokens after
   * the nearest one again. A model without such layers can go back to every token, and needs none.
   */
  checkpoints?: {
    /** Tokens between two checkpoints, from 1. Each `append()` of several tokens also makes one. Default: 512. */
    spacing?: number;
    /** The most that are kept, 0 to 1024. Then the oldest is dropped. Default: as many as take 64 MiB, but 1 to 8. */
    count?: number;
  };
}

/** Options of a session. */
export interface SessionOptions extends ForkOptions {
  /** LoRA adapters that it reads and generates with. Default: none. */
  adapters?: AdapterOptions;
}

/** Options of `session.extend()`. */
export interface ExtendOptions {
  /** New maximum number of tokens. Default: the double. */
  contextLength?: number;
}

/** Options of `model.generate()`. Those of {@link ChatOptions} are for prompts that are messages; `parseSpecial` also for text. */
export interface ModelGenerateOptions extends GenerateOptions, ChatOptions {
  /** Maximum number of tokens, as in {@link SessionOptions.contextLength}. */
  contextLength?: number;
  /** LoRA adapters, as in {@link SessionOptions.adapters}. */
  adapters?: AdapterOptions;
}

/**
 * Options of `session.chat()`: those of `session.generate()` and of rendering the chat. `onProgress` is called as for `session.append()`, while the
 * part of the prompt is read that the session hasn't read yet.
 */
export interface ChatTurnOptions extends GenerateOptions, ChatOptions, Pick<SessionAppendOptions, "onProgress"> {}

/** Options of `model.complete()`: those of `model.generate()` without `logprobs`, which are parts of its pieces. */
export type CompleteOptions = Omit<ModelGenerateOptions, "logprobs">;

/** Options of `model.generateMany()`. */
export interface GenerateManyOptions extends ModelGenerateOptions {
  /** The most texts at once, 1 to 256. The next one begins when one has ended. Default: 8. */
  batchSize?: number;
}

/** @internal */
export interface CheckpointSettings {
  readonly spacing: number;
  readonly count: number;
}

/** The longest context of a session, in tokens. @internal */
export const LONGEST_CONTEXT = 2 ** 24;

/**
 * Throws INVALID_ARGUMENT for an invalid context length.
 * @param config - of the model, which may have learned only some positions
 * @internal
 */
export function checkContext(length: unknown, { positions }: Pick<ModelConfig, "positions">, least = 1): number {
  const checked = wholeNumber(length, least, LONGEST_CONTEXT, "contextLength");
  if (positions > 0 && checked > positions)
    fail(
      "INVALID_ARGUMENT",
      "contextLength",
      `must be at most ${positions}, the positions the model has learned (got ${checked})`,
    );
  return checked;
}

/** @internal */
export interface TextSettings extends CheckpointSettings {
  readonly adapters: AdaptersInUse;
}

const CHECKPOINT_OPTIONS = optionNames<NonNullable<SessionOptions["checkpoints"]>>("session()", {
  spacing: true,
  count: true,
});

/**
 * @param stateBytes - bytes of one copy of the states
 * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY.
 * @internal
 */
export function readCheckpoints(given: SessionOptions["checkpoints"], stateBytes: number): CheckpointSettings {
  const { spacing = 512, count = defaultCheckpoints(stateBytes) } = checkOptions(
    given,
    CHECKPOINT_OPTIONS,
    "checkpoints",
  );
  return {
    spacing: wholeNumber(spacing, 1, 2 ** 24, "checkpoints.spacing"),
    count: wholeNumber(count, 0, 1024, "checkpoints.count"),
  };
}

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readRestoreOptions(options: RestoreOptions | undefined): RestoredRope {
  const { rope = "saved" } = checkOptions(options, RESTORE_OPTIONS);
  return RESTORED_ROPES[codeIn(RESTORED_ROPES, rope, "rope")]!;
}

/**
 * The context length and the checkpoints of a fork: by default those of the session.
 * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY.
 * @internal
 */
export function readForkOptions(
  options: ForkOptions | undefined,
  {
    length,
    contextLength: own,
    core,
  }: { length: number; contextLength: number; core: Pick<ModelCore, "stateBytes" | "plan"> },
  ownCheckpoints: CheckpointSettings,
): { contextLength: number; checkpoints: CheckpointSettings } {
  const { contextLength = own, checkpoints } = checkOptions(options, FORK_OPTIONS);
  return {
    contextLength: checkContext(contextLength, core.plan.config, Math.max(1, length)),
    checkpoints: checkpoints === undefined ? ownCheckpoints : readCheckpoints(checkpoints, core.stateBytes),
  };
}

/** Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readAppendOptions(
  options: SessionAppendOptions | undefined,
  names = APPEND_OPTIONS,
): SessionAppendOptions {
  const { signal, onProgress } = checkOptions(options, names);
  return {
    ...(optionalSignal(signal) && { signal: signal! }),
    ...(optionalFunction(onProgress, "onProgress") && { onProgress: onProgress! }),
  };
}

/** Options of `session.append()`. */
export interface SessionAppendOptions {
  /**
   * Aborts between two batches of 128 tokens, or after the last, and rejects with the signal's reason. Tokens read
   * until then stay in the session.
   */
  signal?: AbortSignal;
  /** Called after each batch, with numbers of tokens. */
  onProgress?: (progress: { done: number; total: number }) => void;
}

/**
 * The RoPE of a restored session: the one it was saved with, or the one its model was loaded with. Then the keys are
 * re-rotated, as by `session.retune()`.
 */
export const RESTORED_ROPES = ["saved", "model"] as const;
/** One of {@link RESTORED_ROPES}. */
export type RestoredRope = (typeof RESTORED_ROPES)[number];

/** Options of `session.restore()`. */
export interface RestoreOptions {
  /** Its RoPE. Default: `saved`. */
  rope?: RestoredRope;
}

/** Options of `model.openSession()`. */
export interface OpenSessionOptions extends SessionOptions, RestoreOptions {}

/** Options of `session.shift()`. */
export interface ShiftSessionOptions {
  /** Number of tokens to keep at the start, from 0. Default: 0. */
  keep?: number;
  /** Number of tokens to remove after them, from 1. */
  discard: number;
}

/** Options of `session.retune()`. */
export interface RetuneSessionOptions {
  /** Kind of the layers to change. Default: `full_attention`. */
  kind?: AttentionKind;
  /** New maximum number of tokens, 1 to 2^24. Default: the same as before. */
  contextLength?: number;
}

/** What `session.retune()` gets: what changes of the RoPE, or that with options, as a cache's `retune({ rope })`. */
export type SessionRope = RopeOverrides | (RetuneSessionOptions & { rope: RopeOverrides });

/**
 * What to do when the context is full. `stop` ends the text. `shift` discards the older half of the tokens after the
 * first `keep`. `extend` doubles the context length with YaRN.
 */
export const FULL_POLICIES = ["stop", "shift", "extend"] as const;
/** One of {@link FULL_POLICIES}. */
export type FullPolicy = (typeof FULL_POLICIES)[number];

/** Options for generating text. */
export interface GenerateOptions extends SamplingOptions {
  /** Maximum number of tokens to generate, from 0. Default: as many as fit in the context. */
  maxTokens?: number;
  /** Stop strings. Generation ends when one appears; it isn't part of the text. */
  stop?: string | readonly string[];
  /** Whether the text leaves out special tokens, such as those around tool calls. Default: true. */
  skipSpecial?: boolean;
  /** Marks the text of special tokens, so that it can be told from other text: see text/control_text.ts. Default: false. @internal */
  marksSpecial?: boolean;
  /** Ids of tokens that end the text, in addition to the model's end tokens. */
  stopTokens?: readonly number[];
  /** Whether to continue when the model generates an end token. Default: false. */
  ignoreEnd?: boolean;
  /** What to do when the context is full. Default: `stop`. */
  whenFull?: FullPolicy;
  /**
   * Number of tokens at the beginning that `shift` keeps, below the context length; refused with other policies. Default: 4 (32 with a
   * cache of `q4_channel`), or half of a context of
   * fewer than 8 tokens.
   */
  keep?: number;
  /** Number of most probable tokens to report with each piece, from 0. Default: 0. */
  logprobs?: number;
  /**
   * The most tokens to guess at once from repeats of the text, 0 to 63. The model reads the guesses together, and keeps
   * those that it would have generated: faster where a text copies or repeats itself, as in edits and quotes. Guesses that
   * turn out wrong become rarer and shorter. Not with recurrent layers. Default: 0, no guesses.
   */
  promptLookup?: number;
  /**
   * A smaller model with the same vocabulary, which guesses the next tokens. The model reads the guesses together, and
   * keeps those that it would have generated. Not with recurrent layers. Default: none. With `promptLookup`, it guesses
   * where the text doesn't repeat itself.
   */
  draft?: DraftModel;
  /** The most tokens that `draft` guesses at once, 1 to 63. It stops earlier where it isn't sure. Default: 7. */
  draftTokens?: number;
  /**
   * What the text may look like: JSON, a schema, a regular expression, choices or a grammar. Tokens that would leave it
   * aren't sampled, and the end only where the text is complete. `maxTokens` and `stop` still end the text earlier.
   */
  format?: OutputFormat;
  /** Aborts between two tokens: the generator throws the signal's reason. */
  signal?: AbortSignal;
}

const GENERATE = {
  ...SAMPLING,
  maxTokens: true,
  stop: true,
  skipSpecial: true,
  marksSpecial: true,
  stopTokens: true,
  ignoreEnd: true,
  whenFull: true,
  keep: true,
  logprobs: true,
  promptLookup: true,
  draft: true,
  draftTokens: true,
  format: true,
  signal: true,
} as const;

/** @internal */
export const SESSION_OPTIONS: OptionNames = optionNames<SessionOptions>(
  "session()",
  {
    contextLength: true,
    checkpoints: true,
    adapters: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const RESTORE_OPTIONS: OptionNames = optionNames<RestoreOptions>("restore()", { rope: true });
/** @internal */
export const OPEN_SESSION_OPTIONS: OptionNames = optionNames<OpenSessionOptions>(
  "openSession()",
  {
    contextLength: true,
    checkpoints: true,
    adapters: true,
    rope: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const FORK_OPTIONS: OptionNames = optionNames<ForkOptions>("fork()", {
  contextLength: true,
  checkpoints: true,
});
/** @internal */
export const EXTEND_OPTIONS: OptionNames = optionNames<ExtendOptions>("extend()", { contextLength: true });
/** @internal */
export const APPEND_OPTIONS: OptionNames = optionNames<SessionAppendOptions>(
  "append()",
  {
    signal: true,
    onProgress: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const GENERATE_OPTIONS: OptionNames = optionNames<GenerateOptions>("generate()", GENERATE, MODEL_ELSEWHERE);
/** @internal */
export const MODEL_GENERATE_OPTIONS: OptionNames = optionNames<ModelGenerateOptions>(
  "generate()",
  {
    ...GENERATE,
    ...CHAT_OPTION_NAMES,
    contextLength: true,
    adapters: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const CHAT_TURN_OPTIONS: OptionNames = optionNames<ChatTurnOptions>(
  "chat()",
  {
    ...GENERATE,
    ...CHAT_OPTION_NAMES,
    onProgress: true,
  },
  MODEL_ELSEWHERE,
);
const { logprobs: _, ...COMPLETE } = GENERATE;
/** @internal */
export const COMPLETE_OPTIONS: OptionNames = optionNames<CompleteOptions>(
  "complete()",
  {
    ...COMPLETE,
    ...CHAT_OPTION_NAMES,
    contextLength: true,
    adapters: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const GENERATE_MANY_OPTIONS: OptionNames = optionNames<GenerateManyOptions>(
  "generateMany()",
  {
    ...GENERATE,
    ...CHAT_OPTION_NAMES,
    contextLength: true,
    adapters: true,
    batchSize: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const SHIFT_OPTIONS: OptionNames = optionNames<ShiftSessionOptions>("shift()", { keep: true, discard: true });
/** @internal */
export const RETUNE_OPTIONS: OptionNames = optionNames<RetuneSessionOptions>("retune()", {
  kind: true,
  contextLength: true,
});
