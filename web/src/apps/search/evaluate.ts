// Reads texts under a RoPE and adds up the losses of the tokens that count.
import type { RopeOverrides } from "../../core/config/overrides.js";
import type { ModelInfo } from "../../runtime/model/info.js";
import type { SearchTokenizer, TokenText } from "./texts.js";

/** What a search needs of a session, here or in a Worker. */
export interface SearchSession {
  /** Reads tokens. */
  append(input: Iterable<number>, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** The log probability of a token after what was read. */
  logprobOf(token: number): number | Promise<number>;
  /** The most likely tokens after what was read, most likely first. */
  logprobs(count?: number): readonly { readonly token: number }[] | Promise<readonly { readonly token: number }[]>;
  /** Forgets all but the first `length` tokens. */
  rewind(length: number): unknown;
  /** Changes the RoPE of what was read and of what follows. */
  retune(rope: RopeOverrides): unknown;
  /** Frees its memory. */
  dispose(): unknown;
}

/** What a search needs of a model: one of `rw.model()`, here or in a Worker. */
export interface SearchModel {
  readonly info: ModelInfo;
  readonly tokenizer: SearchTokenizer;
  /** Starts a text of at most `contextLength` tokens. */
  session(options: { contextLength: number }): SearchSession | Promise<SearchSession>;
  /** The losses of all tokens but the first, in nats. */
  perplexity(
    tokens: Int32Array,
    options: { window: number; rope: RopeOverrides; signal?: AbortSignal },
  ): Promise<{ readonly losses: Float64Array }>;
}

/** How texts are measured. @internal */
export interface EvaluatorOptions {
  /** Tokens of the longest text. */
  readonly length: number;
  /** Weight of the tokens that don't count, relative to the others. */
  readonly otherTokens: number;
  readonly signal: AbortSignal | undefined;
}

/** Measures texts with one model, whose weights, threads and memory serve all candidates. @internal */
export class Evaluator {
  readonly #model: SearchModel;
  readonly #session: SearchSession;
  readonly #otherTokens: number;
  readonly #signal: { readonly signal?: AbortSignal };

  private constructor(model: SearchModel, session: SearchSession, { otherTokens, signal }: EvaluatorOptions) {
    this.#model = model;
    this.#session = session;
    this.#otherTokens = otherTokens;
    this.#signal = signal === undefined ? {} : { signal };
  }

  static async create(model: SearchModel, options: EvaluatorOptions): Promise<Evaluator> {
    return new Evaluator(model, await model.session({ contextLength: options.length }), options);
  }

  /** The sum of the weights of a text's tokens. */
  weightOf({ tokens, counted }: TokenText): number {
    return counted.length + this.#otherTokens * (tokens.length - 1 - counted.length);
  }

  /**
   * The weighted sum of the losses of each text, in the order of the texts. Stops as soon as all sums together exceed `bound`, within a text if
   * only some tokens count: losses are never negative, so the rest can't help.
   */
  async sums(
    rope: RopeOverrides,
    texts: readonly TokenText[],
    bound: number,
  ): Promise<{ sums: number[]; isWhole: boolean }> {
    const sums: number[] = [];
    let total = 0;
    for (const text of texts) {
      const sum = await (this.#otherTokens > 0
        ? this.#sumOfAll(rope, text)
        : this.#sumOfCounted(rope, text, bound - total));
      sums.push(sum);
      total += sum;
      if (total > bound) return { sums, isWhole: false };
    }
    return { sums, isWhole: true };
  }

  async #sumOfAll(rope: RopeOverrides, { tokens, counted }: TokenText): Promise<number> {
    const { losses } = await this.#model.perplexity(tokens, { window: tokens.length, rope, ...this.#signal });
    const answers = new Set(counted);
    return losses.reduce(
      (sum, loss, at) => (at === 0 ? sum : sum + (answers.has(at) ? 1 : this.#otherTokens) * loss),
      0,
    );
  }

  async #sumOfCounted(rope: RopeOverrides, text: TokenText, bound: number): Promise<number> {
    let sum = 0;
    for await (const loss of this.#losses(rope, text)) {
      sum += loss;
      if (sum > bound) break;
    }
    return sum;
  }

  dispose(): unknown {
    return this.#session.dispose();
  }

  /** Mean loss of the tokens that count, and the share of them that are the most probable ones. */
  async measured(rope: RopeOverrides, texts: readonly TokenText[]): Promise<{ loss: number; right: number }> {
    let [sum, right, count] = [0, 0, 0];
    for (const text of texts) {
      for await (const loss of this.#losses(rope, text, (isRight) => (right += Number(isRight)))) {
        sum += loss;
        count++;
      }
    }
    return { loss: sum / count, right: right / count };
  }

  async *#losses(
    rope: RopeOverrides,
    { tokens, counted }: TokenText,
    onChoice?: (isRight: boolean) => void,
  ): AsyncGenerator<number, void, void> {
    const session = this.#session;
    await session.rewind(0);
    await session.retune(rope);
    let read = 0;
    for (const at of counted) {
      this.#signal.signal?.throwIfAborted();
      await session.append(tokens.subarray(read, at), this.#signal);
      read = at;
      if (onChoice !== undefined) onChoice((await session.logprobs(1))[0]!.token === tokens[at]);
      yield -(await session.logprobOf(tokens[at]!));
    }
  }
}
