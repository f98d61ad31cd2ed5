// The exports that all entries share. Each entry adds its own `load`.
export type { AttentionOptions } from "./core/attention/attention.js";
export type { ScoreOptions } from "./core/attention/options.js";
export { overrideRopeConfig, ropeConfig, type RopeConfigOptions } from "./core/config/rope_config.js";
export { ropeLayers } from "./core/config/rope_layers.js";
export type { GgufRopeTensors, GgufSource } from "./core/config/gguf.js";
export type { RopeOverrides, ScalingOverrides } from "./core/config/overrides.js";
export {
  AXES_LAYOUTS,
  COMPATS,
  MROPE_LAYOUTS,
  PAIRINGS,
  PRECISIONS,
  QUERY_TEMPERATURE_LAYERS,
  RAMPS,
  ROPE_TYPES,
  type AxesLayout,
  type Compat,
  type InvFreqFunction,
  type MropeLayout,
  type Pairing,
  type Precision,
  type DualChunkMap,
  type LmInfiniteMap,
  type LognScale,
  POSITION_MAP_TYPES,
  type PositionMap,
  type PositionMapType,
  type QueryTemperature,
  type QueryTemperatureLayers,
  type Ramp,
  type RectifiedMap,
  type RopeConfig,
  type RopeScaling,
  type RopeType,
  type SelfExtendMap,
  type XposScale,
} from "./core/config/types.js";
export { DECAY_CURVES, type DecayCurve, type DecayOptions } from "./core/rope/decay.js";
export type { Description, PairDescription, PairTreatment } from "./core/rope/description.js";
export {
  CACHE_DTYPES,
  type CacheDType,
  DTYPES,
  type DType,
  type ElementArray,
  type Float16ArrayLike,
} from "./core/memory/elements.js";
export type { Advice, AdviceValues } from "./core/base/advice.js";
export { RopewalkError, type RopewalkErrorCode, type RopewalkErrorOptions } from "./core/base/errors.js";
export type { Warning, WarningListener } from "./core/base/warnings.js";
export type { AppendOptions } from "./core/cache/append.js";
export type { CachedAttentionOptions } from "./core/cache/attend.js";
export { type CopyPrefixOptions, KvCache, type SequenceOptions } from "./core/cache/cache.js";
export type { KvCacheBytesOptions } from "./core/cache/core.js";
export { type CacheLayerOptions, KEY_MODES, type KeyMode, type KvCacheOptions } from "./core/cache/options.js";
export type { CachedModel } from "./runtime/files/cache/models.js";
export type {
  CacheKind,
  HubChoice,
  ModelSource,
  OpenOptions,
  ReadProgress,
  StoredTensor,
  WeightFormatName,
} from "./runtime/files/model_files.js";
export { type ShapedArray, toNpy, toSafetensors } from "./runtime/files/array_files.js";
export type { CachedTokens, ReadOptions } from "./core/cache/read.js";
export type { CheckResult, RetuneOptions, ShiftOptions } from "./core/cache/retune.js";
export type { LinearAttentionOptions } from "./core/attention/linear_attention.js";
export { type LinearAppendOptions, LinearState, type LinearStateOptions } from "./core/attention/linear_state.js";
export type { Kernels, ProductKernel } from "./core/load/kernels.js";
export {
  describe,
  type Load,
  type LoadOptions,
  type WasmBytesSource,
  type WasmSource,
} from "./runtime/ropewalk/load.js";
export type { DraftModel } from "./runtime/model/session/draft.js";
export type { IndexedPiece } from "./runtime/model/generate_many.js";
export type { FinishReason, Piece } from "./runtime/model/session/generate.js";
export {
  type ExtendOptions,
  type ForkOptions,
  FULL_POLICIES,
  type FullPolicy,
  type ChatTurnOptions,
  type CompleteOptions,
  type GenerateManyOptions,
  type GenerateOptions,
  type ModelGenerateOptions,
  RESTORED_ROPES,
  type RestoredRope,
  type RestoreOptions,
  type RetuneSessionOptions,
  type SessionAppendOptions,
  type SessionRope,
  type OpenSessionOptions,
  type SessionOptions,
  type ShiftSessionOptions,
} from "./runtime/model/session/options.js";
export {
  type DryOptions,
  type MirostatOptions,
  SAMPLER_ORDERS,
  type SamplerOrder,
  type SamplingOptions,
  type XtcOptions,
} from "./runtime/model/session/sampling_options.js";
export type { OutputFormat } from "./runtime/grammar/format.js";
export type { OwnBytes, WasmModule } from "./core/base/platform_types.js";
export type { ModelMemory } from "./runtime/model/run/memory.js";
export type { Adapter, AdapterInfo } from "./runtime/model/run/adapter.js";
export type { AdapterOptions, LoadedAdapter, ScaledAdapter } from "./runtime/model/run/adapters_in_use.js";
export type { Completion } from "./runtime/model/completion.js";
export type { EmbeddingInfo, Model, ModelInfo, Prompt, Ranked } from "./runtime/model/model.js";
export type { LoadAdapterOptions, ModelOptions, PerplexityOptions } from "./runtime/model/run/options.js";
export type { EmbedOptions, EmbedProgress, RankOptions } from "./runtime/model/embed/options.js";
export type { Pooling } from "./runtime/model/plan/embedding_plan.js";
export type { TextInput } from "./runtime/model/embed/text_input.js";
export type { RecurrentKind } from "./runtime/model/plan/recurrent_layers.js";
export { QUANTIZE_FORMATS, type QuantizeFormat } from "./core/quantize/quantize_formats.js";
export type { QuantizeRowsOptions } from "./core/quantize/quantize_rows.js";
export type { AttentionKind, LayerKind, ModelLayer, ModelRopeOverrides } from "./runtime/model/plan/model_plan.js";
export type { Perplexity } from "./runtime/model/perplexity.js";
export type {
  AnswersTo,
  AnswerTo,
  AnswerNumbers,
  BooleanAnswer,
  ChoiceAnswer,
  DecisionAnswer,
  Decisions,
  ScoreAnswer,
} from "./runtime/model/decide/answers.js";
export type { DecisionJson } from "./runtime/model/decide/decision_text.js";
export type { DecideOptions } from "./runtime/model/decide/options.js";
export type {
  BooleanQuestion,
  ByName,
  ChoiceQuestion,
  DecisionQuestion,
  DecisionQuestions,
  DecisionText,
  ScoreQuestion,
} from "./runtime/model/decide/questions.js";
export type { LayerHook, Steering } from "./runtime/model/session/layer_changes.js";
export {
  type Trace,
  type TraceArray,
  TRACED,
  type Traced,
  type TraceOptions,
} from "./runtime/model/session/trace_options.js";
export type { TokenProbability } from "./runtime/model/session/sampler.js";
export type { Session } from "./runtime/model/session/session.js";
export type { NumberArray } from "./core/memory/operand.js";
export type { ConvertPairingOptions } from "./core/rope/pairing.js";
export type { FrequencyPlan } from "./core/rope/plan.js";
export type {
  AlibiScheme,
  LearnedScheme,
  PositionScheme,
  SinusoidalScheme,
  T5Scheme,
} from "./core/attention/position_scheme.js";
export type { SinusoidalTableOptions, T5BucketOptions } from "./core/attention/position_tables.js";
export type { PositionArray, PositionInput } from "./core/memory/positions.js";
export type { QkvOptions } from "./core/attention/qkv.js";
export type { KeyRotation, RerotateOptions } from "./core/rope/rerotate.js";
export { Rope } from "./core/rope/rope.js";
export { ROLES, type Role } from "./core/rope/core.js";
export type { RotateOptions } from "./core/rope/rotate.js";
export type { TableRotateOptions } from "./core/rope/rotate_by_table.js";
export { type Build, BUILDS, Ropewalk } from "./runtime/ropewalk/ropewalk.js";
export { type Layout, LAYOUTS } from "./core/memory/shape.js";
export {
  type CosSinTable,
  TABLE_LAYOUTS,
  type TableIntoOptions,
  type TableLayout,
  type TableOptions,
} from "./core/rope/table.js";
export type { ChatMessage, ChatOptions, ChatTemplates, ContentPart } from "./runtime/text/chat_template.js";
export type { DecodeOptions, EncodedPair, EncodeOptions, Tokenizer, TokenStream } from "./runtime/text/tokenizer.js";
export { Tensor } from "./core/memory/tensor.js";
