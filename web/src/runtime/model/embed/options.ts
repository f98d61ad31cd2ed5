// The options of embed() and rank(): their types, and their names, which the Worker's client checks too.
import { codeIn, optionalFunction, optionalSignal, wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { MODEL_ELSEWHERE } from "../../../core/base/elsewhere.js";
import { checkOptions, type OptionNames, optionNames } from "../../../core/base/options.js";
import { show } from "../../../core/base/show.js";
import type { AdapterOptions } from "../run/adapters_in_use.js";
import { type Pooling, POOLINGS } from "../plan/embedding_plan.js";

/** Progress of {@link Model.embed} and {@link Model.rank}, in texts. */
export interface EmbedProgress {
  done: number;
  total: number;
}

/** Options of {@link Model.embed}. */
export interface EmbedOptions {
  /** How the hidden states of a text become one vector. Default: the model's own. */
  pooling?: Pooling;
  /** Whether vectors are divided by their length, so that their scalar product is their cosine. Default: the model's own. */
  normalize?: boolean;
  /**
   * Keeps the first elements of each vector, before it is normalized: for models trained so that they suffice
   * (Matryoshka, arXiv:2205.13147). From 1 to the size of the model's vectors. Default: all.
   */
  dimensions?: number;
  /**
   * Name of one of the model's prompts (`model.info.embedding.prompts`), which is written before each text, or null for
   * none. For texts only, not token ids. Default: the model's default prompt, if it has one.
   */
  prompt?: string | null;
  /**
   * Whether texts that are too long are cut instead of refused: the first tokens stay, and the last one if it is special,
   * as `[SEP]`. Default: false.
   */
  truncate?: boolean;
  /** LoRA adapters that the texts are read with. Default: none. */
  adapters?: AdapterOptions;
  /** Aborts while texts are tokenized, and between two batches. */
  signal?: AbortSignal;
  /** Called after each batch of texts. */
  onProgress?: (progress: EmbedProgress) => void;
}

/** Options of {@link Model.rank}. */
export type RankOptions = Pick<EmbedOptions, "truncate" | "adapters" | "signal" | "onProgress">;

/** @internal */
export const EMBED_OPTIONS: OptionNames = optionNames<EmbedOptions>(
  "embed()",
  {
    pooling: true,
    normalize: true,
    dimensions: true,
    prompt: true,
    truncate: true,
    adapters: true,
    signal: true,
    onProgress: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const RANK_OPTIONS: OptionNames = optionNames<RankOptions>(
  "rank()",
  {
    truncate: true,
    adapters: true,
    signal: true,
    onProgress: true,
  },
  MODEL_ELSEWHERE,
);

/** Options of embed() with every value checked. Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readEmbedOptions(options: EmbedOptions | undefined, size: number): EmbedOptions {
  const { pooling, normalize, dimensions, prompt, ...rest } = checkOptions(options, EMBED_OPTIONS);
  if (prompt !== undefined && prompt !== null && typeof prompt !== "string")
    fail("INVALID_ARGUMENT", "prompt", `must be the name of a prompt or null (got ${show(prompt)})`);
  return withoutUndefined({
    pooling: pooling === undefined ? undefined : POOLINGS[codeIn(POOLINGS, pooling, "pooling")],
    normalize: flag(normalize, "normalize"),
    dimensions: dimensions === undefined ? undefined : wholeNumber(dimensions, 1, size, "dimensions"),
    prompt,
    ...readRunOptions(rest),
  });
}

/** Options of rank() with every value checked. Throws INVALID_ARGUMENT, UNKNOWN_KEY. @internal */
export function readRankOptions(options: RankOptions | undefined): RankOptions {
  return readRunOptions(checkOptions(options, RANK_OPTIONS));
}

function readRunOptions({ truncate, adapters, signal, onProgress }: RankOptions): RankOptions {
  return withoutUndefined({
    truncate: flag(truncate, "truncate"),
    adapters, // readAdapters()
    signal: optionalSignal(signal),
    onProgress: optionalFunction(onProgress, "onProgress"),
  });
}

function flag(value: unknown, name: string): boolean | undefined {
  if (value !== undefined && typeof value !== "boolean")
    fail("INVALID_ARGUMENT", name, `must be true or false (got ${show(value)})`);
  return value;
}

function withoutUndefined<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}
