// From prompts to token ids: text, ids, and chats in a model's template.
import * as advise from "../../core/base/advice.js";
import { trueOrFalse } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { listOf, tokenIds } from "../../core/base/lists.js";
import { type OptionNames, optionNames } from "../../core/base/options.js";
import { isArray } from "../../core/base/typed_arrays.js";
import {
  type ChatMessage,
  type ChatOptions,
  type ChatPrompt,
  type ChatTemplates,
  type PromptOptions,
  renderPrompt,
} from "../text/chat_template.js";
import { checkAsked, type ChatProblem } from "../text/chat/problems.js";
import { withWarnings } from "../text/chat/with_warnings.js";
import type { PromptPiece } from "../text/chat/control_tokens.js";
import type { Tokenizer } from "../text/tokenizer.js";
import { type ReadText, TextReader } from "./run/text_reader.js";
import type { VocabularyTokenizer } from "../text/vocabulary_tokenizer.js";

/** A prompt: text, token ids, or the messages of a chat. */
export type Prompt = string | Iterable<number> | readonly ChatMessage[];

/** What a model needs to read prompts. @internal */
export interface ChatModel {
  readonly info: { readonly name: string; readonly vocabularySize: number };
  readonly tokenizer: Tokenizer;
  readonly chatTemplates: ChatTemplates;
}

/** Renders a chat, and says what the prompt lacks. @throws UNSUPPORTED_MODEL, and as renderChat() @internal */
export async function renderModelPrompt(
  { info, tokenizer, chatTemplates }: ChatModel,
  messages: readonly ChatMessage[],
  options: PromptOptions,
): Promise<ChatPrompt> {
  if (Object.keys(chatTemplates).length === 0)
    fail(
      "UNSUPPORTED_MODEL",
      `${info.name}: chat_template`,
      "the model has no chat template",
      advise.either(advise.load({ option: "chatTemplate" }), advise.prompt({ as: "text" })),
    );
  const { beginToken, endTokens } = tokenizer;
  const textOf = (token: number | undefined): string => (token === undefined ? "" : tokenizer.token(token));
  const tokens = { beginToken: textOf(beginToken), endToken: textOf(endTokens[0]) };
  const controlTokens = (written: string): readonly string[] =>
    (tokenizer as Partial<VocabularyTokenizer>).controlTokens?.(written) ?? [];
  return renderPrompt(chatTemplates, messages, { ...tokens, ...options }, controlTokens);
}

/** A prompt's token ids, and what it lacks. @internal */
export interface ReadPrompt {
  readonly tokens: Int32Array;
  readonly problems: readonly ChatProblem[];
}

/** The token ids of a prompt. Rejects with the signal's reason. @internal */
export async function readModelPrompt(
  model: ChatModel,
  prompt: Prompt,
  options: PromptOptions,
  signal?: AbortSignal,
): Promise<ReadPrompt> {
  const reader = new TextReader(model.tokenizer, signal);
  if (typeof prompt === "string") {
    checkNoChat(options);
    const parseSpecial = trueOrFalse(options.parseSpecial ?? true, "parseSpecial");
    return { tokens: (await reader.text(prompt, { parseSpecial })).ids, problems: [] };
  }
  const items = listOf(prompt, "prompt", "text, token ids or messages");
  if (!isChat(items)) {
    checkNoChat(options);
    return { tokens: tokenIds(items, model.info.vocabularySize, "prompt"), problems: [] };
  }
  return readChat(model, items as ChatMessage[], options, reader);
}

async function readChat(
  model: ChatModel,
  messages: readonly ChatMessage[],
  options: PromptOptions,
  reader: TextReader,
): Promise<ReadPrompt> {
  const { text, pieces, problems } = await renderModelPrompt(model, messages, options);
  checkAsked(problems);
  return { tokens: (await reader.chat(pieces ?? text)).ids, problems };
}

/** A text, or a chat as its template wrote it. @internal */
export type WrittenPrompt =
  { readonly text: string; readonly parseSpecial: boolean } | { readonly chat: string | readonly PromptPiece[] };

/** @internal */
export const WRITTEN_PROMPT_OPTIONS: OptionNames = optionNames<{ signal?: AbortSignal }>("writtenTokens()", {
  signal: true,
});

/** The token ids of a prompt that a session of the model's own length reads. One that is far longer isn't read to its end. @internal */
export async function readWrittenPrompt(
  { tokenizer, info }: Pick<ChatModel, "tokenizer"> & { readonly info: { readonly contextLength: number } },
  prompt: WrittenPrompt,
  signal: AbortSignal | undefined,
): Promise<ReadText> {
  const limit = { tokens: info.contextLength, cuts: false };
  const reader = new TextReader(tokenizer, signal);
  if ("chat" in prompt) return reader.chat(prompt.chat, limit);
  return reader.text(prompt.text, { parseSpecial: prompt.parseSpecial }, limit);
}

/** The token ids of a chat's prompt, at least one. What it lacks becomes warnings. @internal */
export async function chatTokens(
  model: ChatModel,
  messages: readonly ChatMessage[],
  { signal, onWarning, ...options }: ChatOptions & { signal?: AbortSignal | undefined },
): Promise<Int32Array> {
  const reader = new TextReader(model.tokenizer, signal);
  const read = (given: PromptOptions): Promise<ReadPrompt> => readChat(model, messages, given, reader);
  const { tokens } = await withWarnings(options, read, undefined, onWarning);
  if (tokens.length === 0)
    fail("INVALID_ARGUMENT", "messages", "the model's chat template makes an empty prompt of them");
  return tokens;
}

/** Whether a prompt is the messages of a chat. @internal */
export function isChat(prompt: unknown): boolean {
  if (!isArray(prompt)) return false;
  const [first] = prompt;
  return typeof first === "object" && first !== null && !isArray(first);
}

/** Refuses the options of a template for a prompt that has none. @throws INVALID_ARGUMENT */
function checkNoChat(options: PromptOptions): void {
  for (const [name, value] of Object.entries(options) as [string, unknown][])
    if (value !== undefined && name !== "parseSpecial")
      fail("INVALID_ARGUMENT", name, "is for messages of a chat", advise.other("leave it out for other prompts"));
}
