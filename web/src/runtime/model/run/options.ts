// The options of models: their types, and their names, which the Worker's client checks before it sends a call.
import { MODEL_ELSEWHERE } from "../../../core/base/elsewhere.js";
import { type OptionNames, optionNames } from "../../../core/base/options.js";
import type { AdapterOptions } from "./adapters_in_use.js";
import type { KeyMode } from "../../../core/cache/options.js";
import type { OpenOptions, ReadProgress } from "../../files/model_files.js";
import type { CacheDType } from "../../../core/memory/elements.js";
import type { ModelRopeOverrides } from "../plan/model_plan.js";
import type { QuantizeFormat } from "../../../core/quantize/quantize_formats.js";

/** Options for loading a model. */
export interface ModelOptions extends Omit<OpenOptions, "onProgress"> {
  /** Overrides of the model's RoPE config. For a model with several kinds of layers, they can be given by kind. */
  rope?: ModelRopeOverrides;
  /** Maximum tokens of a session, 1 to 2^24. Default: the trained context length, but at most 4096. */
  contextLength?: number;
  /** How sessions store keys and values. */
  kv?: {
    /**
     * Element type. Default: `f16`. `q8_0` is half as large and loses almost nothing. `q4_channel` takes three tenths and loses little. `q4_0`
     * takes as much and changes what a model says.
     */
    dtype?: CacheDType;
    /** Whether keys are stored raw or rotated, as in `rw.kvCache()`. */
    keys?: KeyMode;
  };
  /**
   * Rounds the matrices that the file stores in f32, f16 or bf16 to this format while they are read: 1.06, 0.56 or 0.56 bytes for each weight.
   * Vectors, routers and matrices that the file stores in another format stay as they are. Default: none are.
   */
  quantize?: QuantizeFormat;
  /** Parsed tokenizer.json and tokenizer_config.json that replace those of the model, or what `rw.tokenizer()` takes for RWKV World. */
  tokenizer?: { tokenizer: object; tokenizerConfig?: object };
  /** Jinja source that replaces the model's chat template. */
  chatTemplate?: string;
  /** Called while bytes arrive, first of headers (`opening`), then of weights, with the name of the file that was opened first. */
  onProgress?: (progress: ReadProgress & { stage: "opening" | "weights"; file?: string }) => void;
}

/** Options for loading an adapter: those of opening a file. */
export type LoadAdapterOptions = OpenOptions;

/** Options for measuring perplexity. */
export interface PerplexityOptions {
  /** Tokens per window, from 2. Default: the model's context length. */
  window?: number;
  /**
   * Tokens between the starts of two windows, 1 to `window`. A smaller stride gives each token more context and takes
   * longer. Default: `window`.
   */
  stride?: number;
  /**
   * RoPE overrides for this measurement, as in `rw.model()`. The weights aren't loaded again, so it's cheap to compare
   * several.
   */
  rope?: ModelRopeOverrides;
  /** LoRA adapters that the text is read with. Default: none. */
  adapters?: AdapterOptions;
  /** Aborts between two batches of 128 tokens. */
  signal?: AbortSignal;
  /** Called after each batch, with numbers of tokens. */
  onProgress?: (progress: { done: number; total: number }) => void;
}

const FILES = {
  signal: true,
  onProgress: true,
  headers: true,
  cache: true,
  hub: true,
  token: true,
  retries: true,
  timeout: true,
  onWarning: true,
} as const;

const OPEN = {
  ...FILES,
  rope: true,
  contextLength: true,
  kv: true,
  quantize: true,
  tokenizer: true,
  chatTemplate: true,
} as const;

/** @internal */
export const ADAPTER_OPTIONS: OptionNames = optionNames<LoadAdapterOptions>("loadAdapter()", FILES, MODEL_ELSEWHERE);
/** @internal */
export const MODEL_OPTIONS: OptionNames = optionNames<ModelOptions>("rw.model()", OPEN, MODEL_ELSEWHERE);
/** @internal */
export const MODEL_INFO_OPTIONS: OptionNames = optionNames<ModelOptions>("rw.modelInfo()", OPEN, MODEL_ELSEWHERE);
/** @internal */
export const WORKER_MODEL_OPTIONS: OptionNames = optionNames<ModelOptions & { transfer?: boolean }>(
  "rw.model()",
  {
    ...OPEN,
    transfer: true,
  },
  MODEL_ELSEWHERE,
);
/** @internal */
export const KV_OPTIONS: OptionNames = optionNames<NonNullable<ModelOptions["kv"]>>("rw.model()", {
  dtype: true,
  keys: true,
});
/** @internal */
export const TOKENIZER_FILES: OptionNames = optionNames<NonNullable<ModelOptions["tokenizer"]>>("rw.model()", {
  tokenizer: true,
  tokenizerConfig: true,
});
/** @internal */
export const PERPLEXITY_OPTIONS: OptionNames = optionNames<PerplexityOptions>("perplexity()", {
  window: true,
  stride: true,
  rope: true,
  adapters: true,
  signal: true,
  onProgress: true,
});
