// How the next token is chosen: the options.

/** A penalty on tokens that continue a repeat of the last tokens (DRY, "don't repeat yourself"). */
export interface DryOptions {
  /** What a token loses that continues a repeat of `allowedLength` tokens; from 0. The field uses 0.8. */
  multiplier: number;
  /** Factor of that for each token more, from 1. Default: 1.75. */
  base?: number;
  /** Length in tokens from which a repeat counts, from 1. Default: 2. */
  allowedLength?: number;
  /** Number of recent tokens among which repeats are searched, from 0. Default: 1024. */
  window?: number;
  /** Texts that no repeat contains: a token with one of them ends it. Default: a line break, `:`, `"` and `*`. */
  breakers?: readonly string[];
}

/** Sometimes leaves out the most probable tokens (XTC, "exclude top choices"). */
export interface XtcOptions {
  /** How often, 0 to 1. */
  probability: number;
  /** Of the tokens of at least this probability, only the least probable stays; above 0 and at most 1. Default: 0.1. */
  threshold?: number;
}

/** Keeps the information of tokens near a target (Mirostat 2.0, arXiv:2007.14966). */
export interface MirostatOptions {
  /** The target in bits for each token, above 0. Default: 5. */
  tau?: number;
  /** How fast the limit follows what was drawn, above 0. Default: 0.1. */
  eta?: number;
}

/** In which order options drop tokens: see {@link SamplingOptions}. */
export const SAMPLER_ORDERS = ["transformers", "llama.cpp"] as const;
/** One of {@link SAMPLER_ORDERS}. */
export type SamplerOrder = (typeof SAMPLER_ORDERS)[number];

/**
 * How the next token is chosen. First come `logitBias`, the penalties and `dry`. Then options drop tokens: as in
 * transformers in the order `temperature`, `topNSigma`, `topK`, `topP`, `minP`, `typicalP`, `xtc`; or as in llama.cpp
 * in the order `topNSigma`, `topK`, `typicalP`, `topP`, `minP`, `xtc`, `temperature`. One of the others is drawn.
 */
export interface SamplingOptions {
  /**
   * Added to the logits of these tokens; `-Infinity` forbids a token. Token ids with numbers, or a Map of them. Tokens that the model's files ban
   * (`suppress_tokens`) stay forbidden.
   */
  logitBias?: Readonly<Record<number, number>> | ReadonlyMap<number, number>;
  /** Divides positive logits of recent tokens and multiplies negative ones; above 0. Default: 1, no penalty. */
  repetitionPenalty?: number;
  /** Subtracted from logits for each time that a token is among the recent ones. Default: 0. */
  frequencyPenalty?: number;
  /** Subtracted from logits of recent tokens. Default: 0. */
  presencePenalty?: number;
  /** Number of recent tokens that these three penalties apply to, from 0. Default: 64. */
  penaltyWindow?: number;
  /** A penalty on longer repeats. Default: none. */
  dry?: DryOptions;
  /**
   * From 0, which always chooses the most probable token. Default: that of the model's generation_config.json, or 0.8.
   */
  temperature?: number;
  /** Keeps logits at most n standard deviations below the largest (arXiv:2411.07641). Default: 0, which keeps all. */
  topNSigma?: number;
  /** Keeps the k most probable tokens; 0 keeps all. Default: that of generation_config.json, or 40. */
  topK?: number;
  /**
   * Keeps the smallest set of most probable tokens whose probabilities sum to p, above 0 and at most 1. Default: that
   * of generation_config.json, or 0.95.
   */
  topP?: number;
  /**
   * Keeps tokens with at least this fraction of the largest probability, 0 to 1. Default: that of
   * generation_config.json, or 0.05.
   */
  minP?: number;
  /**
   * Keeps the tokens whose information is nearest to the expected, until their probabilities sum to p, above 0 and at
   * most 1 (arXiv:2202.00666). Default: that of generation_config.json, or 1, which keeps all.
   */
  typicalP?: number;
  /** Leaves out the most probable tokens at times. Default: never. */
  xtc?: XtcOptions;
  /** Drops tokens by a limit that follows the text, instead of the options from `topNSigma` to `xtc`. Default: none. */
  mirostat?: MirostatOptions;
  /** Default: `transformers`. */
  samplerOrder?: SamplerOrder;
  /**
   * An integer from 0 to 2^53 − 1. On the simd build, the same seed gives the same text in every engine. Default:
   * random.
   */
  seed?: number;
}

/** @internal */
export const SAMPLING = {
  logitBias: true,
  repetitionPenalty: true,
  frequencyPenalty: true,
  presencePenalty: true,
  penaltyWindow: true,
  dry: true,
  temperature: true,
  topNSigma: true,
  topK: true,
  topP: true,
  minP: true,
  typicalP: true,
  xtc: true,
  mirostat: true,
  samplerOrder: true,
  seed: true,
} as const;
