// The exports that the two entries of `ropewalk/worker` (pages and Node) share, besides their `load`.
export { RopewalkError, type RopewalkErrorCode } from "../../core/base/errors.js";
export type { CachedModel } from "../files/cache/models.js";
export type { HubChoice, ModelSource } from "../files/model_files.js";
export type { Kernels, ProductKernel } from "../../core/load/kernels.js";
export type { LoadOptions } from "../ropewalk/load.js";
export type { DraftModel } from "../model/session/draft.js";
export type { IndexedPiece } from "../model/generate_many.js";
export type { FinishReason, Piece } from "../model/session/generate.js";
export type { AdapterInfo } from "../model/run/adapter.js";
export type { AdapterOptions, LoadedAdapter, ScaledAdapter } from "../model/run/adapters_in_use.js";
export type { Completion } from "../model/completion.js";
export type { EmbeddingInfo, ModelInfo, Prompt, Ranked } from "../model/model.js";
export type { LoadAdapterOptions, ModelOptions, PerplexityOptions } from "../model/run/options.js";
export type { EmbedOptions, EmbedProgress, RankOptions } from "../model/embed/options.js";
export type {
  AnswersTo,
  AnswerTo,
  AnswerNumbers,
  BooleanAnswer,
  ChoiceAnswer,
  DecisionAnswer,
  Decisions,
  ScoreAnswer,
} from "../model/decide/answers.js";
export type { DecisionJson } from "../model/decide/decision_text.js";
export type { DecideOptions } from "../model/decide/options.js";
export type {
  BooleanQuestion,
  ByName,
  ChoiceQuestion,
  DecisionQuestion,
  DecisionQuestions,
  DecisionText,
  ScoreQuestion,
} from "../model/decide/questions.js";
export type { Pooling } from "../model/plan/embedding_plan.js";
export type { TextInput } from "../model/embed/text_input.js";
export { QUANTIZE_FORMATS, type QuantizeFormat } from "../../core/quantize/quantize_formats.js";
export type { Perplexity } from "../model/perplexity.js";
export type { Steering } from "../model/session/layer_changes.js";
export type { Trace, TraceArray, Traced, TraceOptions } from "../model/session/trace_options.js";
export type { TokenProbability } from "../model/session/sampler.js";
export type {
  ChatTurnOptions,
  CompleteOptions,
  ExtendOptions,
  ForkOptions,
  FullPolicy,
  GenerateManyOptions,
  GenerateOptions,
  ModelGenerateOptions,
  RetuneSessionOptions,
  SessionAppendOptions,
  SessionOptions,
  SessionRope,
  ShiftSessionOptions,
} from "../model/session/options.js";
export type {
  DryOptions,
  MirostatOptions,
  SamplerOrder,
  SamplingOptions,
  XtcOptions,
} from "../model/session/sampling_options.js";
export type { OutputFormat } from "../grammar/format.js";
export type { ChatMessage, ChatOptions, ChatTemplates, ContentPart } from "../text/chat_template.js";
export type { DecodeOptions, EncodeOptions } from "../text/tokenizer.js";
export type { WorkerLoadOptions } from "./load_in.js";
export type {
  WorkerAdapter,
  WorkerModel,
  WorkerModelOptions,
  WorkerRopewalk,
  WorkerSession,
  WorkerTokenizer,
} from "./remote_api.js";
