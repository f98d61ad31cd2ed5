// Builds a tokenizer from tokenizer.json.
import { type Dict, isDict } from "../base/dict.js";
import { messageOf } from "../base/show.js";
import { fail, RopewalkError } from "../base/errors.js";
import { componentKind, componentModel } from "./component_model.js";
import { invalid } from "./components/options.js";
import { readPostProcessor } from "./components/post_processor.js";
import { NoUnknownToken } from "./components/unigram.js";
import { checkComponents } from "./json_components.js";
import { JsonAddedTokens } from "./json_added_tokens.js";
import { readVocabulary } from "./json_vocabulary.js";
import { idsIn, namedToken, type Warn } from "./named_tokens.js";
import { libraryModel } from "./library_model.js";
import { stepsFor } from "./pattern/limit_patterns.js";
import { TooManySteps } from "./pattern/matcher.js";
import { endTokensOf, LONGEST_ADDED_TOKEN } from "./special_tokens.js";
import { VocabularyTokenizer, type Tokenizer } from "./vocabulary_tokenizer.js";

/**
 * Encodes byte-pair encoding with `@huggingface/tokenizers`, and WordPiece and Unigram with our own components. Decodes with our own
 * Vocabulary, which supports streaming. See tokenizerFromJson.
 */
export async function readJsonTokenizer(
  tokenizerJson: object,
  config: object,
  generationConfig: object,
  warn?: Warn,
): Promise<Tokenizer> {
  if (!isDict(tokenizerJson)) invalid("", "must be an object");
  if (!isDict(config) || !isDict(generationConfig)) {
    fail("INVALID_FILE", "tokenizer_config.json", "must be an object, and generation_config.json too");
  }
  const vocabulary = readVocabulary(tokenizerJson);
  checkComponents(tokenizerJson);
  const steps = stepsFor(LONGEST_ADDED_TOKEN);
  const kind = componentKind(tokenizerJson["model"] as Dict);
  const model =
    kind === undefined
      ? await libraryModel(tokenizerJson, vocabulary, steps)
      : componentModel(kind, tokenizerJson, steps);
  const added = limited("its added tokens", () => {
    return new JsonAddedTokens((tokenizerJson["added_tokens"] ?? []) as unknown[], (text) => model.normalize(text));
  });
  for (const [id, text] of added.normalizedTexts) vocabulary.setNormalized(id, text);
  const templates = readPostProcessor(
    tokenizerJson["post_processor"],
    (id): id is number => typeof id === "number" && vocabulary.pieces[id] !== undefined,
  );
  const encode = (text: string, parseSpecial: boolean): number[] => {
    Object.assign(steps, stepsFor(text.length));
    return limited("this text", () =>
      added
        .split(text, parseSpecial)
        .flatMap((part) => (part.isToken ? vocabulary.idOf(part.text)! : model.encode(part.text, part.isFirst))),
    );
  };

  const begin =
    namedToken(vocabulary, config["bos_token"]) ?? idsIn(vocabulary, generationConfig, "bos_token_id", warn)[0];
  const end = namedToken(vocabulary, config["eos_token"]);
  const ends = idsIn(vocabulary, generationConfig, "eos_token_id", warn);
  const [first] = templates.single;
  return new VocabularyTokenizer(vocabulary, {
    beginToken: begin,
    endTokens: endTokensOf(vocabulary, end === undefined ? ends : [end, ...ends]),
    // only tokenizer.json says which tokens are added; transformers 5 ignores add_bos_token too
    addsBegin: begin !== undefined && first !== undefined && "ids" in first && first.ids[0] === begin,
    beginsChats: false,
    templates,
    keepsEnd: config["truncation_side"] === "left",
    encode,
  });
}

/** Runs a part of the file on a text. A word that is too long for the engine is the text's fault, anything else the file's. */
function limited<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError || error instanceof RopewalkError) throw error;
    if (error instanceof NoUnknownToken) return invalid("model.unk_id", `is missing, but ${messageOf(error)}`);
    const advice = error instanceof TooManySteps ? "; its patterns or normalizers are made to take long" : "";
    fail("INVALID_FILE", "tokenizer.json", `cannot encode ${what}: ${messageOf(error).slice(0, 200)}${advice}`, {
      cause: error,
    });
  }
}
