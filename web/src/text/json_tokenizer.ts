import { RopewalkError } from "../base/errors.js";
import { isObject, readVocabulary, refuse, type Json } from "./json_vocabulary.js";
import { endTokensOf } from "./special_tokens.js";
import type { Vocabulary } from "./vocabulary.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";

/** What we use of the class that `@huggingface/tokenizers` exports. */
interface LibraryTokenizer {
  /** Pieces from words: vocabulary, merges and a cache. */
  model: unknown;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
}
type LibraryClass = new (json: object, config: object) => LibraryTokenizer;

/** Encodes with `@huggingface/tokenizers`, and decodes with our own vocabulary, which can stream. See tokenizerFromJson. */
export async function readJsonTokenizer(
  tokenizerJson: object,
  config: object,
  generationConfig: object,
): Promise<Tokenizer> {
  if (!isObject(tokenizerJson)) refuse("", "must be an object");
  if (!isObject(config) || !isObject(generationConfig)) {
    throw new RopewalkError(
      "INVALID_FILE",
      "tokenizer_config.json",
      "must be an object, as generation_config.json must",
    );
  }
  const vocabulary = readVocabulary(tokenizerJson);
  const library = (await import("@huggingface/tokenizers")) as unknown as { Tokenizer: LibraryClass };
  const whole = construct(library.Tokenizer, tokenizerJson);
  let plain: LibraryTokenizer | undefined;
  const encode = (text: string, special: boolean, parseSpecial: boolean): number[] => {
    if (!parseSpecial) plain ??= withoutSpecial(library.Tokenizer, tokenizerJson, whole.model);
    const { ids } = (parseSpecial ? whole : plain!).encode(text, { add_special_tokens: special });
    // characters without a token in a vocabulary without an unknown token
    return ids.filter((id) => id !== undefined);
  };

  const begin = namedToken(vocabulary, config["bos_token"]) ?? idsOf(vocabulary, generationConfig, "bos_token_id")[0];
  const end = namedToken(vocabulary, config["eos_token"]);
  const ends = idsOf(vocabulary, generationConfig, "eos_token_id");
  return new VocabularyTokenizer(vocabulary, {
    beginToken: begin,
    endTokens: endTokensOf(vocabulary, end === undefined ? ends : [end, ...ends]),
    // what stands around a text is said in tokenizer.json alone: transformers 5 does not ask add_bos_token either
    addsBegin: begin !== undefined && encode("", true, true)[0] === begin,
    encode,
  });
}

function construct(Library: LibraryClass, json: Json): LibraryTokenizer {
  // old files lack keys that stand for nothing
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
    const reason = error instanceof Error ? error.message : String(error);
    const isUnknown = /^Unknown /.test(reason);
    throw new RopewalkError(
      isUnknown ? "UNSUPPORTED_MODEL" : "INVALID_FILE",
      "tokenizer.json",
      isUnknown ? `has a part that @huggingface/tokenizers does not know: ${reason}` : `could not be read: ${reason}`,
      { cause: error },
    );
  }
}

/** A tokenizer to which special tokens written in a text are text; the model, by far the largest part, is shared. */
function withoutSpecial(Library: LibraryClass, json: Json, model: unknown): LibraryTokenizer {
  const tokens = (json["added_tokens"] ?? []) as Json[];
  const small = { type: "BPE", vocab: {}, merges: [] };
  const tokenizer = construct(Library, {
    ...json,
    model: small,
    added_tokens: tokens.filter((token) => token["special"] !== true),
  });
  tokenizer.model = model;
  return tokenizer;
}

/** tokenizer_config.json writes a token as a string or as an object. */
function namedToken(vocabulary: Vocabulary, token: unknown): number | undefined {
  const content = isObject(token) ? token["content"] : token;
  return typeof content === "string" ? vocabulary.idOf(content) : undefined;
}

/** One id, an array of them, or none. */
function idsOf(vocabulary: Vocabulary, config: Json, key: string): number[] {
  const value = config[key] ?? [];
  const ids: unknown[] = Array.isArray(value) ? value : [value];
  const wrong = ids.find((id) => !Number.isInteger(id) || vocabulary.pieces[id as number] === undefined);
  if (wrong === undefined) return ids as number[];
  throw new RopewalkError(
    "INVALID_FILE",
    `generation_config.json ${key}`,
    `must be token ids of the vocabulary (got ${String(wrong)})`,
  );
}
