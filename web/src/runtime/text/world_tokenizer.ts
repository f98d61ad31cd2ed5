// Builds a tokenizer from the vocabulary of RWKV World.
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";
import { idsIn, type Warn } from "./named_tokens.js";
import { partSteps } from "./encoding_steps.js";
import { PieceTexts } from "./piece_texts.js";
import { AddedTokens, endTokensOf } from "./special_tokens.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";
import { readWorldVocabulary, WORLD_FILE, WORLD_FORMAT, worldEncoder } from "./world_vocabulary.js";

/**
 * The ids are those of the package `rwkv`. Id 0 ends a text, and nothing is added to one.
 *
 * @throws INVALID_FILE (the file or a part of it)
 */
export function readWorldTokenizer(text: unknown, config: object, generationConfig: object, warn?: Warn): Tokenizer {
  const refuse = (message: string): never => fail("INVALID_FILE", WORLD_FILE, message);
  if (typeof text !== "string") refuse(`must be the text of the file (got ${show(text)})`);
  if (!isDict(config) || !isDict(generationConfig))
    fail("INVALID_FILE", "tokenizer_config.json", "must be an object, and generation_config.json too");
  const vocabulary = readWorldVocabulary(text as string);
  const encodeText = worldEncoder(vocabulary, refuse);
  const added = new AddedTokens(vocabulary, new Set());
  const single = [{ text: 0, type: 0 } as const];
  return new VocabularyTokenizer(vocabulary, new PieceTexts(vocabulary, WORLD_FORMAT), {
    beginToken: 0,
    endTokens: endTokensOf(vocabulary, [0, ...idsIn(vocabulary, generationConfig, "eos_token_id", warn)]),
    addsBegin: false,
    beginsChats: false,
    templates: { single, pair: [...single, { text: 1, type: 0 }] },
    keepsEnd: config["truncation_side"] === "left",
    encode: (whole, parseSpecial) => partSteps(added.split(whole, parseSpecial), encodeText),
  });
}
