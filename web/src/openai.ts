/**
 * OpenAI's shapes over a model: chat completions with tools and streams, completions, embeddings and decisions. Start with {@link openai}.
 *
 * @packageDocumentation
 */
import type { Model } from "./runtime/model/model.js";
import { type OpenAIClient, openaiClient } from "./apps/openai/client.js";
import type { ServingOptions } from "./apps/serving/options.js";
import type { WorkerModel } from "./runtime/worker/remote_api.js";

export type { CallOptions, CreateCall, ModelList, OpenAIClient } from "./apps/openai/client.js";
export type { ChatRequestFields } from "./apps/openai/chat_request.js";
export type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatDelta,
  ChoiceLogprobs,
  TokenLogprob,
  ToolCall,
  ToolCallDelta,
} from "./apps/openai/chat_shapes.js";
export type { CompletionLogprobs } from "./apps/openai/completion_logprobs.js";
export type { DecisionFields } from "./apps/serving/decision_options.js";
export type { DecisionContent, DecisionInputItem, DecisionPart } from "./apps/decisions/openai_input.js";
export type {
  DecisionList,
  DecisionRequestFields,
  RequestAnswer,
  RequestQuestion,
} from "./apps/decisions/openai_shape.js";
export type { EmbeddingList, EmbeddingRequestFields } from "./apps/openai/embeddings.js";
export { errorResponse, type ErrorBody } from "./apps/openai/errors.js";
export type { GenerationFields } from "./apps/openai/generation_request.js";
export type { ResponseFormat } from "./apps/openai/output_format.js";
export type { Completion, CompletionRequestFields } from "./apps/openai/text_completions.js";
export type { Usage } from "./apps/openai/usage.js";
export type { Ending as Finish } from "./apps/serving/events.js";
export type { ServingOptions } from "./apps/serving/options.js";
export type { Tool } from "./apps/serving/tool.js";

/**
 * OpenAI's methods over a model: `openai(model).chat.completions.create({ messages })`. They take and return what the
 * `openai` client's do. A field that isn't known or can't be followed is refused by name.
 *
 * Calls run in a session that stays, one after the other: the next turn of a chat reads only what is new. With the
 * option `parallel`, there are several sessions, and their calls share the steps of the model. `dispose()` frees them.
 *
 * With a model of `ropewalk/worker`, generating doesn't block the page.
 */
export function openai(model: Model | WorkerModel, options?: ServingOptions): OpenAIClient {
  return openaiClient(model, options);
}
