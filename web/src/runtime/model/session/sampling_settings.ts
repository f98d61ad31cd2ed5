// Reads sampling options: their defaults, and what the core takes.
import * as advise from "../../../core/base/advice.js";
import { codeIn, finiteNumber, wholeNumber } from "../../../core/base/checks.js";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { listOf } from "../../../core/base/lists.js";
import { checkOptions, optionNames } from "../../../core/base/options.js";
import { show } from "../../../core/base/show.js";
import type { SuppressedTokens } from "../config/suppressed_tokens.js";
import {
  type DryOptions,
  type MirostatOptions,
  SAMPLER_ORDERS,
  type SamplingOptions,
  type XtcOptions,
} from "./sampling_options.js";

/** Options of the core's sampler, in the order in which it takes them. @internal */
export const SAMPLER_FIELDS = [
  "repetition",
  "frequency",
  "presence",
  "penalty_window",
  "dry_multiplier",
  "dry_base",
  "dry_allowed_length",
  "dry_window",
  "top_n_sigma",
  "top_k",
  "typical_p",
  "top_p",
  "min_p",
  "xtc_probability",
  "xtc_threshold",
  "temperature",
  "mirostat_tau",
  "mirostat_eta",
  "order",
] as const;

/** What a model's files say about sampling. @internal */
export interface SamplingDefaults {
  readonly options: SamplingOptions;
  readonly suppressed: SuppressedTokens;
}

/** Sampling options, read and checked except for the ranges that the core checks. @internal */
export interface SamplingSettings {
  readonly core: Readonly<Record<(typeof SAMPLER_FIELDS)[number], number>>;
  readonly biases: readonly (readonly [token: number, bias: number])[];
  /** Tokens that can't be the first one. */
  readonly notFirst: readonly number[];
  /** The caller's; undefined for the default ones. */
  readonly breakers: readonly string[] | undefined;
  readonly seed: number;
  /** The value of a field at fault, for the core's errors. */
  readonly given: (field: string) => unknown;
}

const DRY = optionNames<DryOptions>("generate()", {
  multiplier: true,
  base: true,
  allowedLength: true,
  window: true,
  breakers: true,
});
const XTC = optionNames<XtcOptions>("generate()", { probability: true, threshold: true });
const MIROSTAT = optionNames<MirostatOptions>("generate()", { tau: true, eta: true });

const PENALTIES = ["repetitionPenalty", "frequencyPenalty", "presencePenalty"] as const;
/** What Mirostat replaces. */
const DROPPING = ["topNSigma", "topK", "topP", "minP", "typicalP", "xtc", "samplerOrder"] as const;
const KEEP_ALL: SamplingOptions = { topK: 0, topP: 1, minP: 0, typicalP: 1 };
const MOST = 2 ** 20;

/**
 * @param options - the caller's
 * @param defaults - the model's
 * @throws {@link RopewalkError} INVALID_ARGUMENT, UNKNOWN_KEY.
 * @internal
 */
export function readSampling(
  options: SamplingOptions,
  { options: defaults, suppressed }: SamplingDefaults,
  vocabularySize: number,
): SamplingSettings {
  const { dry, xtc, mirostat } = options;
  if (mirostat !== undefined) refuseBesideMirostat(options);
  const all: SamplingOptions = { ...defaults, ...(mirostat !== undefined && KEEP_ALL), ...options };
  const number = (name: keyof SamplingOptions, fallback: number): number => finiteNumber(all[name] ?? fallback, name);
  const d: DryOptions = dry === undefined ? { multiplier: 0 } : checkOptions(dry, DRY, "dry");
  const x: XtcOptions = xtc === undefined ? { probability: 0 } : checkOptions(xtc, XTC, "xtc");
  const m: MirostatOptions = mirostat === undefined ? { tau: 0 } : checkOptions(mirostat, MIROSTAT, "mirostat");
  const tau = finiteNumber(m.tau ?? 5, "mirostat.tau");
  if (mirostat !== undefined && tau === 0) fail("INVALID_ARGUMENT", "mirostat.tau", "must be above 0 (got 0)");
  const core: SamplingSettings["core"] = {
    repetition: number("repetitionPenalty", 1),
    frequency: number("frequencyPenalty", 0),
    presence: number("presencePenalty", 0),
    penalty_window: wholeNumber(all.penaltyWindow ?? 64, 0, MOST, "penaltyWindow"),
    dry_multiplier: finiteNumber(d.multiplier, "dry.multiplier"),
    dry_base: finiteNumber(d.base ?? 1.75, "dry.base"),
    dry_allowed_length: wholeNumber(d.allowedLength ?? 2, 1, MOST, "dry.allowedLength"),
    dry_window: wholeNumber(d.window ?? 1024, 0, MOST, "dry.window"),
    top_n_sigma: number("topNSigma", 0),
    top_k: wholeNumber(all.topK ?? 40, 0, 2 ** 30, "topK"),
    typical_p: number("typicalP", 1),
    top_p: number("topP", 0.95),
    min_p: number("minP", 0.05),
    xtc_probability: finiteNumber(x.probability, "xtc.probability"),
    xtc_threshold: finiteNumber(x.threshold ?? 0.1, "xtc.threshold"),
    temperature: number("temperature", 0.8),
    mirostat_tau: tau,
    mirostat_eta: finiteNumber(m.eta ?? 0.1, "mirostat.eta"),
    order: codeIn(SAMPLER_ORDERS, all.samplerOrder ?? "transformers", "samplerOrder"),
  };
  const { repetition, frequency, presence } = core;
  const hasPenalty = PENALTIES.some((name) => options[name] !== undefined);
  if (options.penaltyWindow !== undefined && !hasPenalty && repetition === 1 && frequency === 0 && presence === 0)
    fail(
      "INVALID_ARGUMENT",
      "penaltyWindow",
      "is used only with a penalty for repetition, frequency or presence",
      advise.other("pass one of them"),
    );
  if (all.mirostat !== undefined && core.temperature === 0)
    fail("INVALID_ARGUMENT", "mirostat", "needs a temperature above 0: at 0, the most probable token is taken");
  return {
    core,
    biases: [
      ...readBiases(all.logitBias, vocabularySize),
      ...suppressed.always.map((token) => [token, -Infinity] as const),
    ],
    notFirst: suppressed.first,
    breakers: readBreakers(d.breakers),
    seed: wholeNumber(all.seed ?? Math.floor(Math.random() * 2 ** 53), 0, Number.MAX_SAFE_INTEGER, "seed"),
    given: (field) => field.split(".").reduce((value: unknown, key) => (isDict(value) ? value[key] : undefined), all),
  };
}

function refuseBesideMirostat(options: SamplingOptions): void {
  const replaced = DROPPING.find((name) => options[name] !== undefined);
  if (replaced !== undefined)
    fail("INVALID_ARGUMENT", replaced, "isn't used with mirostat", advise.other("leave one of them out"));
}

function readBiases(given: SamplingOptions["logitBias"], vocabularySize: number): [number, number][] {
  if (given === undefined) return [];
  if (!(given instanceof Map) && !isDict(given))
    fail("INVALID_ARGUMENT", "logitBias", `must be token ids with numbers (got ${show(given)})`);
  const entries: [unknown, unknown][] = given instanceof Map ? [...given] : Object.entries(given);
  return entries.map(([key, bias]) => {
    const token = typeof key === "string" && /^\d+$/.test(key) ? Number(key) : key;
    if (!Number.isInteger(token) || (token as number) < 0 || (token as number) >= vocabularySize)
      fail(
        "INVALID_ARGUMENT",
        "logitBias",
        `must have tokens of the vocabulary, 0 to ${vocabularySize - 1} (got ${show(key)})`,
      );
    if (typeof bias !== "number" || (bias !== -Infinity && !Number.isFinite(Math.fround(bias))))
      fail("INVALID_ARGUMENT", `logitBias[${token as number}]`, `must be a number or -Infinity (got ${show(bias)})`);
    return [token as number, bias];
  });
}

function readBreakers(given: unknown): string[] | undefined {
  if (given === undefined) return undefined;
  const breakers = listOf(given, "dry.breakers", "texts");
  const wrong = breakers.findIndex((breaker) => typeof breaker !== "string" || breaker === "");
  if (wrong >= 0)
    fail(
      "INVALID_ARGUMENT",
      `dry.breakers[${wrong}]`,
      `must be a text that isn't empty (got ${show(breakers[wrong])})`,
    );
  return breakers as string[];
}
