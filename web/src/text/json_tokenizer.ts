// Builds a tokenizer from tokenizer.json with `@huggingface/tokenizers`.
import { type Dict, isDict } from "../base/dict.js";
import { messageOf, show } from "../base/show.js";
import { fail } from "../base/errors.js";
import { isArray } from "../base/typed_arrays.js";
import { JsonAddedTokens } from "./json_added_tokens.js";
import { readVocabulary, invalid } from "./json_vocabulary.js";
import { limitPatterns, stepsFor } from "./pattern/limit_patterns.js";
import { type Steps, TooManySteps } from "./pattern/matcher.js";
import { UnknownSyntax } from "./pattern/parse.js";
import { checkComponents } from "./json_components.js";
import { endTokensOf, LONGEST_ADDED_TOKEN } from "./special_tokens.js";
import type { Vocabulary } from "./vocabulary.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";

/** The parts of the `Tokenizer` class of `@huggingface/tokenizers` that this file uses. */
interface LibraryTokenizer {
  /** Splits words into pieces. */
  model(words: string[]): string[];
  normalizer: ((text: string) => string) | null;
  /** Splits text into words. `section_index` is 0 for the start of the text. */
  pre_tokenizer: ((text: string, options: { section_index: number }) => string[]) | null;
  /** The pieces of a text; null for null. `encode` calls it for the text, and for a second one that there isn't. */
  encode_text(text: string | null): string[] | null;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
}
type LibraryClass = new (json: object, config: object) => LibraryTokenizer;

/** Encodes with `@huggingface/tokenizers`, and decodes with our own Vocabulary, which supports streaming. See tokenizerFromJson. */
export async function readJsonTokenizer(
  tokenizerJson: object,
  config: object,
  generationConfig: object,
): Promise<Tokenizer> {
  if (!isDict(tokenizerJson)) invalid("", "must be an object");
  if (!isDict(config) || !isDict(generationConfig)) {
    fail("INVALID_FILE", "tokenizer_config.json", "must be an object, and generation_config.json too");
  }
  const vocabulary = readVocabulary(tokenizerJson);
  const library = (await import("@huggingface/tokenizers")) as unknown as { Tokenizer: LibraryClass };
  checkComponents(tokenizerJson);
  const steps = stepsFor(LONGEST_ADDED_TOKEN);
  const tokenizer = construct(limited(library.Tokenizer, steps), tokenizerJson);
  const added = new JsonAddedTokens(
    (tokenizerJson["added_tokens"] ?? []) as unknown[],
    (text) => tokenizer.normalizer?.(text) ?? text,
  );
  for (const [id, text] of added.normalizedTexts) vocabulary.setNormalized(id, text);
  const encode = (text: string, special: boolean, parseSpecial: boolean): number[] => {
    Object.assign(steps, stepsFor(text.length));
    tokenizer.encode_text = (whole) => (whole === null ? null : piecesOf(tokenizer, added, whole, parseSpecial));
    const { ids } = encodeWith(tokenizer, text, special);
    // the library returns undefined for a character without a token if there is no unknown token
    return ids.filter((id) => id !== undefined);
  };

  const begin = namedToken(vocabulary, config["bos_token"]) ?? idsOf(vocabulary, generationConfig, "bos_token_id")[0];
  const end = namedToken(vocabulary, config["eos_token"]);
  const ends = idsOf(vocabulary, generationConfig, "eos_token_id");
  return new VocabularyTokenizer(vocabulary, {
    beginToken: begin,
    endTokens: endTokensOf(vocabulary, end === undefined ? ends : [end, ...ends]),
    // only tokenizer.json says which tokens are added; transformers 5 ignores add_bos_token too
    addsBegin: begin !== undefined && encode("", true, true)[0] === begin,
    beginsChats: false,
    encode,
  });
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
    post_processor: null,
    decoder: null,
    added_tokens: [],
    ...json,
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
        ? `uses a component that @huggingface/tokenizers does not support: ${reason}`
        : `cannot be parsed: ${reason}`,
      { cause: error },
    );
  }
}

/** Encodes a text. A word that is too long for the engine is the text's fault, anything else the file's. */
function encodeWith(tokenizer: LibraryTokenizer, text: string, special: boolean): { ids: (number | undefined)[] } {
  try {
    return tokenizer.encode(text, { add_special_tokens: special });
  } catch (error) {
    if (error instanceof RangeError) throw error;
    const reason = messageOf(error);
    const advice = error instanceof TooManySteps ? "; its patterns or normalizers are made to take long" : "";
    fail("INVALID_FILE", "tokenizer.json", `cannot encode this text: ${reason.slice(0, 200)}${advice}`, {
      cause: error,
    });
  }
}

/** The pieces of a text. The library's own method finds added tokens in another order, and has other whitespace. */
function piecesOf(tokenizer: LibraryTokenizer, added: JsonAddedTokens, text: string, parseSpecial: boolean): string[] {
  return added.split(text, parseSpecial).flatMap((part) => {
    if (part.isToken) return [part.text];
    const words = tokenizer.pre_tokenizer?.(part.text, { section_index: part.isFirst ? 0 : 1 }) ?? [part.text];
    return tokenizer.model(words);
  });
}

/** The id of a token in tokenizer_config.json, where it is a string or an object. */
function namedToken(vocabulary: Vocabulary, token: unknown): number | undefined {
  const content = isDict(token) ? token["content"] : token;
  return typeof content === "string" ? vocabulary.idOf(content) : undefined;
}

/** Reads a key of generation_config.json: one id, an array of ids, or none. */
function idsOf(vocabulary: Vocabulary, config: Dict, key: string): number[] {
  const value = config[key] ?? [];
  const ids = isArray(value) ? value : [value];
  const wrong = ids.find((id) => !Number.isInteger(id) || vocabulary.pieces[id as number] === undefined);
  if (wrong === undefined) return ids as number[];
  fail(
    "INVALID_FILE",
    `generation_config.json ${key}`,
    `must be one or more token ids of the vocabulary (got ${show(wrong)})`,
  );
}
