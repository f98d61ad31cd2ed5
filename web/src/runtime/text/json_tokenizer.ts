// Builds a tokenizer from tokenizer.json.
import { isDict } from "../../core/base/dict.js";
import { fail, RopewalkError } from "../../core/base/errors.js";
import { messageOf, show } from "../../core/base/show.js";
import { type Encoding, partSteps, wordSteps } from "./encoding_steps.js";
import { invalid, unsupported } from "./components/options.js";
import { readPostProcessor } from "./components/post_processor.js";
import { NoUnknownToken } from "./components/unknown_token.js";
import { Decoder } from "./decoders/decoder.js";
import { JsonAddedTokens } from "./json_added_tokens.js";
import { checkComponents } from "./json_components.js";
import { readModel } from "./json_model.js";
import { JsonTexts } from "./json_texts.js";
import { readVocabulary } from "./json_vocabulary.js";
import { idsIn, namedToken, type Warn } from "./named_tokens.js";
import { TooManySteps } from "./pattern/matcher.js";
import { stepsFor } from "./pattern/steps.js";
import { endTokensOf, LONGEST_ADDED_TOKEN } from "./special_tokens.js";
import { type Tokenizer, VocabularyTokenizer } from "./vocabulary_tokenizer.js";

/** Encodes and decodes as Hugging Face's Rust library `tokenizers` 0.23 does. See tokenizerFromJson. */
export function readJsonTokenizer(
  tokenizerJson: object,
  config: object,
  generationConfig: object,
  warn?: Warn,
): Tokenizer {
  if (!isDict(tokenizerJson)) invalid("", "must be an object");
  if (!isDict(config) || !isDict(generationConfig)) {
    fail("INVALID_FILE", "tokenizer_config.json", "must be an object, and generation_config.json too");
  }
  const { version = "1.0" } = tokenizerJson;
  if (version !== "1.0") unsupported("version", `must be "1.0" (got ${show(version)})`);
  const { vocabulary, modelIds, added } = readVocabulary(tokenizerJson, warn);
  checkComponents(tokenizerJson);
  const steps = stepsFor(LONGEST_ADDED_TOKEN);
  const model = readModel(tokenizerJson, modelIds, steps);
  const decoder = new Decoder(tokenizerJson["decoder"], steps);
  const tokens = limited("its added tokens", () => new JsonAddedTokens(added, (source) => model.normalize(source)));
  const templates = readPostProcessor(
    tokenizerJson["post_processor"],
    (id): id is number => typeof id === "number" && vocabulary.pieces[id] !== undefined,
  );
  /** Other texts may be encoded between two steps, so each has its own number of steps of patterns. */
  function* encoded(text: string, begin: () => Encoding): Encoding {
    const own = stepsFor(text.length);
    let encoding: Encoding | undefined;
    for (;;) {
      Object.assign(steps, own);
      const next = limited("this text", () => (encoding ??= begin()).next());
      Object.assign(own, steps);
      if (next.done === true) return;
      yield next.value;
    }
  }
  const encode = (text: string, parseSpecial: boolean): Encoding =>
    encoded(text, () => partSteps(tokens.split(text, parseSpecial), (part) => model.encode(part)));
  const encodePlain = (text: string): Encoding =>
    encoded(text, () => {
      if (text === "") return wordSteps([], { encode: () => [] });
      return model.encode(model.normalize({ text, first: text.codePointAt(0)! > 0xffff ? 2 : 1 }));
    });
  const texts = new JsonTexts({
    vocabulary,
    decoder,
    normalizedTexts: tokens.normalizedTexts,
    specials: new Set(added.flatMap(({ content, special }) => (special ? [content] : []))),
    limited(run) {
      Object.assign(steps, stepsFor(LONGEST_ADDED_TOKEN));
      return limited("tokens", run, "decode");
    },
  });

  const begin =
    namedToken(vocabulary, config["bos_token"]) ?? idsIn(vocabulary, generationConfig, "bos_token_id", warn)[0];
  const end = namedToken(vocabulary, config["eos_token"]);
  const ends = idsIn(vocabulary, generationConfig, "eos_token_id", warn);
  const [first] = templates.single;
  return new VocabularyTokenizer(vocabulary, texts, {
    beginToken: begin,
    endTokens: endTokensOf(vocabulary, end === undefined ? ends : [end, ...ends]),
    // only tokenizer.json says which tokens are added; transformers 5 ignores add_bos_token too
    addsBegin: begin !== undefined && first !== undefined && "ids" in first && first.ids[0] === begin,
    beginsChats: false,
    templates,
    keepsEnd: config["truncation_side"] === "left",
    encode,
    encodePlain,
    addedTexts: added.flatMap(({ content, special }) => (special ? [] : [content])),
  });
}

/** Runs a part of the file on a text. A word that is too long for the engine is the text's fault, anything else the file's. */
function limited<T>(what: string, run: () => T, verb = "encode"): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError || error instanceof RopewalkError) throw error;
    if (error instanceof NoUnknownToken) return invalid(`model.${error.option}`, error.message);
    const advice = error instanceof TooManySteps ? ": its patterns or normalizers are made to take long" : "";
    fail("INVALID_FILE", "tokenizer.json", `cannot ${verb} ${what}: ${messageOf(error).slice(0, 200)}${advice}`, {
      cause: error,
    });
  }
}
