// Tokens that a model's files ban from what it generates.
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { isArray } from "../../../core/base/typed_arrays.js";
import { fieldOf } from "../../files/errors.js";
import type { ModelFiles } from "../../files/model_files.js";

/** @internal */
export interface SuppressedTokens {
  /** Banned everywhere. */
  readonly always: readonly number[];
  /** Banned as the first token of a generation. */
  readonly first: readonly number[];
}

/** The keys of generation_config.json, as transformers applies them, and of GGUF, as llama.cpp's sampler does. */
const KEYS: Readonly<Record<keyof SuppressedTokens, readonly [config: string, gguf: string | undefined]>> = {
  always: ["suppress_tokens", "tokenizer.ggml.suppress_tokens"],
  first: ["begin_suppress_tokens", undefined],
};

/** Ids outside the vocabulary are left out, as there and there. @throws INVALID_FILE @internal */
export function suppressedTokens(
  { name, kind, metadata, generationConfig = {} }: Pick<ModelFiles, "name" | "kind" | "metadata" | "generationConfig">,
  vocabularySize: number,
): SuppressedTokens {
  const tokens = (list: keyof SuppressedTokens): readonly number[] => {
    const [config, gguf] = KEYS[list];
    const isGguf = kind === "gguf";
    const key = isGguf ? gguf : config;
    const given = key === undefined ? undefined : (isGguf ? metadata : generationConfig)[key];
    if (given === undefined || given === null) return [];
    const ids: readonly unknown[] | undefined = isArray(given) ? Array.from(given) : undefined;
    if (ids === undefined || !ids.every(Number.isInteger))
      return fail(
        "INVALID_FILE",
        fieldOf(isGguf ? name : "generation_config.json", key!),
        `must be a list of token ids (got ${show(given)})`,
      );
    return (ids as number[]).filter((id) => id >= 0 && id < vocabularySize);
  };
  return { always: tokens("always"), first: tokens("first") };
}

/**
 * A mask of the tokens that may be sampled, a bit for each, without some of them.
 * @param allowed - the mask before; undefined if all may be
 * @internal
 */
export function withoutTokens(
  allowed: Int32Array | undefined,
  tokens: readonly number[],
  vocabularySize: number,
): Int32Array | undefined {
  if (tokens.length === 0) return allowed;
  const mask = allowed?.slice() ?? new Int32Array(Math.ceil(vocabularySize / 32)).fill(-1);
  for (const token of tokens) mask[token >> 5]! &= ~(1 << (token & 31));
  return mask;
}
