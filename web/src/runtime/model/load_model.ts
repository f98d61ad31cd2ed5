// Opens a model's files, plans its weights and loads them.
import { part } from "../../core/base/part.js";
import * as advise from "../../core/base/advice.js";
import {
  type ModelFiles,
  type ModelSource,
  openModel,
  type ReadOptions,
  type WeightFormatName,
} from "../files/model_files.js";
import { type FilePlatform, type KeptFiles, webFiles } from "../files/platform.js";
import { Formats } from "../grammar/formats.js";
import type { Heap } from "../../core/memory/heap.js";
import { checkTemplate } from "../text/chat_template.js";
import { templatesOf } from "../text/chat/named_templates.js";
import { NO_TOKENIZER, type Tokenizer, tokenizerFromGguf, tokenizerFromFiles } from "../text/tokenizer.js";
import { mapWeights } from "./weights/map_weights.js";
import { checkFits, memoryOf } from "./run/memory.js";
import { missingTokenizer } from "./missing_tokenizer.js";
import { warnWith } from "../../core/base/warnings.js";
import { fail } from "../../core/base/errors.js";
import { type EmbeddingInfo, Model, type ModelInfo } from "./model.js";
import { type CacheSettings, ModelCore } from "./run/model_core.js";
import { inRopes, type ModelLayer, type ModelPlan, planOf } from "./plan/model_plan.js";
import { MODEL_INFO_OPTIONS, type ModelOptions } from "./run/options.js";
import { quantizeWeights } from "./weights/quantize.js";
import type { PlannedHead } from "./decide/head/head.js";
import { readModelOptions } from "./run/read_options.js";
import { suppressedTokens } from "./config/suppressed_tokens.js";
import { readRopeTensors } from "./config/rope_tensors.js";
import { chatTokens } from "./prompt.js";
import type { SamplingOptions } from "./session/sampling_options.js";
import { checkContext } from "./session/options.js";
import type { SessionModel } from "./session/session_model.js";
import { lengthWarning } from "./session/supported_length.js";
import type { WeightMapping } from "./weights/weight_mapping.js";

/** Upper limit of the default context length: longer contexts need much memory. */
const DEFAULT_CONTEXT = 4096;

/** What loading needs: wasm memory and access to files. @internal */
export interface LoadEnvironment {
  heap: Heap;
  files: FilePlatform;
  /** Whether the scalar kernels are used. */
  isScalar: boolean;
}

interface OpenedModel {
  files: ModelFiles;
  /** Of a decision checkpoint. */
  head: PlannedHead | undefined;
  plan: ModelPlan;
  mappings: readonly WeightMapping[];
  cacheSettings: CacheSettings;
  info: ModelInfo;
}

/** Describes a model from its headers. @internal */
export async function modelInfo(
  environment: LoadEnvironment,
  source: ModelSource,
  options?: ModelOptions,
): Promise<ModelInfo> {
  return (await open(environment, source, readModelOptions(options, MODEL_INFO_OPTIONS))).info;
}

const COARSE_CACHE = "a cache of q4_0 changes what a model says";
const FINER_CACHE = advise.other("use q8_0, or q4_channel, which is about as small");

/** Loads a model. If it fails, at any step, all memory is free again. @internal */
export async function loadModel(
  environment: LoadEnvironment,
  source: ModelSource,
  given?: ModelOptions,
): Promise<Model> {
  const options = readModelOptions(given);
  if (options.chatTemplate !== undefined) await checkTemplate(options.chatTemplate);
  const { files, head: planned, plan, mappings, cacheSettings, info } = await open(environment, source, options);
  checkFits(files.name, info.memory);
  const warning = lengthWarning(plan.layers, { ...info, isCausal: plan.config.is_causal });
  if (warning !== undefined && options.onWarning)
    warnWith(options.onWarning, { code: "CONTEXT_TOO_LONG", problem: warning.problem }, warning.advised);
  if (cacheSettings.dtype === "q4_0" && plan.config.is_causal && options.onWarning)
    warnWith(options.onWarning, { code: "COARSE_CACHE", problem: COARSE_CACHE }, FINER_CACHE);
  // The weights come last: nothing after them can fail, and ModelCore.load() frees them if it does.
  const tokenizer = await tokenizerOf(files, info, options);
  const sampling = {
    options: samplingDefaults(files.generationConfig ?? {}),
    suppressed: suppressedTokens(files, plan.config.vocabulary_size),
  };
  const chatTemplates = options.chatTemplate === undefined ? templatesOf(files) : { default: options.chatTemplate };
  const { signal, onProgress } = options;
  const reading: ReadOptions = {
    ...(signal !== undefined && { signal }),
    ...(onProgress !== undefined && {
      onProgress: (progress) => onProgress({ ...progress, stage: "weights", file: files.name }),
    }),
  };
  const { heap, isScalar } = environment;
  const head = await planned?.load(heap, isScalar, { ...(signal !== undefined && { signal }) });
  const core = await ModelCore.load(heap, files, plan, mappings, isScalar, reading).catch((error: unknown) => {
    head?.dispose();
    throw error;
  });
  const formats = new Formats(tokenizer, Math.min(core.vocabularySize, tokenizer.vocabularySize)); // some models pad the embedding with rows that no token uses
  const { keptFiles = inOpfs } = environment.files;
  const chats = { info, tokenizer, chatTemplates };
  const parts: SessionModel = {
    core,
    tokenizer,
    cacheSettings,
    sampling,
    formats,
    chatTokens: (messages, given) =>
      chatTokens(chats, messages, { ...(options.onWarning && { onWarning: options.onWarning }), ...given }),
    keptFiles,
  };
  return new Model(parts, info, chatTemplates, { files: environment.files, mappings }, options.onWarning, head);
}

const inOpfs = async (): Promise<KeptFiles> =>
  (await part(() => import("../files/kept_files.js"))).opfsKeptFiles(webFiles);

async function open(environment: LoadEnvironment, source: ModelSource, options: ModelOptions): Promise<OpenedModel> {
  const { onProgress, ...rest } = options;
  const files = await openModel(environment.files, source, {
    ...rest,
    ...(onProgress !== undefined && { onProgress: (progress) => onProgress({ ...progress, stage: "opening" }) }),
  });
  if (files.metadata["general.type"] === "adapter")
    fail(
      "UNSUPPORTED_MODEL",
      `${files.name}: general.type`,
      "is an adapter (LoRA) and no whole model",
      advise.adapter(),
    );
  const head = isDecision(files)
    ? (await part(() => import("./decide/head/head.js"))).planHead(files, options.quantize)
    : undefined;
  const own = head?.encoder ?? files;
  const plan = planOf(own, await readRopeTensors(files, options.signal), options.rope);
  const stored = mapWeights(own, plan);
  const mappings = options.quantize === undefined ? stored : quantizeWeights(stored, options.quantize, plan.config);
  if (options.kv?.keys === "rotated" && plan.layers.some(({ rope }) => rope?.position_map))
    fail(
      "INVALID_ARGUMENT",
      "kv.keys",
      "must be raw with a position_map, which rotates a key differently for near and far queries",
      advise.other("leave it out"),
    );
  const cacheSettings: CacheSettings = {
    dtype: options.kv?.dtype ?? "f16",
    ...(options.kv?.keys !== undefined && { keys: options.kv.keys }),
  };
  const contextLength = contextLengthOf(plan, options.contextLength, head?.settings.maxLength);
  const tensors = [...files.tensors.values()];
  const matrices = mappings.filter(({ isVector }) => !isVector);
  const info: ModelInfo = {
    name: files.name,
    ...(files.hub !== undefined && { hub: files.hub }),
    kind: files.kind,
    architecture: plan.reader.architecture,
    parameters: tensors.reduce((sum, { shape }) => sum + shape.reduce((product, extent) => product * extent, 1), 0),
    formats: bytesByFormat(tensors),
    loadedFormats: bytesByFormat(matrices.map(({ loaded }) => loaded)),
    vocabularySize: plan.config.vocabulary_size,
    hiddenSize: plan.config.hidden_size,
    trainedLength: plan.trainedLength,
    contextLength,
    generates: plan.noText === undefined,
    ...(plan.noText !== undefined && { noText: plan.noText }),
    ranks: plan.embedding.ranking !== undefined,
    decides: head !== undefined,
    embedding: embeddingInfo(plan),
    layers: plan.layers.map(shownLayer),
    memory: inRopes(options.rope, () => memoryOf(environment.heap, plan, mappings, cacheSettings, contextLength)),
  };
  if (head !== undefined) {
    const { weights, workspace } = memoryOf(environment.heap, head.plan, head.mappings, cacheSettings, contextLength);
    info.memory.weights += weights;
    info.memory.workspace += workspace;
  }
  return { files, head, plan, mappings, cacheSettings, info };
}

/** Whether the files are those of a decision checkpoint, of any kind. */
function isDecision({ decision, metadata }: ModelFiles): boolean {
  const start = `${String(metadata["general.architecture"])}.decision.`;
  return decision !== undefined || Object.keys(metadata).some((key) => key.startsWith(start));
}

/** A layer with its own kind. In the plan, layers with a window that share the RoPE of the others have the others' kind. */
function shownLayer(layer: ModelLayer): ModelLayer {
  const isWindowed = layer.kind === "full_attention" && layer.window > 0;
  return isWindowed ? { ...layer, kind: "sliding_attention" } : layer;
}

/** Models that only embed have no cache, so their texts may be as long as the model allows. */
function contextLengthOf(
  { config, trainedLength, embedding, noText }: ModelPlan,
  given: number | undefined,
  most = Infinity,
): number {
  const longest = Math.min(trainedLength, embedding.maxLength ?? Infinity, most);
  return checkContext(given ?? (noText === undefined ? Math.min(longest, DEFAULT_CONTEXT) : longest), config);
}

function embeddingInfo({ config, embedding }: ModelPlan): EmbeddingInfo {
  const { pooling, normalizes, prompts, defaultPrompt, dense, ranking } = embedding;
  const last = ranking === undefined ? dense[dense.length - 1] : undefined;
  return {
    pooling,
    normalize: normalizes,
    dimensions: last?.size ?? config.hidden_size,
    prompts,
    ...(defaultPrompt !== undefined && { defaultPrompt }),
    fromFiles: embedding.isFromFiles,
  };
}

/** Bytes by format, largest first. */
function bytesByFormat(parts: readonly { format: WeightFormatName; bytes: number }[]): ModelInfo["formats"] {
  const sums: ModelInfo["formats"] = {};
  for (const { format, bytes } of parts) sums[format] = (sums[format] ?? 0) + bytes;
  return Object.fromEntries(Object.entries(sums).sort(([, a], [, b]) => b - a));
}

async function tokenizerOf(files: ModelFiles, info: ModelInfo, options: ModelOptions): Promise<Tokenizer> {
  const { tokenizer, tokenizerConfig } = options.tokenizer ?? files;
  if (tokenizer !== undefined)
    return tokenizerFromFiles(tokenizer, tokenizerConfig, files.generationConfig, options.onWarning);
  const hasTokenizer = !NO_TOKENIZER.includes(files.metadata["tokenizer.ggml.model"] as string);
  if (hasTokenizer && files.metadata["tokenizer.ggml.tokens"] !== undefined) return tokenizerFromGguf(files.metadata);
  return missingTokenizer(files, info.vocabularySize);
}

/** The sampling options in generation_config.json. */
function samplingDefaults(config: Readonly<Record<string, unknown>>): SamplingOptions {
  const keys = {
    temperature: "temperature",
    topK: "top_k",
    topP: "top_p",
    minP: "min_p",
    typicalP: "typical_p",
    repetitionPenalty: "repetition_penalty",
  } as const;
  const values = Object.entries(keys).map(([option, key]) => [option, config[key]] as const);
  return Object.fromEntries(values.filter(([, value]) => typeof value === "number"));
}
