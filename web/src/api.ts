// The exports that all entries share. Each entry adds its own `load`.
export type { AttentionOptions } from "./attention/attention.js";
export type { ScoreOptions } from "./attention/options.js";
export { overrideRopeConfig, ropeConfig, type RopeConfigOptions } from "./config/rope_config.js";
export { ropeLayers } from "./config/rope_layers.js";
export type { GgufRopeTensors, GgufSource } from "./config/gguf.js";
export type { RopeOverrides, ScalingOverrides } from "./config/overrides.js";
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
  type QueryTemperature,
  type QueryTemperatureLayers,
  type Ramp,
  type RopeConfig,
  type RopeScaling,
  type RopeType,
  type XposScale,
} from "./config/types.js";
export { DECAY_CURVES, type DecayCurve, type DecayOptions } from "./rope/decay.js";
export type { Description, PairDescription, PairTreatment } from "./rope/description.js";
export {
  CACHE_DTYPES,
  type CacheDType,
  DTYPES,
  type DType,
  type ElementArray,
  type Float16ArrayLike,
} from "./memory/elements.js";
export type { Advice, AdviceValues } from "./base/advice.js";
export { RopewalkError, type RopewalkErrorCode, type RopewalkErrorOptions } from "./base/errors.js";
export type { Warning, WarningListener } from "./base/warnings.js";
export type { AppendOptions } from "./cache/append.js";
export type { CachedAttentionOptions } from "./cache/attend.js";
export { type CopyPrefixOptions, KvCache, type SequenceOptions } from "./cache/cache.js";
export type { KvCacheBytesOptions } from "./cache/core.js";
export { type CacheLayerOptions, KEY_MODES, type KeyMode, type KvCacheOptions } from "./cache/options.js";
export type { CachedModel } from "./files/cache/models.js";
export type {
  CacheKind,
  HubChoice,
  ModelSource,
  OpenOptions,
  ReadProgress,
  StoredTensor,
  WeightFormatName,
} from "./files/model_files.js";
export { type ShapedArray, toNpy, toSafetensors } from "./files/array_files.js";
export type { CachedTokens, ReadOptions } from "./cache/read.js";
export type { CheckResult, RetuneOptions, ShiftOptions } from "./cache/retune.js";
export type { LinearAttentionOptions } from "./attention/linear_attention.js";
export { type LinearAppendOptions, LinearState, type LinearStateOptions } from "./attention/linear_state.js";
export type { Kernels, ProductKernel } from "./load/kernels.js";
export { describe, type Load, type LoadOptions, type WasmBytesSource, type WasmSource } from "./load/load.js";
export type { DraftModel } from "./model/session/draft.js";
export type { IndexedPiece } from "./model/generate_many.js";
export type { FinishReason, Piece } from "./model/session/generate.js";
export {
  type ExtendOptions,
  type ForkOptions,
  FULL_POLICIES,
  type FullPolicy,
  type GenerateManyOptions,
  type GenerateOptions,
  type ModelGenerateOptions,
  RESTORED_ROPES,
  type RestoredRope,
  type RestoreOptions,
  type RetuneSessionOptions,
  type SessionAppendOptions,
  type OpenSessionOptions,
  type SessionOptions,
  type ShiftSessionOptions,
} from "./model/session/options.js";
export {
  type DryOptions,
  type MirostatOptions,
  SAMPLER_ORDERS,
  type SamplerOrder,
  type SamplingOptions,
  type XtcOptions,
} from "./model/session/sampling_options.js";
export type { OutputFormat } from "./grammar/format.js";
export type { OwnBytes, WasmModule } from "./base/platform_types.js";
export type { ModelMemory } from "./model/memory.js";
export type { Adapter, AdapterInfo } from "./model/adapters/adapter.js";
export type { AdapterOptions, LoadedAdapter, ScaledAdapter } from "./model/adapters/in_use.js";
export type { EmbeddingInfo, Model, ModelInfo, Prompt, Ranked } from "./model/model.js";
export type { LoadAdapterOptions, ModelOptions, PerplexityOptions } from "./model/options.js";
export type { EmbedOptions, EmbedProgress, RankOptions } from "./model/embed/options.js";
export type { Pooling } from "./model/embed/embedding_plan.js";
export type { TextInput } from "./model/embed/text_input.js";
export type { RecurrentKind } from "./model/recurrent_layers.js";
export { QUANTIZE_FORMATS, type QuantizeFormat } from "./files/quantize_formats.js";
export type { QuantizeRowsOptions } from "./load/quantize_rows.js";
export type { AttentionKind, LayerKind, ModelLayer, ModelRopeOverrides } from "./model/model_plan.js";
export type { Perplexity } from "./model/perplexity.js";
export type { LayerHook, Steering } from "./model/session/layer_changes.js";
export { type Trace, type TraceArray, TRACED, type Traced, type TraceOptions } from "./model/session/trace_options.js";
export type { TokenProbability } from "./model/session/sampler.js";
export type { Session } from "./model/session/session.js";
export type { NumberArray } from "./memory/operand.js";
export type { ConvertPairingOptions } from "./rope/pairing.js";
export type { FrequencyPlan } from "./rope/plan.js";
export type {
  AlibiScheme,
  LearnedScheme,
  PositionScheme,
  SinusoidalScheme,
  T5Scheme,
} from "./attention/position_scheme.js";
export type { SinusoidalTableOptions, T5BucketOptions } from "./attention/position_tables.js";
export type { PositionArray, PositionInput } from "./memory/positions.js";
export type { QkvOptions } from "./attention/qkv.js";
export type { KeyRotation, RerotateOptions } from "./rope/rerotate.js";
export { Rope } from "./rope/rope.js";
export { ROLES, type Role } from "./rope/core.js";
export type { RotateOptions } from "./rope/rotate.js";
export type { TableRotateOptions } from "./rope/rotate_by_table.js";
export { type Build, BUILDS, Ropewalk } from "./load/runtime.js";
export { type Layout, LAYOUTS } from "./memory/shape.js";
export {
  type CosSinTable,
  TABLE_LAYOUTS,
  type TableIntoOptions,
  type TableLayout,
  type TableOptions,
} from "./rope/table.js";
export type { ChatMessage, ChatOptions, ChatTemplates, ContentPart } from "./text/chat_template.js";
export type { DecodeOptions, EncodedPair, EncodeOptions, Tokenizer, TokenStream } from "./text/tokenizer.js";
export { Tensor } from "./memory/tensor.js";
