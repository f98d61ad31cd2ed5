// Continues several prompts at once: in each step all texts get a token, and each weight is read once for all of them.
import { wholeNumber } from "../../core/base/checks.js";
import { changed, fail, RopewalkError } from "../../core/base/errors.js";
import { commonLength, listOf } from "../../core/base/lists.js";
import type { ModelPlan } from "./plan/model_plan.js";
import type { Piece } from "./session/generate.js";
import type { GenerateOptions } from "./session/options.js";
import type { Session } from "./session/session.js";
import { MIN_COPIED, readsAlikeInParts, seedOfText } from "./several_texts.js";

/** A piece of one of several texts. */
export interface IndexedPiece extends Piece {
  /** Index of its prompt. */
  index: number;
}

/** @internal */
export interface ManySettings {
  /** The most texts at once. */
  readonly batchSize: number;
  /** Options of all texts. The seed is for the first text. */
  readonly options: GenerateOptions;
  readonly plan: ModelPlan;
  readonly newSession: () => Session;
}

interface ActiveText {
  readonly index: number;
  readonly session: Session;
  readonly pieces: AsyncGenerator<Piece, void, void>;
}

/** Raises the context length of a session until a prompt fits. */
function extendTo(session: Session, length: number): void {
  while (session.contextLength < length) session.extend();
}

/**
 * Reads what a session doesn't have yet of the prompt that it begins, and makes room for it if the context is to be extended. Errors name
 * `prompt`.
 * @internal
 */
export async function readPrompt(
  session: Session,
  prompt: Int32Array,
  { whenFull, signal }: Pick<GenerateOptions, "whenFull" | "signal">,
): Promise<void> {
  if (whenFull === "extend") extendTo(session, prompt.length);
  try {
    await session.append(prompt.subarray(session.length), signal && { signal });
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "tokens") throw error;
    throw changed(error, { field: "prompt", cause: error });
  }
}

/** Throws INVALID_ARGUMENT. @internal */
export function readBatchSize(given: unknown): number {
  return wholeNumber(given ?? 8, 1, 256, "batchSize");
}

/**
 * The token ids of each prompt.
 * @param tokensOf - of one prompt; the fields of its errors begin with `prompt`
 * @internal
 */
export async function tokensOfPrompts<Tokens>(
  prompts: unknown,
  tokensOf: (prompt: unknown) => Promise<Tokens>,
): Promise<Tokens[]> {
  if (typeof prompts === "string") fail("INVALID_ARGUMENT", "prompts", "must be a list of prompts (got a string)");
  const all: Tokens[] = [];
  for (const [index, prompt] of listOf(prompts, "prompts", "a list of prompts").entries())
    all.push(await inPrompt(index, () => tokensOf(prompt)));
  return all;
}

/**
 * Texts begin in the order of their prompts, and the next one begins when one has ended.
 * @internal
 */
export async function* generateMany(
  prompts: readonly Int32Array[],
  settings: ManySettings,
): AsyncGenerator<IndexedPiece, void, void> {
  const active = new Set<ActiveText>();
  const { signal } = settings.options;
  signal?.throwIfAborted();
  let next = 0;
  try {
    for (;;) {
      while (active.size < settings.batchSize && next < prompts.length) {
        active.add(await begin(prompts, next, active, settings));
        next++;
      }
      if (active.size === 0) return;
      // all texts are asked for their next tokens before any piece is passed on, so that a slow consumer doesn't split the batch
      const round = await Promise.all(
        [...active].map(async (text) => ({
          text,
          piece: (await inPrompt(text.index, () => text.pieces.next())).value,
        })),
      );
      for (const { text } of round.filter(({ piece }) => piece === undefined || piece.finish !== undefined)) {
        active.delete(text);
        text.session.dispose();
      }
      for (const { text, piece } of round) {
        signal?.throwIfAborted();
        if (piece !== undefined) yield { index: text.index, ...piece };
      }
    }
  } finally {
    for (const { session } of active) session.dispose();
  }
}

async function begin(
  prompts: readonly Int32Array[],
  index: number,
  active: ReadonlySet<ActiveText>,
  settings: ManySettings,
): Promise<ActiveText> {
  const { options } = settings;
  const { signal, seed } = options;
  signal?.throwIfAborted();
  const prompt = prompts[index]!;
  const session = withBeginning(prompt, active, settings);
  try {
    if (session.length < prompt.length) await inPrompt(index, () => readPrompt(session, prompt, options));
    const own = seed === undefined ? options : { ...options, seed: seedOfText(seed, index) };
    return { index, session, pieces: session.generate(own) };
  } catch (error) {
    session.dispose();
    throw error;
  }
}

/** A session that already holds the longest prefix shared with an active text. */
function withBeginning(
  prompt: Int32Array,
  active: ReadonlySet<ActiveText>,
  { plan, options, newSession }: ManySettings,
): Session {
  const candidates = [...active].map(({ session }) => ({ session, shared: commonLength(session.tokens, prompt) }));
  const whole = candidates.find(({ session, shared }) => shared === prompt.length && session.length === shared);
  if (whole !== undefined) return whole.session.fork();
  const [best] = candidates.sort((a, b) => b.shared - a.shared);
  const canCopy = options.whenFull !== "extend" && readsAlikeInParts(plan); // extending changes the RoPE
  if (best === undefined || best.shared < MIN_COPIED || !canCopy) return newSession();
  const copy = best.session.fork();
  copy.rewind(best.shared);
  return copy;
}

/** Runs `act`, and names the prompt in its errors. */
async function inPrompt<T>(index: number, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    const path = `prompts[${index}]${error.field.replace(/^(?:prompt|tokens)/, "").replace(/^(?=\w)/, ": ")}`;
    throw changed(error, { field: path });
  }
}
