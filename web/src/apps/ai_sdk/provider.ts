// The provider: the AI SDK's models over one model.
import type {
  EmbeddingModelV4,
  Experimental_DecisionModelV4,
  LanguageModelV4,
  ProviderV4,
  RerankingModelV4,
} from "@ai-sdk/provider";
import type { ServingOptions } from "../serving/options.js";
import { disposeSymbol } from "../../core/base/dispose.js";
import { fail } from "../../core/base/errors.js";
import { decisionModel } from "./decision_model.js";
import { languageModel } from "./language_model.js";
import { type LoadingModel, ProvidedModel } from "./provided_model.js";
import { embeddingModel, rerankingModel } from "./vector_models.js";

/**
 * A provider with one model, whatever id is asked for. Its language model's calls run in sessions that stay, one after the
 * other unless the option `parallel` is larger: the next turn of a chat reads only what is new.
 */
export interface RopewalkProvider extends ProviderV4, Disposable {
  /** Same as {@link RopewalkProvider.languageModel}. */
  (modelId?: string): LanguageModelV4;
  /** For `generateText`, `streamText`, agents. The model needs a chat template. */
  languageModel(modelId?: string): LanguageModelV4;
  /** For `embed` and `embedMany`. */
  embeddingModel(modelId?: string): EmbeddingModelV4;
  /** For `rerank`. The model must be a cross-encoder. */
  rerankingModel(modelId?: string): RerankingModelV4;
  /** For `experimental_decide`. The model needs a chat template. */
  decisionModel(modelId?: string): Experimental_DecisionModelV4;
  /** Fails with UNSUPPORTED_MODEL: Ropewalk makes no pictures. */
  imageModel(modelId?: string): never;
  /** Frees the sessions. The model stays. */
  dispose(): void;
}

export function ropewalkProvider(model: LoadingModel, options: ServingOptions | undefined): RopewalkProvider {
  const provided = new ProvidedModel(model, options);
  const language = (modelId?: string): LanguageModelV4 => languageModel(provided, modelId);
  const dispose = (): void => provided.dispose();
  const members = {
    specificationVersion: "v4" as const,
    languageModel: language,
    embeddingModel: (modelId?: string) => embeddingModel(provided, modelId),
    rerankingModel: (modelId?: string) => rerankingModel(provided, modelId),
    decisionModel: (modelId?: string) => decisionModel(provided, modelId),
    imageModel: (): never => fail("UNSUPPORTED_MODEL", "imageModel", "there is none: Ropewalk makes no pictures"),
    dispose,
    [disposeSymbol]: dispose,
  };
  return Object.assign((modelId?: string) => language(modelId), members);
}
