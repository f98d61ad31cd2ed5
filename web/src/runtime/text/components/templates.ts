// Special tokens around one text or two, token types, and the truncation of texts to what fits between them.
import * as advise from "../../../core/base/advice.js";
import { wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";

/** A part of an input: special tokens, or one of the texts. All of its tokens have the same type. */
export type TemplatePart =
  { readonly ids: readonly number[]; readonly type: number } | { readonly text: 0 | 1; readonly type: number };

/** The inputs of a model: for one text, and for a pair of texts. */
export interface Templates {
  readonly single: readonly TemplatePart[];
  /** May leave out a text, in files of models that read no pairs. */
  readonly pair: readonly TemplatePart[];
}

/** A tokenized input. */
export interface TypedTokens {
  readonly ids: Int32Array;
  readonly typeIds: Int32Array;
}

/** The largest number of tokens of an input. */
const MAX_TOKENS = 2 ** 31 - 1;

/** How an input is made of its texts. */
export interface Assembly {
  /** Whether to add the special tokens. */
  readonly special: boolean;
  /** Tokens that the input may have, special ones included. */
  readonly maxLength: number | undefined;
  /** Whether tokens are left out at the start of a text and not at its end. */
  readonly keepsEnd: boolean;
}

/**
 * Makes an input of the tokens of one text or two.
 *
 * @throws INVALID_ARGUMENT (maxLength): it isn't a number of tokens, or smaller than that of the special ones
 * @throws UNSUPPORTED_MODEL (tokenizer.json post_processor): the template for a pair leaves out a text
 */
export function assemble(
  { single, pair }: Templates,
  texts: readonly ArrayLike<number>[],
  { special, maxLength, keepsEnd }: Assembly,
): TypedTokens {
  const template = texts.length === 1 ? single : pair;
  const lost = texts.findIndex((_, text) => !template.some((part) => "text" in part && part.text === text));
  if (lost >= 0) refuseLost(lost);
  const parts = template.filter((part) => special || "text" in part);
  const added = parts.reduce((sum, part) => sum + ("ids" in part ? part.ids.length : 0), 0);
  const why = added === 0 ? "" : `, as there are ${added} special tokens`;
  const room = maxLength === undefined ? Infinity : wholeNumber(maxLength, added, MAX_TOKENS, "maxLength", why) - added;
  const lengths = lengthsIn(
    room,
    texts.map((text) => text.length),
  );
  const pieces = parts.map((part) => {
    if ("ids" in part) return part.ids;
    const text = Array.prototype.slice.call(texts[part.text]!) as number[];
    const length = lengths[part.text]!;
    return keepsEnd ? text.slice(text.length - length) : text.slice(0, length);
  });
  const ids = Int32Array.from(pieces.flat());
  const typeIds = new Int32Array(ids.length);
  let at = 0;
  pieces.forEach((piece, i) => typeIds.fill(parts[i]!.type, at, (at += piece.length)));
  return { ids, typeIds };
}

function refuseLost(text: number): never {
  const which = text === 0 ? "first" : "second";
  const problem = `its template "pair" leaves out the ${which} text`;
  const advised = advise.other('encode texts one by one, or write the sequences A and B into "pair"');
  fail("UNSUPPORTED_MODEL", "tokenizer.json post_processor", problem, advised);
}

/**
 * The lengths to which texts are truncated. Of two, the longer one is truncated first, and then both are about as long: the strategy
 * "longest first" of transformers' fast tokenizers.
 */
function lengthsIn(room: number, lengths: readonly number[]): readonly number[] {
  const [first, second] = lengths as [number, number?];
  if (second === undefined) return [Math.min(room, first)];
  if (first + second <= room) return lengths;
  const shorter = Math.min(first, second);
  const half = Math.floor(room / 2);
  const kept: [number, number] = shorter <= half ? [shorter, room - shorter] : [half, room - half];
  return first > second ? [kept[1], kept[0]] : kept;
}
