// Texts to search on, and the tokens of them that count.
import * as advise from "../../core/base/advice.js";
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";

/**
 * A text in pieces, in order. The tokens of `answer` pieces count, and the others are only read: answers should need what the text said long before.
 * A leading space belongs to the answer: `["… Where is the ball? It is in the", { answer: " garden" }, ". …"]`.
 */
export type SearchText = readonly (string | { readonly answer: string })[];

/** What makes tokens of a text: the tokenizer of a model, here or in a Worker. */
export interface SearchTokenizer {
  /** The tokens of a text. */
  encode(
    text: string,
    options?: { special?: boolean; parseSpecial?: boolean; maxLength?: number },
  ): Int32Array | Promise<Int32Array>;
}

/** A text in tokens. @internal */
export interface TokenText {
  readonly tokens: Int32Array;
  /** Indices of the tokens that count, ascending. */
  readonly counted: readonly number[];
}

/**
 * Checks texts and makes tokens of them. Control tokens in them are text.
 * @param field - name of the texts in errors
 * @throws RopewalkError INVALID_ARGUMENT
 * @internal
 */
export async function tokensOfTexts(
  tokenizer: SearchTokenizer,
  texts: readonly SearchText[],
  field: string,
  mostTokens: number,
): Promise<TokenText[]> {
  if (!Array.isArray(texts) || texts.length === 0)
    fail("INVALID_ARGUMENT", field, `must be a list with at least one text (got ${show(texts)})`);
  const all: TokenText[] = [];
  for (const [index, text] of texts.entries()) {
    const path = `${field}[${index}]`;
    const read = await tokensOfText(tokenizer, checkedPieces(text, path));
    if (read.counted.length === 0)
      fail(
        "INVALID_ARGUMENT",
        path,
        "has no answer that can be predicted",
        advise.other("add a piece { answer } after other text"),
      );
    if (read.tokens.length > mostTokens)
      fail("INVALID_ARGUMENT", path, `has ${read.tokens.length} tokens, more than the length ${mostTokens}`);
    all.push(read);
  }
  return all;
}

function checkedPieces(text: unknown, path: string): SearchText {
  if (!Array.isArray(text)) fail("INVALID_ARGUMENT", path, `must be a list of pieces (got ${show(text)})`);
  for (const [i, piece] of (text as unknown[]).entries()) {
    const words = isDict(piece) && Object.keys(piece).join() === "answer" ? piece["answer"] : piece;
    if (typeof words !== "string")
      fail("INVALID_ARGUMENT", `${path}[${i}]`, `must be a string or { answer: string } (got ${show(piece)})`);
  }
  return text as SearchText;
}

/**
 * The text is made into tokens as a whole, as a model reads it. An answer's tokens are those from where the tokens of the text before it end, so
 * that a token that contains the end of that text and the start of the answer counts.
 */
async function tokensOfText(tokenizer: SearchTokenizer, pieces: SearchText): Promise<TokenText> {
  const encode = async (text: string): Promise<Int32Array> => tokenizer.encode(text, { parseSpecial: false });
  const tokens = await encode(pieces.map(wordsOf).join(""));
  const counted = new Set<number>();
  let before = "";
  for (const piece of pieces) {
    const begun = before;
    before += wordsOf(piece);
    if (typeof piece === "string" || piece.answer === "") continue;
    const first = commonTokens(await encode(begun), tokens);
    const end = Math.max(first + 1, commonTokens(await encode(before), tokens));
    for (let at = Math.max(1, first); at < Math.min(end, tokens.length); at++) counted.add(at);
  }
  return { tokens, counted: [...counted].sort((a, b) => a - b) };
}

const wordsOf = (piece: SearchText[number]): string => (typeof piece === "string" ? piece : piece.answer);

/** Number of tokens at the beginning that both have. */
function commonTokens(a: Int32Array, b: Int32Array): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}
