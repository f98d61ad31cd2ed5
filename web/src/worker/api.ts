// The exports that the two entries of `ropewalk/worker` (pages and Node) share, besides their `load`.
export { RopewalkError, type RopewalkErrorCode } from "../base/errors.js";
export type { CachedModel } from "../files/cache/models.js";
export type { ModelSource } from "../files/model_files.js";
export type { LoadOptions } from "../load/load.js";
export type { FinishReason, FullPolicy, GenerateOptions, Piece } from "../model/generate.js";
export type { ModelInfo, ModelOptions, Prompt } from "../model/model.js";
export type { Perplexity, PerplexityOptions } from "../model/perplexity.js";
export type { SamplingOptions, TokenProbability } from "../model/sampler.js";
export type { SessionAppendOptions, SessionOptions } from "../model/session.js";
export type { ChatMessage, ChatOptions } from "../text/chat_template.js";
export type { DecodeOptions, EncodeOptions } from "../text/tokenizer.js";
export type { WorkerModel } from "./worker_model.js";
export type { WorkerModelOptions, WorkerRopewalk } from "./worker_ropewalk.js";
export type { WorkerSession } from "./worker_session.js";
export type { WorkerTokenizer } from "./worker_tokenizer.js";
