// What embed() and rank() of a model do: texts become tokens, and those vectors or scores.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import type { Tokenizer } from "../../text/tokenizer.js";
import { scoreOf } from "../plan/embedding_plan.js";
import { readAdapters } from "../run/adapters_in_use.js";
import type { ModelCore } from "../run/model_core.js";
import { TextReader } from "../run/text_reader.js";
import { finished, longerTexts, runTexts, type TextRun } from "./embed.js";
import type { EmbeddingInfo, Ranked } from "./info.js";
import { type EmbedOptions, type RankOptions, readEmbedOptions, readRankOptions } from "./options.js";
import {
  isList,
  pairTokens,
  promptText,
  queryInput,
  type TextInput,
  textList,
  type TextReading,
  textTokens,
} from "./text_input.js";
import type { TextTokens, WholeTextsCore } from "./whole_texts.js";

/** What these calls need of a model. @internal */
export interface EmbeddingModel {
  readonly core: ModelCore;
  readonly tokenizer: Tokenizer;
  readonly info: {
    readonly name: string;
    readonly vocabularySize: number;
    readonly contextLength: number;
    readonly embedding: EmbeddingInfo;
  };
  /** Checks that the model isn't disposed of. */
  readonly texts: () => WholeTextsCore;
}

/** As Model.embed(): always a list of vectors, with the number of tokens that were read. @internal */
export async function embedTexts(
  model: EmbeddingModel,
  given: TextInput | readonly TextInput[],
  options: EmbedOptions | undefined,
): Promise<{ vectors: Float32Array[]; tokens: number }> {
  const { embedding } = model.core.plan;
  const { dimensions: size } = model.info.embedding;
  const { pooling, normalize, dimensions, prompt, ...rest } = readEmbedOptions(options, size);
  const before = promptText(embedding, prompt);
  const inputs = isList(given) ? given : [given];
  const field = (i: number): string => (isList(given) ? `texts[${i}]` : "text");
  const run = runOf(model, rest, field);
  const reading = readingOf(model, rest);
  const texts: TextTokens[] = [];
  for (const [i, text] of inputs.entries()) texts.push(await textTokens(reading, text, before, field(i)));
  const { vectors, tokens } = await runTexts(model.texts(), texts, {
    ...run,
    pooling: pooling ?? embedding.pooling,
    usesDense: embedding.ranking === undefined,
    size,
  });
  const normalizes = normalize ?? embedding.normalizes;
  return { vectors: vectors.map((vector) => finished(vector, dimensions ?? size, normalizes)), tokens };
}

/** As Model.rank(). @internal */
export async function rankDocuments(
  model: EmbeddingModel,
  query: TextInput,
  documents: readonly TextInput[],
  options: RankOptions | undefined,
): Promise<Ranked[]> {
  const { embedding, config } = model.core.plan;
  const given = readRankOptions(options);
  const { ranking, dense } = embedding;
  if (ranking === undefined || dense[dense.length - 1]!.size !== 1)
    return fail(
      "UNSUPPORTED_MODEL",
      model.info.name,
      "the model doesn't score pairs",
      advise.either(advise.other("use a cross-encoder"), advise.call({ calls: ["embed"] })),
    );
  const field = (i: number): string => `documents[${i}]`;
  const asked = queryInput(query, model.info.vocabularySize);
  const run = runOf(model, given, field);
  const tokenTypes = embedding.typesPairs ? config.token_types : 1;
  const reading = readingOf(model, given);
  const texts: TextTokens[] = [];
  for (const [i, document] of textList(documents, "documents").entries())
    texts.push(await pairTokens(reading, asked, document, tokenTypes, field(i)));
  const { vectors: scores } = await runTexts(model.texts(), texts, {
    ...run,
    pooling: ranking.pooling,
    usesDense: true,
    size: 1,
    with: "the query",
  });
  return scores
    .map(([score], index) => ({ index, score: scoreOf(score!, ranking.activation) }))
    .sort((a, b) => b.score - a.score || a.index - b.index);
}

/** How the texts are tokenized. */
function readingOf({ tokenizer, info }: EmbeddingModel, { signal, truncate }: RankOptions): TextReading {
  const limit = { tokens: info.contextLength, cuts: truncate === true };
  return { reader: new TextReader(tokenizer, signal), limit, vocabularySize: info.vocabularySize };
}

/** What all runs of texts have. */
function runOf(
  { core, tokenizer, info }: EmbeddingModel,
  { adapters, ...options }: RankOptions,
  field: TextRun["field"],
): Omit<TextRun, "pooling" | "usesDense" | "size"> {
  return {
    ...options,
    adapters: readAdapters(adapters, core),
    maxLength: info.contextLength,
    longer: longerTexts(info.contextLength, core.plan),
    isSpecial: (token) => tokenizer.isSpecial(token),
    field,
  };
}
