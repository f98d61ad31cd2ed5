// Guesses the next tokens of a text with a smaller model: speculative decoding (Leviathan et al. 2022, arXiv:2211.17192), with guesses that
// are kept if they are the tokens that were sampled.
import * as advise from "../../../core/base/advice.js";
import { asyncDisposeSymbol } from "../../../core/base/dispose.js";
import { fail, RopewalkError } from "../../../core/base/errors.js";
import { commonLength } from "../../../core/base/lists.js";
import { show } from "../../../core/base/show.js";

/** A model that guesses, of the same runtime: of `rw.model()`, or for a model in a Worker, of the same Worker. */
export interface DraftModel {
  readonly info: { readonly generates: boolean; readonly memory: { readonly states: number } };
  readonly tokenizer: object;
  /** Creates an empty session. */
  session(): unknown;
}

/** What is used of a Session. */
interface DraftSession {
  readonly contextLength: number;
  append(tokens: Iterable<number>, options: { signal?: AbortSignal }): Promise<void>;
  rewind(length: number): void;
  logprobs(count: number): { readonly token: number; readonly logprob: number }[];
  dispose(): void;
}

/** What is used of a Tokenizer. @internal */
export interface Vocabulary {
  readonly vocabularySize: number;
  token(id: number): string;
}

/** Guessing stops below this probability, ln 1/2: a wrong guess costs more than a missed one. */
const MIN_LOGPROB = Math.log(0.5);

/** Checks what can be checked without the text's own model. Throws INVALID_ARGUMENT. @internal */
export function readDraft(given: unknown): DraftModel | undefined {
  if (given === undefined) return undefined;
  if (!isModel(given)) return fail("INVALID_ARGUMENT", "draft", `must be a loaded model (got ${show(given)})`);
  if (asyncDisposeSymbol in given)
    fail("INVALID_ARGUMENT", "draft", "must be a model of the same thread (got one of a Worker)");
  if (!given.info.generates) fail("INVALID_ARGUMENT", "draft", "is a model that generates no text");
  if (given.info.memory.states > 0)
    fail("INVALID_ARGUMENT", "draft", "has recurrent layers, which can't go back when a guess was wrong");
  return given;
}

function isModel(given: unknown): given is DraftModel {
  const model = given as Partial<DraftModel> | null;
  return typeof model === "object" && typeof model?.session === "function" && typeof model.info === "object";
}

/** @internal */
export class Draft {
  readonly #session: DraftSession;
  readonly #most: number;
  /** What the draft model has read. */
  #read: number[] = [];

  /**
   * @param most - the most tokens to guess at once
   * @param vocabulary - of the text's model. Throws INVALID_ARGUMENT if the draft model has another one.
   */
  constructor(model: DraftModel, most: number, vocabulary: Vocabulary) {
    checkVocabulary(model.tokenizer as Vocabulary, vocabulary);
    try {
      this.#session = model.session() as DraftSession;
    } catch (error) {
      throw renamed(error);
    }
    this.#most = most;
  }

  /** The tokens that may follow a text, at most `room`. Throws DISPOSED; rejects with the signal's reason. */
  async guesses(tokens: readonly number[], room: number, signal?: AbortSignal): Promise<number[]> {
    try {
      return await this.#guesses(tokens, room, signal);
    } catch (error) {
      throw renamed(error);
    }
  }

  async #guesses(tokens: readonly number[], room: number, signal: AbortSignal | undefined): Promise<number[]> {
    const most = Math.min(this.#most, room, this.#session.contextLength - tokens.length);
    if (most < 1) return [];
    const agreed = commonLength(this.#read, tokens);
    // re-read the last token if nothing is new: its logits are needed
    const known = Math.min(agreed, tokens.length - 1);
    if (known < this.#read.length) this.#session.rewind(known);
    this.#read.length = known;
    await this.#append(tokens.slice(known), signal);
    const guesses: number[] = [];
    for (;;) {
      const [best] = this.#session.logprobs(1);
      if (best === undefined || best.logprob < MIN_LOGPROB) return guesses;
      guesses.push(best.token);
      if (guesses.length === most) return guesses;
      await this.#append([best.token], signal);
    }
  }

  dispose(): void {
    this.#session.dispose();
  }

  async #append(tokens: readonly number[], signal: AbortSignal | undefined): Promise<void> {
    await this.#session.append(tokens, signal === undefined ? {} : { signal });
    for (const token of tokens) this.#read.push(token);
  }
}

/** What a disposed model throws is about the draft, not about the text's own model. */
function renamed(error: unknown): unknown {
  if (!(error instanceof RopewalkError) || error.code !== "DISPOSED") return error;
  return new RopewalkError("DISPOSED", "draft", "is disposed", {
    ...advise.code("load the model again with rw.model()"),
    cause: error,
  });
}

/** Pairs of vocabularies that are equal, which takes some milliseconds to find out. */
const EQUAL = new WeakMap<Vocabulary, WeakSet<Vocabulary>>();

function checkVocabulary(draft: Vocabulary, own: Vocabulary): void {
  if (draft === own || EQUAL.get(draft)?.has(own) === true) return;
  const refuse = (problem: string): never =>
    fail("INVALID_ARGUMENT", "draft", `must have the same vocabulary as the model: ${problem}`);
  if (draft.vocabularySize !== own.vocabularySize)
    refuse(`it has ${draft.vocabularySize} tokens instead of ${own.vocabularySize}`);
  for (let id = 0; id < own.vocabularySize; id++) {
    const [given, expected] = [draft, own].map((vocabulary) => tokenOf(vocabulary, id));
    if (given !== expected) refuse(`token ${id} is ${show(given)} instead of ${show(expected)}`);
  }
  EQUAL.set(draft, (EQUAL.get(draft) ?? new WeakSet()).add(own));
}

/** The text of a token; undefined for an id without one. */
function tokenOf(vocabulary: Vocabulary, id: number): string | undefined {
  try {
    return vocabulary.token(id);
  } catch (error) {
    if (error instanceof RopewalkError && error.code === "INVALID_ARGUMENT") return undefined;
    throw error;
  }
}
