import type { GgufRopeTensors } from "../config/gguf.js";
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import type { CacheDType } from "../memory/elements.js";
import { RopewalkError } from "../base/errors.js";
import {
  type FilePlatform,
  type ModelFiles,
  type ModelSource,
  openModel,
  type OpenOptions,
  type ReadProgress,
  type StoredTensor,
} from "../files/model_files.js";
import type { Heap } from "../memory/heap.js";
import type { KeyMode } from "../cache/options.js";
import type { ChatMessage, ChatOptions } from "../text/chat_template.js";
import { renderChat } from "../text/chat_template.js";
import { type Tokenizer, tokenizerFromGguf, tokenizerFromJson } from "../text/tokenizer.js";
import type { GenerateOptions, Piece } from "./generate.js";
import { checkFits, type ModelMemory, memoryOf } from "./memory.js";
import { type CacheChoice, ModelCore } from "./model_core.js";
import { type ModelLayer, type ModelPlan, type ModelRopeOverrides, planOf, ropeOf } from "./model_plan.js";
import { perplexity, type Perplexity, type PerplexityOptions } from "./perplexity.js";
import type { Placement } from "./placement.js";
import { placementsOf } from "./placements.js";
import type { SamplingOptions } from "./sampler.js";
import { checkContext, Session, type SessionOptions } from "./session.js";
import { tokenless } from "./tokenless.js";

/** How a model is opened and used. */
export interface ModelOptions extends Omit<OpenOptions, "onProgress"> {
  /** Merged into the model's RoPE; by kind of layer where the kinds differ. */
  rope?: ModelRopeOverrides;
  /** Tokens of a session at most, 1 to 2^24 (what the model was trained for, up to 4096). */
  contextLength?: number;
  /** How keys and values are kept. */
  kv?: {
    /** Element type (`f16`). */
    dtype?: CacheDType;
    /** As in `rw.kvCache()`. */
    keys?: KeyMode;
  };
  /** Parsed tokenizer.json and tokenizer_config.json, in place of the file's own. */
  tokenizer?: { tokenizer: object; tokenizerConfig?: object };
  /** Jinja source, in place of the file's own. */
  chatTemplate?: string;
  /** Called as bytes arrive: of headers first, then of weights. */
  onProgress?: (progress: ReadProgress & { stage: "opening" | "weights" }) => void;
}

/** What a model is, from its headers alone. */
export interface ModelInfo {
  /** Name of its file. */
  name: string;
  /** `gguf` or `safetensors`. */
  kind: "gguf" | "safetensors";
  /** As the file names it. */
  architecture: string;
  /** Number of weights. */
  parameters: number;
  /** Bytes of each format, largest first. */
  formats: Partial<Record<StoredTensor["format"], number>>;
  vocabularySize: number;
  hiddenSize: number;
  /** Length the model was trained for, by its file. */
  trainedLength: number;
  /** Tokens of a session at most, unless asked otherwise. */
  contextLength: number;
  /** First to last. */
  layers: readonly ModelLayer[];
  /** What it takes. */
  memory: ModelMemory;
}

/** A prompt: text, tokens, or the messages of a chat. */
export type Prompt = string | Iterable<number> | readonly ChatMessage[];

const DEFAULT_CONTEXT = 4096;
const ROPE_TENSORS = ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"] as const;

/** A model in wasm memory. Made by `rw.model()`. */
export class Model implements Disposable {
  /** What it is. */
  readonly info: ModelInfo;
  /** Its vocabulary. */
  readonly tokenizer: Tokenizer;
  /** Jinja source of its chat template, if there is one. */
  readonly chatTemplate: string | undefined;
  readonly #core: ModelCore;
  readonly #choice: CacheChoice;
  readonly #sampling: SamplingOptions;

  /** @internal */
  constructor(
    core: ModelCore,
    info: ModelInfo,
    tokenizer: Tokenizer,
    choice: CacheChoice,
    sampling: SamplingOptions,
    chatTemplate: string | undefined,
  ) {
    this.#core = core;
    this.info = info;
    this.tokenizer = tokenizer;
    this.#choice = choice;
    this.#sampling = sampling;
    this.chatTemplate = chatTemplate;
  }

  /** What turns the layers that see the whole context; null where none is turned. */
  get rope(): Readonly<RopeConfig> | null {
    return ropeOf(this.info.layers);
  }

  /**
   * An empty text for the model to read and go on with. Several may be used in turn.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  session(options: SessionOptions = {}): Session {
    return new Session(
      this.#core,
      this.tokenizer,
      this.#choice,
      options.contextLength ?? this.info.contextLength,
      this.#sampling,
    );
  }

  /**
   * Goes on with a prompt in a session of its own, token by token.
   * @throws {@link RopewalkError} as {@link Session.append} and {@link Session.generate}.
   */
  async *generate(prompt: Prompt, options: GenerateOptions & SessionOptions = {}): AsyncGenerator<Piece, void, void> {
    const session = this.session(options);
    try {
      await session.append(
        await this.promptTokens(prompt),
        options.signal === undefined ? {} : { signal: options.signal },
      );
      yield* session.generate(options);
    } finally {
      session.dispose();
    }
  }

  /**
   * The tokens of a prompt: a text with the model's begin token, a chat as its template writes it.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (there is no tokenizer, or no template).
   */
  async promptTokens(prompt: Prompt, options: ChatOptions = {}): Promise<Int32Array> {
    if (typeof prompt === "string") return this.tokenizer.encode(prompt);
    const items: readonly unknown[] = [...prompt];
    if (items.length === 0 || typeof items[0] === "number") return Int32Array.from(items as number[]);
    // the template writes the special tokens itself
    return this.tokenizer.encode(await this.renderChat(items as ChatMessage[], options), { special: false });
  }

  /**
   * The text of a chat as the model's template writes it, ready for the model's answer.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL (there is no template), INVALID_ARGUMENT, INVALID_FILE (the template is at fault).
   */
  async renderChat(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<string> {
    if (this.chatTemplate === undefined) {
      throw new RopewalkError(
        "UNSUPPORTED_MODEL",
        `${this.info.name}: chat_template`,
        "is not there: give one as an option, or a text as the prompt",
      );
    }
    const { beginToken, endTokens } = this.tokenizer;
    const written = (token: number | undefined): string => (token === undefined ? "" : this.tokenizer.token(token));
    return renderChat(this.chatTemplate, messages, {
      beginToken: written(beginToken),
      endToken: written(endTokens[0]),
      ...options,
    });
  }

  /**
   * How well the model foresees a text, position by position.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED, and as `ropeConfig()`; rejects with the signal's reason.
   */
  async perplexity(text: string | Iterable<number>, options: PerplexityOptions = {}): Promise<Perplexity> {
    const tokens = typeof text === "string" ? this.tokenizer.encode(text) : Int32Array.from(text);
    return perplexity(this.#core, this.#choice, tokens, this.info.contextLength, options);
  }

  /**
   * The last hidden state after a text, as {@link Session.hidden}.
   * @throws {@link RopewalkError} as {@link Session.append}.
   */
  async embed(text: string | Iterable<number>, options: { signal?: AbortSignal } = {}): Promise<Float32Array> {
    const session = this.session();
    try {
      await session.append(text, options);
      return session.hidden();
    } finally {
      session.dispose();
    }
  }

  /** Gives the weights back. Sessions give back their own; using either afterwards throws DISPOSED. */
  dispose(): void {
    this.#core.dispose();
  }

  /** The same. */
  [disposeSymbol](): void {
    this.dispose();
  }
}

/** Where a model is made: wasm memory, and how to get at files. @internal */
export interface ModelHost {
  heap: Heap;
  files: FilePlatform;
  isScalar: boolean;
}

interface Opened {
  files: ModelFiles;
  plan: ModelPlan;
  placements: readonly Placement[];
  choice: CacheChoice;
  info: ModelInfo;
}

/** Opens a model's headers and says what it is. @internal */
export async function modelInfo(host: ModelHost, source: ModelSource, options: ModelOptions): Promise<ModelInfo> {
  return (await open(host, source, options)).info;
}

/** Loads a model. @internal */
export async function loadModel(host: ModelHost, source: ModelSource, options: ModelOptions): Promise<Model> {
  const { files, plan, placements, choice, info } = await open(host, source, options);
  checkFits(files.name, info.memory);
  const tokenizer = await tokenizerOf(files, info, options);
  const { signal, onProgress } = options;
  const core = await ModelCore.load(host.heap, files, plan, placements, host.isScalar, {
    ...(signal !== undefined && { signal }),
    ...(onProgress !== undefined && { onProgress: (progress) => onProgress({ ...progress, stage: "weights" }) }),
  });
  return new Model(
    core,
    info,
    tokenizer,
    choice,
    samplingOf(files.generationConfig ?? {}),
    options.chatTemplate ?? chatTemplateOf(files),
  );
}

async function open(host: ModelHost, source: ModelSource, options: ModelOptions): Promise<Opened> {
  const { onProgress, ...rest } = options;
  const files = await openModel(host.files, source, {
    ...rest,
    ...(onProgress !== undefined && { onProgress: (progress) => onProgress({ ...progress, stage: "opening" }) }),
  });
  const plan = planOf(files, await readRopeTensors(files, options.signal), options.rope);
  const placements = placementsOf(files, plan);
  const choice: CacheChoice = {
    dtype: options.kv?.dtype ?? "f16",
    ...(options.kv?.keys !== undefined && { keys: options.kv.keys }),
  };
  const contextLength = checkContext(options.contextLength ?? Math.min(plan.trainedLength, DEFAULT_CONTEXT));
  const formats: ModelInfo["formats"] = {};
  let parameters = 0;
  for (const { format, bytes, shape } of files.tensors.values()) {
    formats[format] = (formats[format] ?? 0) + bytes;
    parameters += shape.reduce((product, extent) => product * extent, 1);
  }
  const info: ModelInfo = {
    name: files.name,
    kind: files.kind,
    architecture: plan.facts.architecture,
    parameters,
    formats: Object.fromEntries(Object.entries(formats).sort(([, a], [, b]) => b - a)),
    vocabularySize: plan.config.vocabulary_size,
    hiddenSize: plan.config.hidden_size,
    trainedLength: plan.trainedLength,
    contextLength,
    layers: plan.layers,
    memory: memoryOf(host.heap, plan, placements, choice, contextLength),
  };
  return { files, plan, placements, choice, info };
}

/** The tensors of a GGUF file that belong to its RoPE. */
async function readRopeTensors(files: ModelFiles, signal: AbortSignal | undefined): Promise<GgufRopeTensors> {
  const found = ROPE_TENSORS.map((name) => files.tensors.get(name)).filter((tensor) => tensor !== undefined);
  const wrong = found.find(({ format }) => format !== "f32");
  if (wrong !== undefined)
    throw new RopewalkError("INVALID_FILE", `${files.name}: ${wrong.name}`, `must be f32 (got ${wrong.format})`);
  const bytes = new Map(found.map((tensor) => [tensor.name, new Uint8Array(tensor.bytes)]));
  await files.read(
    found,
    ({ name }, offset, chunk) => bytes.get(name)!.set(chunk, offset),
    signal === undefined ? {} : { signal },
  );
  return Object.fromEntries([...bytes].map(([name, data]) => [name, new Float32Array(data.buffer)]));
}

async function tokenizerOf(files: ModelFiles, info: ModelInfo, options: ModelOptions): Promise<Tokenizer> {
  const { tokenizer, tokenizerConfig } = options.tokenizer ?? files;
  if (tokenizer !== undefined) return tokenizerFromJson(tokenizer, tokenizerConfig, files.generationConfig);
  if (files.metadata["tokenizer.ggml.tokens"] !== undefined) return tokenizerFromGguf(files.metadata);
  return tokenless(files.name, info.vocabularySize);
}

/** Since 2025 a template stands in a file of its own; before, in tokenizer_config.json, where several have names. */
function chatTemplateOf({ chatTemplate, tokenizerConfig, metadata }: ModelFiles): string | undefined {
  const given: unknown = chatTemplate ?? metadata["tokenizer.chat_template"] ?? tokenizerConfig?.["chat_template"];
  if (typeof given === "string") return given;
  if (!Array.isArray(given)) return undefined;
  const named = (given as { name?: unknown; template?: unknown }[]).find(({ name }) => name === "default")?.template;
  return typeof named === "string" ? named : undefined;
}

/** What generation_config.json says of sampling. */
function samplingOf(config: Readonly<Record<string, unknown>>): SamplingOptions {
  const names = {
    temperature: "temperature",
    topK: "top_k",
    topP: "top_p",
    minP: "min_p",
    repetitionPenalty: "repetition_penalty",
  } as const;
  const given = Object.entries(names).map(([ours, theirs]) => [ours, config[theirs]] as const);
  return Object.fromEntries(given.filter(([, value]) => typeof value === "number"));
}
