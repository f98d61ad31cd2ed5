// Decodes tokens to text one at a time.
import { trueOrFalse } from "../../core/base/checks.js";
import { checkOptions, optionNames, type OptionNames } from "../../core/base/options.js";

/** Options for decoding. */
export interface DecodeOptions {
  /** Leave out special tokens such as `<|im_end|>`. Default true. */
  skipSpecial?: boolean;
  /**
   * The tokens follow others, so a space before the first word is part of the text and not added by `encode`. Default false.
   * Only matters for vocabularies that add such a space (Llama 2, Mistral 7B, Phi-3) or leave it out (BERT).
   */
  continues?: boolean;
  /** Mark the text of special tokens, whatever `skipSpecial` says: see control_text.ts. Default false. @internal */
  marksSpecial?: boolean;
}

const namesIn = (call: string): OptionNames =>
  optionNames<DecodeOptions>(call, { skipSpecial: true, continues: true, marksSpecial: true });

/** The calls that decode. */
export type DecodingCall = "decode()" | "stream()";

const DECODE_OPTIONS: Readonly<Record<DecodingCall, OptionNames>> = {
  "decode()": namesIn("decode()"),
  "stream()": namesIn("stream()"),
};

/** Options with their defaults. @throws INVALID_ARGUMENT, UNKNOWN_KEY */
export function readDecodeOptions(options: DecodeOptions | undefined, call: DecodingCall): Required<DecodeOptions> {
  const { skipSpecial = true, continues = false, marksSpecial = false } = checkOptions(options, DECODE_OPTIONS[call]);
  return {
    skipSpecial: trueOrFalse(skipSpecial, "skipSpecial") || marksSpecial,
    continues: trueOrFalse(continues, "continues"),
    marksSpecial: trueOrFalse(marksSpecial, "marksSpecial"),
  };
}

/**
 * Decodes tokens one at a time. The results of `push` and `end` concatenate to what `decode` returns for the same tokens, except for a row of
 * byte tokens (`<0xE7>`) of a tokenizer.json that isn't UTF-8: `decode` writes U+FFFD for each, as Hugging Face's tokenizers do, and a stream
 * only for those after the characters that it has returned.
 */
export interface TokenStream {
  /**
   * Adds a token and returns the text that it completes: whole characters, or "" if a character is still incomplete.
   *
   * @throws INVALID_ARGUMENT (tokens): the vocabulary doesn't have the id
   */
  push(token: number): string;
  /** Ends the text and resets the stream. Returns U+FFFD for an incomplete character, and else what was held back, mostly "". */
  end(): string;
}

/** The texts of tokens. */
export interface TokenTexts {
  /** @throws INVALID_ARGUMENT, UNKNOWN_KEY */
  stream(options: DecodeOptions | undefined, call: DecodingCall): TokenStream;
  /** The UTF-8 bytes that a token adds to a text, which may be only part of a character. */
  bytesOf(id: number): Uint8Array;
}
