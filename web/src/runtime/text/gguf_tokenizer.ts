// Builds a tokenizer from the metadata of a GGUF file.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import type { TemplatePart, Templates } from "./components/templates.js";
import { unigramTextEncoder, wordPieceTextEncoder } from "./gguf_encoders.js";
import {
  booleanOf,
  numbersOf,
  readVocabulary,
  invalid,
  stringOf,
  stringsOf,
  tokenOf,
  type GgufMetadata,
} from "./gguf_vocabulary.js";
import { rankedEncoder, sentencePieceEncoder } from "./piece_encoder.js";
import { preTokenizerOf } from "./pre_tokenizers.js";
import { AddedTokens, endTokensOf, trimmingTokens } from "./special_tokens.js";
import { type PieceFormat, PieceTexts } from "./piece_texts.js";
import type { Vocabulary } from "./vocabulary.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";
import { partSteps, type TextEncoding } from "./encoding_steps.js";
import { readWorldMetadata, WORLD_FORMAT, worldEncoder } from "./world_vocabulary.js";

/** Values of `tokenizer.ggml.model` in files whose model reads no text. */
export const NO_TOKENIZER: readonly string[] = ["none", "no_vocab"];

const USE_JSON = "use the model's tokenizer.json if there is one";

/** How each value of `tokenizer.ggml.model` is read. */
const READERS: Readonly<Record<string, (metadata: GgufMetadata) => Tokenizer>> = {
  gpt2: (metadata) => rankedTokenizer(metadata, stringOf(metadata, "tokenizer.ggml.pre") ?? "default"),
  gemma4: (metadata) => rankedTokenizer(metadata, "gemma4"),
  llama: sentencePieceTokenizer,
  t5: unigramTokenizer,
  bert: wordPieceTokenizer,
  rwkv: worldTokenizer,
};

/** The values of `tokenizer.ggml.model` that this package knows. @internal */
export const GGUF_TOKENIZERS: readonly string[] = /* @__PURE__ */ Object.keys(READERS).concat(NO_TOKENIZER);

/**
 * The tokenizer in the metadata of a GGUF file: `tokenizer.ggml.model` "gpt2" (byte-level BPE), "gemma4" (BPE of characters), "llama"
 * (SentencePiece BPE), "t5" (SentencePiece Unigram), "bert" (WordPiece) or "rwkv" (the longest token). Produces the same ids as llama.cpp,
 * and for "bert" and "rwkv" those of the model's own tokenizer.
 *
 * @throws UNSUPPORTED_MODEL (tokenizer.ggml.model, tokenizer.ggml.pre), INVALID_FILE (the invalid key)
 */
export function readGgufTokenizer(metadata: GgufMetadata): Tokenizer {
  const model = stringOf(metadata, "tokenizer.ggml.model");
  if (model === undefined) invalid("tokenizer.ggml.model", "is missing, so the file has no tokenizer");
  if (Object.hasOwn(READERS, model)) return READERS[model]!(metadata);
  if (NO_TOKENIZER.includes(model)) {
    const advice = advise.either(advise.prompt({ as: "token ids" }), advise.load({ option: "tokenizer" }));
    fail("UNSUPPORTED_MODEL", "tokenizer.ggml.model", `is "${model}": the file has no tokenizer`, advice);
  }
  fail(
    "UNSUPPORTED_MODEL",
    "tokenizer.ggml.model",
    `must be one of ${Object.keys(READERS).join(", ")} (got "${model}")`,
    advise.other(USE_JSON),
  );
}

/** A key that changes a text's ids, and that this package reads only where it changes nothing. */
function mustBe(metadata: GgufMetadata, key: string, harmless: string | boolean): void {
  const { [key]: value = harmless } = metadata;
  if (value !== harmless)
    fail("UNSUPPORTED_MODEL", key, `must be ${harmless} (got ${show(value)})`, advise.other(USE_JSON));
}

/** Byte-pair encoding by ranks, of GPT-2's characters for bytes or, in Gemma 4 and a few others, of the text's own characters. */
function rankedTokenizer(metadata: GgufMetadata, name: string): Tokenizer {
  const pre = preTokenizerOf(name);
  mustBe(metadata, "tokenizer.ggml.metaspace.prepend_scheme", "never");
  const format: PieceFormat = { encoding: pre.ofCharacters ? "metaspace" : "byte_level", spacePrefix: "never" };
  const vocabulary = readVocabulary(metadata);
  const encoder = rankedEncoder(vocabulary, readMerges(metadata, name), pre);
  // llama.cpp adds the begin token of Gemma 4 even if the file says otherwise
  const always = pre.ofCharacters && pre.addsBegin;
  return tokenizer(
    always ? { ...metadata, "tokenizer.ggml.add_bos_token": true } : metadata,
    new PieceTexts(vocabulary, format),
    encoder,
    pre.addsBegin,
  );
}

function sentencePieceTokenizer(metadata: GgufMetadata): Tokenizer {
  const addsSpace = booleanOf(metadata, "tokenizer.ggml.add_space_prefix") ?? true;
  const format: PieceFormat = { encoding: "metaspace", spacePrefix: addsSpace ? "after_special" : "never" };
  const vocabulary = readVocabulary(metadata);
  const key = "tokenizer.ggml.scores";
  const scores = numbersOf(metadata, key, vocabulary.size) ?? invalid(key, "is missing");
  return tokenizer(metadata, new PieceTexts(vocabulary, format), sentencePieceEncoder(vocabulary, scores), true);
}

/**
 * Reads merges "left right". As in llama.cpp, they may name pieces that aren't tokens, and one without a space merges nothing. A Kimi-K2
 * file may have none.
 */
function readMerges(metadata: GgufMetadata, pre: string): readonly string[] {
  const key = "tokenizer.ggml.merges";
  return pre === "kimi-k2" && metadata[key] === undefined ? [] : stringsOf(metadata, key);
}

/** Unigram. The default ids are those of T5. */
function unigramTokenizer(metadata: GgufMetadata): Tokenizer {
  mustBe(metadata, "tokenizer.ggml.normalizer.nfc", false);
  const addsSpace = booleanOf(metadata, "tokenizer.ggml.add_space_prefix") ?? false;
  const vocabulary = readVocabulary(metadata);
  const format: PieceFormat = { encoding: "metaspace", spacePrefix: addsSpace ? "first" : "never" };
  const unknown = namedToken(metadata, "unknown", vocabulary) ?? requireId(2, "unknown", vocabulary);
  const end = namedToken(metadata, "eos", vocabulary) ?? requireId(1, "eos", vocabulary);
  const encoder = unigramTextEncoder(metadata, vocabulary, unknown);
  const defaults = { "tokenizer.ggml.eos_token_id": end, "tokenizer.ggml.add_eos_token": true };
  return tokenizer({ ...defaults, ...metadata }, new PieceTexts(vocabulary, format), encoder, false, false);
}

/** WordPiece. The default ids are those of BERT. */
function wordPieceTokenizer(metadata: GgufMetadata): Tokenizer {
  const vocabulary = readVocabulary(metadata);
  const id = (name: string, otherwise: number) =>
    namedToken(metadata, name, vocabulary) ?? requireId(otherwise, name, vocabulary);
  const begin = namedToken(metadata, "bos", vocabulary) ?? id("cls", 101);
  const separator = id("seperator", 102);
  const end = namedToken(metadata, "eos", vocabulary);
  const around = (text: 0 | 1, before: readonly number[]): TemplatePart[] => [
    { ids: before, type: text },
    { text, type: text },
    { ids: [separator], type: text },
  ];
  const single = around(0, [begin]);
  const encodeText = wordPieceTextEncoder(metadata, vocabulary, id("unknown", 100));
  const texts = new PieceTexts(vocabulary, { encoding: "word_piece", spacePrefix: "never" });
  return tokenizerOf(metadata, texts, encodeText, {
    begin,
    ends: end === undefined ? [] : [end],
    addsBegin: true,
    templates: { single, pair: [...single, ...around(1, [])] },
  });
}

/** RWKV World. */
function worldTokenizer(metadata: GgufMetadata): Tokenizer {
  const vocabulary = readWorldMetadata(metadata);
  const encodeText = worldEncoder(vocabulary, (message) => invalid("tokenizer.ggml.tokens", message));
  return tokenizer(metadata, new PieceTexts(vocabulary, WORLD_FORMAT), encodeText, false);
}

function namedToken(metadata: GgufMetadata, name: string, { size }: Vocabulary): number | undefined {
  return tokenOf(metadata, `tokenizer.ggml.${name}_token_id`, size);
}

function requireId(id: number, name: string, { size }: Vocabulary): number {
  return id < size ? id : invalid(`tokenizer.ggml.${name}_token_id`, `is missing, and its default ${id} is no token`);
}

function tokenizer(
  metadata: GgufMetadata,
  texts: PieceTexts,
  encodeText: TextEncoding,
  addsBeginByDefault: boolean,
  hasDefaultIds = texts.format.encoding === "metaspace",
): Tokenizer {
  const { vocabulary } = texts;
  const { size } = vocabulary;
  const tokenFor = (name: string) => namedToken(metadata, name, vocabulary);
  // SentencePiece's default ids, which early Llama files leave out
  const defaultId = (id: number) => (hasDefaultIds && id < size ? id : undefined);
  const begin = tokenFor("bos") ?? defaultId(1);
  const end = tokenFor("eos") ?? defaultId(2);
  const addsBegin = booleanOf(metadata, "tokenizer.ggml.add_bos_token") ?? addsBeginByDefault;
  if (addsBegin && begin === undefined)
    invalid("tokenizer.ggml.bos_token_id", "is missing, although add_bos_token is true");
  const addsEnd = booleanOf(metadata, "tokenizer.ggml.add_eos_token") ?? false;
  const separator = tokenFor("seperator");
  const addsSeparator = booleanOf(metadata, "tokenizer.ggml.add_sep_token") ?? separator !== undefined;
  const ids = (id: number | undefined, isAdded: boolean) => ({ ids: isAdded && id !== undefined ? [id] : [], type: 0 });
  const single = [ids(begin, addsBegin), { text: 0, type: 0 } as const, ids(end, addsEnd)];
  return tokenizerOf(metadata, texts, encodeText, {
    begin,
    ends: [end, tokenFor("eot"), tokenFor("eom")].filter((id) => id !== undefined),
    addsBegin,
    templates: {
      single,
      pair: [...single, ids(separator, addsSeparator), { text: 1, type: 0 }, ids(end, addsEnd)],
    },
  });
}

interface SpecialTokens {
  begin: number | undefined;
  ends: readonly number[];
  addsBegin: boolean;
  templates: Templates;
}

function tokenizerOf(
  metadata: GgufMetadata,
  texts: PieceTexts,
  encodeText: TextEncoding,
  { begin, ends, addsBegin, templates }: SpecialTokens,
): Tokenizer {
  const { vocabulary } = texts;
  const added = new AddedTokens(vocabulary, trimmingTokens(vocabulary, stringOf(metadata, "general.name") ?? ""));
  const prefix = texts.format.spacePrefix === "after_special" ? " " : "";
  return new VocabularyTokenizer(vocabulary, texts, {
    beginToken: begin,
    endTokens: endTokensOf(vocabulary, ends),
    addsBegin,
    beginsChats: addsBegin,
    templates,
    keepsEnd: false,
    encode: (text, parseSpecial) => partSteps(added.split(text, parseSpecial), (part) => encodeText(prefix + part)),
  });
}
