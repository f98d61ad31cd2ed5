// Byte-pair encoding of a tokenizer.json, by `@huggingface/tokenizers`.
import type { Dict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { messageOf } from "../base/show.js";
import { limitPatterns } from "./pattern/limit_patterns.js";
import type { Steps } from "./pattern/matcher.js";
import { UnknownSyntax } from "./pattern/parse.js";
import type { TextModel } from "./text_model.js";
import type { Vocabulary } from "./vocabulary.js";

/** The parts of the `Tokenizer` class of `@huggingface/tokenizers` that this file uses. */
interface LibraryTokenizer {
  /** Splits words into pieces. */
  model: ((words: string[]) => string[]) & { unk_token_id?: number };
  normalizer: ((text: string) => string) | null;
  /** Splits text into words. `section_index` is 0 for the start of the text. */
  pre_tokenizer: ((text: string, options: { section_index: number }) => string[]) | null;
}
type LibraryClass = new (json: object, config: object) => LibraryTokenizer;

/** The model of a tokenizer.json. @throws INVALID_FILE, UNSUPPORTED_MODEL (tokenizer.json) */
export async function libraryModel(json: Dict, vocabulary: Vocabulary, steps: Steps): Promise<TextModel> {
  const library = (await import("@huggingface/tokenizers")) as unknown as { Tokenizer: LibraryClass };
  const tokenizer = construct(limited(library.Tokenizer, steps), json);
  return {
    normalize: (text) => tokenizer.normalizer?.(text) ?? text,
    encode(text, isFirst) {
      const words = tokenizer.pre_tokenizer?.(text, { section_index: isFirst ? 0 : 1 }) ?? [text];
      // nothing for a piece without a token if there is no unknown token
      return tokenizer.model(words).flatMap((piece) => vocabulary.idOf(piece) ?? tokenizer.model.unk_token_id ?? []);
    },
  };
}

/** The library's class with limits on the patterns of the file. Its constructor normalizes added tokens, so they are set before. */
function limited(Library: LibraryClass, steps: Steps): LibraryClass {
  class Limited extends Library {}
  for (const name of ["normalizer", "pre_tokenizer"] as const) {
    Object.defineProperty(Limited.prototype, name, {
      set(this: LibraryTokenizer, component: unknown) {
        Object.defineProperty(this, name, { value: limitPatterns(component, steps), writable: true });
      },
    });
  }
  return Limited;
}

function construct(Library: LibraryClass, json: Dict): LibraryTokenizer {
  // old files leave out keys whose value is null or empty
  const complete = {
    normalizer: null,
    pre_tokenizer: null,
    decoder: null,
    added_tokens: [],
    ...json,
    post_processor: null,
  };
  try {
    return new Library(complete, {});
  } catch (error) {
    const reason = messageOf(error);
    const isUnknown = /^Unknown /.test(reason) || error instanceof UnknownSyntax;
    fail(
      isUnknown ? "UNSUPPORTED_MODEL" : "INVALID_FILE",
      "tokenizer.json",
      isUnknown
        ? `has a component that is not supported with byte-pair encoding: ${reason}`
        : `cannot be parsed: ${reason}`,
      { cause: error },
    );
  }
}
