// The texts that callers pass to embed() and rank(), as token ids.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { listOf, tokenIds } from "../../../core/base/lists.js";
import { isArray } from "../../../core/base/typed_arrays.js";
import type { EncodingLimit } from "../../text/encoding_steps.js";
import type { LimitedInput } from "../../text/vocabulary_tokenizer.js";
import type { EmbeddingPlan } from "../plan/embedding_plan.js";
import type { TextReader } from "../run/text_reader.js";
import type { TextTokens } from "./whole_texts.js";

/** A text, or its token ids with the special tokens that the model expects. */
export type TextInput = string | Iterable<number>;

/** Whether an argument is a list of texts, and not one text. @internal */
export function isList(given: unknown): given is readonly TextInput[] {
  return isArray(given) && (given.length === 0 || typeof given[0] === "string" || typeof given[0] === "object");
}

/** How texts are read. @internal */
export interface TextReading {
  readonly reader: TextReader;
  readonly limit: EncodingLimit;
  readonly vocabularySize: number;
}

/** @internal */
export async function textTokens(
  { reader, limit, vocabularySize }: TextReading,
  given: TextInput,
  prompt: string,
  field: string,
): Promise<TextTokens> {
  if (typeof given === "string") {
    const read = await reader.text(prompt + given, undefined, limit);
    return { tokens: read.ids, ...leastOf(read) };
  }
  await reader.pause();
  if (isDict(given) && "content" in given)
    fail("INVALID_ARGUMENT", field, "must be text or token ids", advise.code("of a chat message, pass its content"));
  return { tokens: tokenIds(given, vocabularySize, field) };
}

const leastOf = ({ isWhole, least }: Pick<LimitedInput, "isWhole" | "least">): Pick<TextTokens, "least"> =>
  isWhole ? {} : { least };

/**
 * The text of the prompt that the options name.
 * @throws {@link RopewalkError} INVALID_ARGUMENT (there is none of that name).
 * @internal
 */
export function promptText({ prompts, defaultPrompt }: EmbeddingPlan, name: string | null | undefined): string {
  const used = name === undefined ? defaultPrompt : name;
  if (used === undefined || used === null) return "";
  if (Object.hasOwn(prompts, used)) return prompts[used]!;
  const known = Object.keys(prompts);
  const got = `(got ${JSON.stringify(used)})`;
  if (known.length > 0) return fail("INVALID_ARGUMENT", "prompt", `must be one of ${known.join(", ")} ${got}`);
  return fail("INVALID_ARGUMENT", "prompt", `the model has none ${got}`, advise.other("write it before the text"));
}

/**
 * The query of rank(), checked before any document is.
 * @throws {@link RopewalkError} INVALID_ARGUMENT.
 * @internal
 */
export function queryInput(given: unknown, vocabularySize: number): string | Int32Array {
  if (typeof given === "string") return given;
  const tokens = tokenIds(given, vocabularySize, "query");
  return tokens.length > 0
    ? tokens
    : fail("INVALID_ARGUMENT", "query", "has no tokens", advise.prompt({ as: "tokens" }));
}

/**
 * A query and a document as one text. Of two lists of token ids, the second continues the first.
 * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (no tokenizer).
 * @internal
 */
export async function pairTokens(
  { reader, limit, vocabularySize }: TextReading,
  query: string | Int32Array,
  document: TextInput,
  tokenTypes: number,
  field: string,
): Promise<TextTokens> {
  if (typeof query === "string" && typeof document === "string") {
    const read = await reader.pair(query, document, limit);
    return { ...typed(read.ids, read.typeIds, tokenTypes), ...leastOf(read) };
  }
  await reader.pause();
  if (typeof query === "string" || typeof document === "string")
    return fail(
      "INVALID_ARGUMENT",
      field,
      typeof query === "string" ? "must be text, as the query is" : "must be token ids, as the query is",
    );
  const [first, second] = [query, tokenIds(document, vocabularySize, field)];
  const tokens = new Int32Array(first.length + second.length);
  tokens.set(first);
  tokens.set(second, first.length);
  return typed(
    tokens,
    tokens.map((_, index) => (index < first.length ? 0 : 1)),
    tokenTypes,
  );
}

/** Models with one type of tokens give it to both texts. */
function typed(tokens: Int32Array, types: Int32Array, tokenTypes: number): TextTokens {
  return tokenTypes > 1 ? { tokens, types } : { tokens };
}

/** @internal */
export function textList(given: unknown, field: string): readonly TextInput[] {
  return listOf(given, field, "a list of texts, or of lists of token ids") as readonly TextInput[];
}
