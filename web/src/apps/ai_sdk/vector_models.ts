// The AI SDK's models of embeddings and of scores of documents.
import * as advise from "../../core/base/advice.js";
import type { EmbeddingModelV4, RerankingModelV4, SharedV4ProviderOptions, SharedV4Warning } from "@ai-sdk/provider";
import { fail } from "../../core/base/errors.js";
import { checkOptions, type OptionNames, optionNames } from "../../core/base/options.js";
import type { EmbedOptions, RankOptions } from "../../runtime/model/embed/options.js";
import { fieldNames, withFieldNames } from "../../core/base/field_names.js";
import { OWN, ownNames } from "./own_names.js";
import { withSdkWords } from "./sdk_words.js";
import type { ProvidedModel } from "./provided_model.js";

/** What a call can set in `providerOptions.ropewalk`: options of `embed()`. */
export type RopewalkEmbeddingOptions = Pick<
  EmbedOptions,
  "pooling" | "normalize" | "dimensions" | "prompt" | "truncate"
>;

/** What a call can set in `providerOptions.ropewalk`: options of `rank()`. */
export type RopewalkRerankingOptions = Pick<RankOptions, "truncate">;

const EMBED = optionNames<RopewalkEmbeddingOptions>(OWN, {
  pooling: true,
  normalize: true,
  dimensions: true,
  prompt: true,
  truncate: true,
});
const RANK = optionNames<RopewalkRerankingOptions>(OWN, { truncate: true });

const EMBED_NAMES = fieldNames({ ...ownNames(EMBED), texts: "values" });
const RANK_NAMES = fieldNames(ownNames(RANK));

/** A call takes any number of texts. */
export function embeddingModel(provided: ProvidedModel, modelId: string | undefined): EmbeddingModelV4 {
  return {
    specificationVersion: "v4",
    provider: "ropewalk",
    get modelId() {
      return modelId ?? provided.name;
    },
    maxEmbeddingsPerCall: Infinity,
    supportsParallelCalls: false,
    async doEmbed({ values, dimensions, abortSignal, providerOptions }) {
      const { model, adapting } = await provided.open();
      const own: RopewalkEmbeddingOptions = ownOptions(providerOptions, EMBED);
      if (dimensions !== undefined && own.dimensions !== undefined)
        fail("INVALID_ARGUMENT", `${OWN}.dimensions`, "is the setting dimensions", advise.other("leave one out"));
      const options = {
        ...adapting,
        ...own,
        ...(dimensions !== undefined && { dimensions }),
        ...(abortSignal && { signal: abortSignal }),
      };
      const { vectors, tokens } = await withSdkWords(() =>
        withFieldNames(EMBED_NAMES, () => model.embedCounted(values, options)),
      );
      return { embeddings: vectors.map((vector) => Array.from(vector)), usage: { tokens }, warnings: [] };
    },
  };
}

/** Needs a cross-encoder. Documents that are objects are read as JSON. */
export function rerankingModel(provided: ProvidedModel, modelId: string | undefined): RerankingModelV4 {
  return {
    specificationVersion: "v4",
    provider: "ropewalk",
    get modelId() {
      return modelId ?? provided.name;
    },
    async doRerank({ documents, query, topN, abortSignal, providerOptions }) {
      const { model, adapting } = await provided.open();
      const details = "documents that are objects are read as JSON";
      const warnings: SharedV4Warning[] =
        documents.type === "object" ? [{ type: "compatibility", feature: "object documents", details }] : [];
      const texts =
        documents.type === "text" ? documents.values : documents.values.map((value) => JSON.stringify(value));
      const options = {
        ...adapting,
        ...ownOptions(providerOptions, RANK),
        ...(abortSignal && { signal: abortSignal }),
      };
      const ranked = await withSdkWords(() => withFieldNames(RANK_NAMES, () => model.rank(query, texts, options)));
      const ranking = ranked.slice(0, topN).map(({ index, score }) => ({ index, relevanceScore: score }));
      return { ranking, warnings };
    },
  };
}

function ownOptions(given: SharedV4ProviderOptions | undefined, names: OptionNames): object {
  return checkOptions<object>(given?.["ropewalk"], names, OWN);
}
