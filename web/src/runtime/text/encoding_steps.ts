// Encoding in steps: between two of them a caller can let others run, stop for a signal, or stop because a text has too many tokens.

/** Tokens in their order, or the number of tokens that the next part of the text has at least, as far as that is known before it is encoded. */
export type EncodingStep = ArrayLike<number> | number;

/** The steps of a text. None takes long, however long the text is, but for the functions of the engine that normalize and split all of it. */
export type Encoding = Generator<EncodingStep, void, void>;

/** Encodes a text that contains no added tokens. */
export type TextEncoding = (text: string) => Encoding;

/** Encodes words. */
export interface WordEncoder {
  readonly encode: (word: string) => ArrayLike<number>;
  /** For words whose encoding takes long. Absent if it never does. */
  readonly steps?: (word: string) => Encoding;
}

/** UTF-16 code units of a word that is encoded in steps. */
const LONG_WORD = 8192;

/** Words and tokens of a step. */
const WORDS = 512;
const TOKENS = 4096;

/** Rounds of a loop over the characters of a word between two steps. */
export const ROUNDS = 32768;

/** Encodes words, several in each step. */
export function* wordSteps(words: Iterable<string>, { encode, steps }: WordEncoder): Encoding {
  let tokens: number[] = [];
  let count = 0;
  for (const word of words) {
    if (steps !== undefined && word.length > LONG_WORD) {
      yield tokens;
      tokens = [];
      yield* steps(word);
      continue;
    }
    const encoded = encode(word);
    for (let i = 0; i < encoded.length; i++) tokens.push(encoded[i]!);
    count += 1;
    if (count < WORDS && tokens.length < TOKENS) continue;
    yield tokens;
    tokens = [];
    count = 0;
  }
  yield tokens;
}

/** Encodes the parts of a text: ids of added tokens, and what is between them. */
export function* partSteps<Part>(parts: Iterable<number | Part>, encode: (part: Part) => Encoding): Encoding {
  let ids: number[] = [];
  for (const part of parts) {
    if (typeof part === "number") {
      ids.push(part);
      if (ids.length < TOKENS) continue;
    }
    yield ids;
    ids = [];
    if (typeof part !== "number") yield* encode(part);
  }
  yield ids;
}

/** All tokens. */
export function drained(encoding: Encoding): number[] {
  const tokens: number[] = [];
  for (const step of encoding) if (typeof step !== "number") append(tokens, step);
  return tokens;
}

/** When to stop before the end of a text. */
export interface EncodingLimit {
  /** Tokens that are wanted. */
  readonly tokens: number;
  /** Whether the first tokens are enough; otherwise no tokens are needed of a text that has far more. */
  readonly cuts: boolean;
}

/** Tokens of a text, all of them unless there was a limit. */
export interface LimitedTokens {
  readonly tokens: readonly number[];
  /** Tokens that the text has at least. */
  readonly least: number;
  readonly isWhole: boolean;
}

/** Texts with more tokens than this, and than four times the limit, aren't counted to their end: no error needs their number. */
const COUNTED = 65_536;
const FAR_OVER = 4;

/** Collects the tokens of a text up to a limit. */
export function* collected(encoding: Encoding, limit?: EncodingLimit): Generator<void, LimitedTokens, void> {
  const tokens: number[] = [];
  const most = limit === undefined ? Infinity : limit.cuts ? limit.tokens : Math.max(COUNTED, FAR_OVER * limit.tokens);
  for (const step of encoding) {
    const known = typeof step === "number" && limit?.cuts !== true ? step : 0;
    if (typeof step !== "number") append(tokens, step);
    const least = tokens.length + known;
    if (least > most) return { tokens, least, isWhole: false };
    yield;
  }
  return { tokens, least: tokens.length, isWhole: true };
}

function append(tokens: number[], more: ArrayLike<number>): void {
  for (let i = 0; i < more.length; i++) tokens.push(more[i]!);
}
