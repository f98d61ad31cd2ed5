/**
 * A provider for Vercel's AI SDK (`ai` 7 and later): {@link createRopewalk}. Its types need `@ai-sdk/provider`, which comes with `ai`.
 *
 * @packageDocumentation
 */
import { ropewalkProvider, type RopewalkProvider } from "./apps/ai_sdk/provider.js";
import type { Model } from "./runtime/model/model.js";
import type { ServingOptions } from "./apps/serving/options.js";
import type { WorkerModel } from "./runtime/worker/remote_api.js";

export type { ServingOptions } from "./apps/serving/options.js";
export type { RopewalkCallOptions } from "./apps/ai_sdk/call_options.js";
export type { RopewalkDecisionOptions } from "./apps/ai_sdk/decision_model.js";
export type { RopewalkProvider } from "./apps/ai_sdk/provider.js";
export type { RopewalkEmbeddingOptions, RopewalkRerankingOptions } from "./apps/ai_sdk/vector_models.js";

/**
 * Makes a model a provider of the AI SDK: `generateText({ model: createRopewalk(model).languageModel(), prompt })`.
 * @param model - of `ropewalk` or `ropewalk/worker`, or the promise of one: calls wait until it has loaded
 */
export function createRopewalk(
  model: Model | WorkerModel | PromiseLike<Model | WorkerModel>,
  options?: ServingOptions,
): RopewalkProvider {
  return ropewalkProvider(model, options);
}
