// The public Model class: sessions, generation, chat templates, perplexity and embeddings.
import type { RopeConfig } from "../config/types.js";
import { disposeSymbol } from "../base/dispose.js";
import type { CacheDType } from "../memory/elements.js";
import { fail } from "../base/errors.js";
import type { OpenOptions, ReadProgress, StoredTensor } from "../files/model_files.js";
import type { KeyMode } from "../cache/options.js";
import { type ChatMessage, type ChatOptions, renderChat } from "../text/chat_template.js";
import type { Tokenizer } from "../text/tokenizer.js";
import type { GenerateOptions, Piece } from "./generate.js";
import type { ModelMemory } from "./memory.js";
import type { CacheSettings, ModelCore } from "./model_core.js";
import { type ModelLayer, type ModelRopeOverrides, ropeOf } from "./model_plan.js";
import { perplexity, type Perplexity, type PerplexityOptions } from "./perplexity.js";
import type { SamplingOptions } from "./sampler.js";
import { Session, type SessionOptions } from "./session.js";

/** Options for loading a model. */
export interface ModelOptions extends Omit<OpenOptions, "onProgress"> {
  /** Overrides of the model's RoPE config. For a model with several kinds of layers, they can be given by kind. */
  rope?: ModelRopeOverrides;
  /** Maximum tokens of a session, 1 to 2^24. Default: the trained context length, but at most 4096. */
  contextLength?: number;
  /** How sessions store keys and values. */
  kv?: {
    /** Element type. Default: `f16`. */
    dtype?: CacheDType;
    /** Whether keys are stored raw or rotated, as in `rw.kvCache()`. */
    keys?: KeyMode;
  };
  /** Parsed tokenizer.json and tokenizer_config.json that replace those of the model. */
  tokenizer?: { tokenizer: object; tokenizerConfig?: object };
  /** Jinja source that replaces the model's chat template. */
  chatTemplate?: string;
  /** Called while bytes arrive, first of headers (`opening`), then of weights. */
  onProgress?: (progress: ReadProgress & { stage: "opening" | "weights" }) => void;
}

/** Description of a model. It's read from headers, without loading weights. */
export interface ModelInfo {
  /** Name of its file. */
  name: string;
  /** `gguf` or `safetensors`. */
  kind: "gguf" | "safetensors";
  /** Architecture as the file names it, such as `llama`. */
  architecture: string;
  /** Number of weights. */
  parameters: number;
  /** Bytes by weight format, largest first. */
  formats: Partial<Record<StoredTensor["format"], number>>;
  vocabularySize: number;
  hiddenSize: number;
  /** Context length the model was trained for, from its config. */
  trainedLength: number;
  /** Maximum tokens of a session, unless the session sets its own. */
  contextLength: number;
  /** Layers, first to last. */
  layers: readonly ModelLayer[];
  /** Wasm memory it needs. */
  memory: ModelMemory;
}

/** A prompt: text, token ids, or the messages of a chat. */
export type Prompt = string | Iterable<number> | readonly ChatMessage[];

/** A model in wasm memory. Created by `rw.model()`. */
export class Model implements Disposable {
  /** Description of the model. */
  readonly info: ModelInfo;
  /** Its tokenizer. */
  readonly tokenizer: Tokenizer;
  /** Jinja source of its chat template, if it has one. */
  readonly chatTemplate: string | undefined;
  readonly #core: ModelCore;
  readonly #cacheSettings: CacheSettings;
  readonly #sampling: SamplingOptions;

  /** @internal */
  constructor(
    core: ModelCore,
    info: ModelInfo,
    tokenizer: Tokenizer,
    cacheSettings: CacheSettings,
    sampling: SamplingOptions,
    chatTemplate: string | undefined,
  ) {
    this.#core = core;
    this.info = info;
    this.tokenizer = tokenizer;
    this.#cacheSettings = cacheSettings;
    this.#sampling = sampling;
    this.chatTemplate = chatTemplate;
  }

  /** RoPE of the full-attention layers; null for a model without RoPE. */
  get rope(): Readonly<RopeConfig> | null {
    return ropeOf(this.info.layers);
  }

  /**
   * Creates an empty session. A model can have several sessions at the same time.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED.
   */
  session(options: SessionOptions = {}): Session {
    return new Session(
      this.#core,
      this.tokenizer,
      this.#cacheSettings,
      options.contextLength ?? this.info.contextLength,
      this.#sampling,
    );
  }

  /**
   * Continues a prompt in a temporary session, token by token.
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
   * Returns the token ids of a prompt. Text is encoded with the begin token of the model, and a chat by its template.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, UNSUPPORTED_MODEL (no tokenizer, or no chat template).
   */
  async promptTokens(prompt: Prompt, options: ChatOptions = {}): Promise<Int32Array> {
    if (typeof prompt === "string") return this.tokenizer.encode(prompt);
    const items: readonly unknown[] = [...prompt];
    if (items.length === 0 || typeof items[0] === "number") return Int32Array.from(items as number[]);
    // the template writes the special tokens itself
    return this.tokenizer.encode(await this.renderChat(items as ChatMessage[], options), { special: false });
  }

  /**
   * Renders a chat with the model's template, up to the beginning of the model's answer.
   * @throws {@link RopewalkError} UNSUPPORTED_MODEL (no chat template), INVALID_ARGUMENT, INVALID_FILE (the template
   * has an error).
   */
  async renderChat(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<string> {
    if (this.chatTemplate === undefined) {
      fail(
        "UNSUPPORTED_MODEL",
        `${this.info.name}: chat_template`,
        "the model has no chat template; pass one with the option `chatTemplate`, or pass the prompt as text",
      );
    }
    const { beginToken, endTokens } = this.tokenizer;
    const textOf = (token: number | undefined): string => (token === undefined ? "" : this.tokenizer.token(token));
    return renderChat(this.chatTemplate, messages, {
      beginToken: textOf(beginToken),
      endToken: textOf(endTokens[0]),
      ...options,
    });
  }

  /**
   * Measures how well the model predicts a text.
   * @throws {@link RopewalkError} INVALID_ARGUMENT, OUT_OF_MEMORY, DISPOSED, and as `ropeConfig()`; rejects with the
   * signal's reason.
   */
  async perplexity(text: string | Iterable<number>, options: PerplexityOptions = {}): Promise<Perplexity> {
    const tokens = typeof text === "string" ? this.tokenizer.encode(text) : Int32Array.from(text);
    return perplexity(this.#core, this.#cacheSettings, tokens, this.info.contextLength, options);
  }

  /**
   * Returns an embedding of a text: the hidden state of its last token, as {@link Session.hidden}.
   * @returns [hiddenSize]
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

  /**
   * Frees the memory. Calling it twice is harmless. Sessions must be disposed separately. Using the model or its
   * sessions afterwards throws DISPOSED.
   */
  dispose(): void {
    this.#core.dispose();
  }

  /** Same as {@link Model.dispose}. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
