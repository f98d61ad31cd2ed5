// A turn of a chat in a session: its prompt is brought into the session, and continued.
import * as advise from "../../../core/base/advice.js";
import { optionalFunction } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import { checkOptions } from "../../../core/base/options.js";
import { type ChatOptions, splitChatOptions } from "../../text/chat_options.js";
import type { ChatMessage } from "../../text/chat_template.js";
import type { CallQueue } from "./call_queue.js";
import { extendText } from "./extend.js";
import { type GenerateSettings, type Piece, readGenerateOptions } from "./generate.js";
import { generate, generatingSession } from "./generation.js";
import { CHAT_TURN_OPTIONS, type ChatTurnOptions, type SessionAppendOptions } from "./options.js";
import type { SessionModel } from "./session_model.js";
import type { SessionText } from "./text.js";

/** The options of a turn, read and checked. */
interface TurnSettings {
  readonly chat: ChatOptions;
  readonly generation: GenerateSettings;
  readonly onProgress: SessionAppendOptions["onProgress"];
}

/** Throws UNKNOWN_KEY, INVALID_ARGUMENT. */
function readTurnOptions(options: ChatTurnOptions | undefined, { sampling, core }: SessionModel): TurnSettings {
  const { chat, others } = splitChatOptions(checkOptions(options, CHAT_TURN_OPTIONS));
  const { onProgress, ...generation } = others;
  return {
    chat,
    generation: readGenerateOptions(generation, sampling, core.vocabularySize),
    onProgress: optionalFunction(onProgress, "onProgress"),
  };
}

/** Session.chat(), after the calls before it. @internal */
export async function* chatTurn(
  model: SessionModel,
  text: SessionText,
  queue: CallQueue,
  messages: readonly ChatMessage[],
  options: ChatTurnOptions | undefined,
): AsyncGenerator<Piece, void, void> {
  const settings = readTurnOptions(options, model);
  const begin = (): AsyncGenerator<Piece, void, void> => answerChat(model, text, messages, settings);
  yield* queue.generate(settings.generation.signal, begin, "chat");
}

/** Brings the prompt of a chat into a session, and continues it. */
async function* answerChat(
  model: SessionModel,
  text: SessionText,
  messages: readonly ChatMessage[],
  { chat, generation, onProgress }: TurnSettings,
): AsyncGenerator<Piece, void, void> {
  const { signal, whenFull } = generation;
  const prompt = await model.chatTokens(messages, { ...chat, signal });
  signal?.throwIfAborted();
  text.checkAlive();
  if (whenFull === "extend") while (text.contextLength < prompt.length) extendText(text);
  checkFits(text, prompt);
  await bringTo(text, prompt, { ...(signal && { signal }), ...(onProgress && { onProgress }) });
  yield* generate(generatingSession(model, text), generation);
}

/**
 * Makes a session's text that of a prompt: keeps the tokens that both begin with, and reads the rest. The result has the bits of a new session
 * that reads the prompt with the same RoPE.
 * @returns how many tokens were kept
 * @internal
 */
export async function bringTo(text: SessionText, prompt: Int32Array, options: SessionAppendOptions): Promise<number> {
  text.keepBeginning(prompt);
  const kept = text.length;
  await text.append(prompt.subarray(kept), options);
  if (prompt.length - kept > 1) text.keepCheckpoint();
  return kept;
}

/** Throws CACHE_FULL. */
function checkFits({ contextLength, core }: SessionText, { length }: Int32Array): void {
  if (length <= contextLength) return;
  const { positions } = core.plan.config;
  const room = [
    advise.raise({ option: "contextLength", ...(positions > 0 && { most: positions }) }),
    advise.pass({ option: "whenFull", value: '"extend"' }),
  ];
  fail(
    "CACHE_FULL",
    "messages",
    `the chat has ${length} tokens, but the context length is ${contextLength}`,
    advise.either(advise.other("send fewer messages"), ...(positions > 0 && contextLength >= positions ? [] : room)),
  );
}
