// The entry to this folder: searches the factors of a longrope scaling for a model and a length.
import * as advise from "../../core/base/advice.js";
import { finiteNumber, optionalFunction, optionalSignal, wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { RopeOverrides } from "../../core/config/overrides.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import { Evaluator, type SearchModel } from "./evaluate.js";
import { type Candidate, evolve } from "./evolve.js";
import { SeededRandom } from "./random.js";
import {
  comparedScalings,
  foundRope,
  type FoundRope,
  keyOf,
  type RopeFactors,
  searchedOverrides,
  searchSpace,
  seeds,
} from "./space.js";
import { type SearchText, type TokenText, tokensOfTexts } from "./texts.js";

/** One candidate that was evaluated. Plain JSON, to be kept and passed to a search that goes on. */
export interface SearchEvaluation extends RopeFactors {
  /** Sums of the weighted losses of each text in the order in which they were read, up to where the candidate was given up. */
  readonly sums: readonly number[];
  /** Whether all texts were read. Otherwise the losses so far were more than a candidate to keep may have. */
  readonly isWhole: boolean;
}

/** Where a search is. */
export interface SearchProgress {
  /** Candidates evaluated, those of an earlier run included, and the most that will be. */
  done: number;
  total: number;
  /** Lowest mean loss so far, in nats, and that of the best scaling that the search started from. */
  loss: number;
  firstLoss: number;
}

/** Options of {@link searchRope}. */
export interface RopeSearchOptions {
  /** Tokens that the model should read: above its trained length, up to 2^24. */
  length: number;
  /** Texts to search on, each of at most `length` tokens: those of {@link needleTexts}, or your own. */
  texts: readonly SearchText[];
  /** Other texts of the same kind, on which the result is compared with known scalings at the end. Default: none. */
  checkTexts?: readonly SearchText[];
  /** Tokens that the model was trained on, 2 to 2^24. Default: `max_position_embeddings`. */
  trainedLength?: number;
  /** The most candidates to evaluate, 10 to 100,000 (300). */
  evaluations?: number;
  /** Seconds after which no further candidate is begun. The first ten or so, which the search starts from, are always evaluated. Default: no limit. */
  seconds?: number;
  /**
   * Weight of the tokens that belong to no answer, relative to those that do, 0 to 1 (0). 0 is LongRoPE2's needle-driven perplexity, 1 is LongRoPE's
   * perplexity of all tokens. Answers are a small share of a text, so 0.01 may give all others the same weight together.
   */
  otherTokens?: number;
  /** Seed of the mutations, 0 to 2^32 − 1 (1). The same model, texts and seed give the same result. */
  seed?: number;
  /** Evaluations of an earlier run with the same model, options and texts, in their order. They aren't repeated. */
  evaluated?: readonly SearchEvaluation[];
  /** Called with each new evaluation, to keep it. */
  onEvaluation?: (evaluation: SearchEvaluation) => void;
  /** Called after each candidate. */
  onProgress?: (progress: SearchProgress) => void;
  signal?: AbortSignal;
}

/** A scaling on the texts of a search. */
export interface ComparedRope {
  /** `found`, `none` for the model as it is, or a `rope_type`: linear (PI), ntk, yarn, dynamic_yarn. */
  name: string;
  /** Overrides as `rw.model()` and `session.retune()` take them. */
  rope: RopeOverrides;
  /** Weighted mean loss of the texts to search on, in nats. */
  loss: number;
  /** Mean loss of the answers' tokens in the texts to check, and the share of tokens whose logit was the highest. Absent without such texts. */
  checked?: { loss: number; right: number };
}

/** What {@link searchRope} found. */
export interface RopeSearchResult {
  /** The scaling, as keys of a config.json and as the option `rope` of `rw.model()`. */
  rope: FoundRope;
  /** Weighted mean loss of the texts to search on, in nats. */
  loss: number;
  /** The result, and the scalings that it is compared with. All have the same length and trained length. */
  compared: ComparedRope[];
  /** Candidates evaluated, those of an earlier run included, and how many of them were given up early. */
  evaluations: number;
  abandoned: number;
  /** Why it ended: all evaluations were made, or the time was over. */
  ended: "evaluations" | "time";
}

const OPTIONS = optionNames<RopeSearchOptions>("searchRope()", {
  length: true,
  texts: true,
  checkTexts: true,
  trainedLength: true,
  evaluations: true,
  seconds: true,
  otherTokens: true,
  seed: true,
  evaluated: true,
  onEvaluation: true,
  onProgress: true,
  signal: true,
});

/** More than there are scalings to start from. */
const FEWEST = 10;

/**
 * Searches the factors of a `longrope` scaling with which a model reads a length, as LongRoPE and LongRoPE2 do: by evolution, and guided by the
 * losses of the tokens of answers alone, which need what the text said long before. Starts from PI, NTK-aware and YaRN. The attention factor is
 * searched too. A candidate is given up as soon as its losses so far add up to more than those of the candidates that are kept.
 *
 * Within the trained length the scaling changes no frequency, but the attention factor is used there too, as in transformers.
 *
 * @param rw - from `load()`: it has the frequencies of known scalings
 * @param model - from `rw.model()`, here or in a Worker. One session of it reads all texts.
 * @throws RopewalkError UNSUPPORTED_MODEL (no RoPE, different RoPEs in its layers, or a scaling that factors can't be put on), INVALID_ARGUMENT,
 * UNKNOWN_KEY, OUT_OF_MEMORY, DISPOSED; rejects with the signal's reason.
 */
export async function searchRope(
  rw: Ropewalk,
  model: SearchModel,
  options: RopeSearchOptions,
): Promise<RopeSearchResult> {
  const given = checkOptions(options, OPTIONS);
  const { evaluations = 300, seconds = Infinity, otherTokens = 0, seed = 1, evaluated = [] } = given;
  if (typeof (rw as Partial<Ropewalk> | undefined)?.rope !== "function")
    fail("INVALID_ARGUMENT", "rw", "must be what load() returns");
  const length = wholeNumber(given.length, 2, 2 ** 24, "length");
  if (given.trainedLength !== undefined) wholeNumber(given.trainedLength, 2, 2 ** 24, "trainedLength");
  wholeNumber(evaluations, FEWEST, 100_000, "evaluations");
  wholeNumber(seed, 0, 2 ** 32 - 1, "seed");
  if (typeof seconds !== "number" || !(seconds > 0))
    fail("INVALID_ARGUMENT", "seconds", `must be a number above 0 (got ${show(seconds)})`);
  if (!(finiteNumber(otherTokens, "otherTokens") >= 0 && otherTokens <= 1))
    fail("INVALID_ARGUMENT", "otherTokens", `must be a number from 0 to 1 (got ${show(otherTokens)})`);
  const signal = optionalSignal(given.signal);
  optionalFunction(given.onEvaluation, "onEvaluation");
  optionalFunction(given.onProgress, "onProgress");
  const space = searchSpace(rw, model.info, length, given.trainedLength);
  const texts = await tokensOfTexts(model.tokenizer, given.texts, "texts", length);
  const checkTexts =
    given.checkTexts === undefined
      ? undefined
      : await tokensOfTexts(model.tokenizer, given.checkTexts, "checkTexts", length);

  const evaluator = await Evaluator.create(model, { length, otherTokens, signal });
  const begun = performance.now();
  const starts = seeds(rw, space);
  const candidates = evolve(space, starts, new SeededRandom(seed));
  const record = new Record(texts, (text) => evaluator.weightOf(text));
  try {
    let next = candidates.next(NaN).value;
    let ended: RopeSearchResult["ended"] = "evaluations";
    for (let done = 0; done < evaluations; done++) {
      const earlier = evaluated[done];
      if (earlier === undefined && done >= starts.length && performance.now() - begun > 1000 * seconds) {
        ended = "time";
        break;
      }
      signal?.throwIfAborted();
      if (done === starts.length) record.sortTexts();
      const evaluation =
        earlier === undefined ? await evaluate(next) : checkedEvaluation(earlier, next, done, texts.length);
      record.add(next, evaluation);
      if (earlier === undefined) given.onEvaluation?.(evaluation);
      given.onProgress?.({ done: done + 1, total: evaluations, loss: record.best.loss, firstLoss: record.firstLoss });
      next = candidates.next(evaluation.isWhole ? record.lossOf(evaluation) : Infinity).value;
    }
    const rope = foundRope(space, record.best);
    const named = [
      {
        name: "found",
        overrides: { ...rope, rope_scaling: { ...rope.rope_scaling, replace: true } },
        measured: searchedOverrides(space, record.best),
      },
      ...comparedScalings(space).map(({ name, rope: overrides }) => ({ name, overrides, measured: overrides })),
    ];
    const compared: ComparedRope[] = [];
    for (const { name, overrides, measured } of named) {
      const loss = name === "found" ? record.best.loss : (record.lossByName(name) ?? (await lossOf(measured)));
      const checked = checkTexts && (await evaluator.measured(measured, checkTexts));
      compared.push({ name, rope: overrides, loss, ...(checked && { checked }) });
    }
    return { rope, loss: record.best.loss, compared, ...record.counts, ended };
  } finally {
    await evaluator.dispose();
  }

  async function lossOf(overrides: RopeOverrides): Promise<number> {
    const { sums } = await evaluator.sums(overrides, record.texts, Infinity);
    return sums.reduce((total, sum) => total + sum, 0) / record.weight;
  }

  async function evaluate({ factors, attention_factor, bound }: Candidate): Promise<SearchEvaluation> {
    const overrides = searchedOverrides(space, { factors, attention_factor });
    const result = await evaluator.sums(overrides, record.texts, bound * record.weight);
    return { factors, attention_factor, ...result };
  }
}

/** What was evaluated so far. */
class Record {
  #texts: readonly TokenText[];
  /** Of all tokens. */
  readonly weight: number;
  readonly #all: { readonly candidate: Candidate; readonly evaluation: SearchEvaluation; readonly loss: number }[] = [];

  constructor(texts: readonly TokenText[], weightOf: (text: TokenText) => number) {
    this.#texts = texts;
    this.weight = texts.reduce((sum, text) => sum + weightOf(text), 0);
  }

  /** In the order in which they are read. */
  get texts(): readonly TokenText[] {
    return this.#texts;
  }

  add(candidate: Candidate, evaluation: SearchEvaluation): void {
    this.#all.push({ candidate, evaluation, loss: evaluation.isWhole ? this.lossOf(evaluation) : Infinity });
  }

  /** The hardest text first, so that bad candidates are given up early. To be called when the scalings to start from were evaluated. */
  sortTexts(): void {
    const sums = this.best.sums;
    const order = Array.from(sums.keys()).sort((a, b) => sums[b]! - sums[a]! || a - b);
    this.#texts = order.map((i) => this.#texts[i]!);
  }

  lossOf({ sums }: SearchEvaluation): number {
    return sums.reduce((total, sum) => total + sum, 0) / this.weight;
  }

  get best(): SearchEvaluation & { readonly loss: number } {
    const best = this.#all.reduce((a, b) => (b.loss < a.loss ? b : a));
    return { ...best.evaluation, loss: best.loss };
  }

  get firstLoss(): number {
    return Math.min(...this.#all.flatMap(({ candidate, loss }) => (candidate.name === undefined ? [] : [loss])));
  }

  /** The loss of a scaling that the search starts from. */
  lossByName(name: string): number | undefined {
    return this.#all.find(({ candidate }) => candidate.name === name)?.loss;
  }

  get counts(): { evaluations: number; abandoned: number } {
    return {
      evaluations: this.#all.length,
      abandoned: this.#all.filter(({ evaluation }) => !evaluation.isWhole).length,
    };
  }
}

/** Throws INVALID_ARGUMENT for an evaluation that isn't the one that this search makes next. */
function checkedEvaluation(
  evaluation: Partial<SearchEvaluation> | null,
  next: Candidate,
  index: number,
  texts: number,
): SearchEvaluation {
  const { sums, isWhole } = evaluation ?? {};
  const isSame = keyOf((evaluation ?? {}) as RopeFactors) === keyOf(next);
  const hasSums =
    Array.isArray(sums) && sums.every(Number.isFinite) && sums.length <= texts && typeof isWhole === "boolean";
  if (!isSame || !hasSums || (isWhole && sums.length !== texts))
    fail(
      "INVALID_ARGUMENT",
      `evaluated[${index}]`,
      "is of another search",
      advise.other("pass the evaluations of the same model, length, texts and seed in their order, or none"),
    );
  return evaluation as SearchEvaluation;
}
