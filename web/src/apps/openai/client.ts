// The object that has OpenAI's methods over a model.
import { optionalSignal } from "../../core/base/checks.js";
import { disposeSymbol } from "../../core/base/dispose.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { answerEvents } from "../serving/events.js";
import { readServing, servedName, type ServingOptions } from "../serving/options.js";
import { chatGeneration } from "../serving/prompt.js";
import { PromptSessions } from "../serving/prompt_sessions.js";
import { checkModel, type ServedModel } from "../serving/served_model.js";
import { createDecisions, type DecisionList, type DecisionRequestFields } from "../decisions/openai_shape.js";
import { type ChatRequestFields, readChatRequest } from "./chat_request.js";
import { printWarning } from "../../runtime/text/chat/problems.js";
import { type ChatCompletion, type ChatCompletionChunk, chatChunks, newHead, wholeChat } from "./chat_shapes.js";
import { withoutNulls } from "./generation_request.js";
import { createEmbeddings, type EmbeddingList, type EmbeddingRequestFields } from "./embeddings.js";
import {
  type Completion,
  completionChunks,
  completionEvents,
  type CompletionRequestFields,
  readCompletionRequest,
  wholeCompletion,
} from "./text_completions.js";
import type { Usage } from "./usage.js";

/** Options of a call. */
export interface CallOptions {
  /** Aborts between two tokens: the call rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** A call that answers at once, or as a stream if `stream` is true. */
export interface CreateCall<Fields, Whole, Part> {
  (body: Fields & { stream: true }, options?: CallOptions): Promise<AsyncGenerator<Part, void, void>>;
  (body: Fields & { stream?: false | null }, options?: CallOptions): Promise<Whole>;
  (body: Fields, options?: CallOptions): Promise<Whole | AsyncGenerator<Part, void, void>>;
}

/** OpenAI's methods over a model. Calls run in sessions that stay, as many at the same time as `parallel` says. */
export interface OpenAIClient extends Disposable {
  readonly chat: {
    readonly completions: {
      readonly create: CreateCall<ChatRequestFields, ChatCompletion, ChatCompletionChunk>;
    };
  };
  readonly completions: { readonly create: CreateCall<CompletionRequestFields, Completion, Completion> };
  readonly embeddings: {
    /** Embeds texts. */
    readonly create: (body: EmbeddingRequestFields, options?: CallOptions) => Promise<EmbeddingList>;
  };
  readonly decisions: {
    /** Answers typed questions with probabilities, without generating. */
    readonly create: (body: DecisionRequestFields, options?: CallOptions) => Promise<DecisionList>;
  };
  readonly models: {
    /** Lists the one model. */
    readonly list: () => ModelList;
  };
  /** Frees the sessions. The model stays. */
  dispose(): void;
}

/** The list of models, which has one. */
export interface ModelList {
  object: "list";
  data: { id: string; object: "model"; created: number; owned_by: string }[];
}

const CALL_OPTIONS = optionNames<CallOptions>("create()", { signal: true });

/** Creates the object for a model. */
export function openaiClient(model: ServedModel, options?: ServingOptions): OpenAIClient {
  checkModel(model);
  const serving = readServing(options, "openai()");
  const prompts = new PromptSessions(model, serving);
  const created = Math.floor(Date.now() / 1000);
  const name = servedName(model, serving);

  const createChat = async (body: ChatRequestFields, options?: CallOptions): Promise<unknown> => {
    const call = prompts.newCall(signalOf(options));
    const request = readChatRequest(body, Object.values(model.chatTemplates).join("\n"));
    const { generation, warnings } = await chatGeneration(model, request, serving.chats, call.signal);
    for (const warning of warnings) (serving.chats.onWarning ?? model.onWarning ?? printWarning)(warning);
    const events = answerEvents(prompts, generation, call);
    const head = newHead("chatcmpl-", name);
    const chunks = chatChunks(events, head, model.tokenizer, request.isStream && request.includesUsage);
    return request.isStream ? streamed(chunks) : wholeChat(chunks, head);
  };

  const createCompletion = async (body: CompletionRequestFields, options?: CallOptions): Promise<unknown> => {
    const call = prompts.newCall(signalOf(options));
    const { isStream, includesUsage, generations } = await readCompletionRequest(
      model,
      body,
      serving.chats,
      call.signal,
    );
    const head = newHead("cmpl-", name);
    const chunks = completionChunks(
      completionEvents(prompts, generations, call),
      head,
      model.tokenizer,
      isStream && includesUsage,
    );
    return isStream ? streamed(chunks) : wholeCompletion(chunks, head);
  };

  const dispose = (): void => prompts.dispose();
  return {
    chat: { completions: { create: createChat as OpenAIClient["chat"]["completions"]["create"] } },
    completions: { create: createCompletion as OpenAIClient["completions"]["create"] },
    embeddings: {
      create: (body, options) => createEmbeddings(model, { name, adapting: serving.adapting }, body, signalOf(options)),
    },
    decisions: {
      create: (body, options) => createDecisions(model, { ...serving, name }, withoutNulls(body), signalOf(options)),
    },
    models: {
      list: () => ({ object: "list", data: [{ id: name, object: "model", created, owned_by: "ropewalk" }] }),
    },
    dispose,
    [disposeSymbol]: dispose,
  };
}

function signalOf(options: CallOptions | undefined): AbortSignal | undefined {
  return optionalSignal(checkOptions(options, CALL_OPTIONS).signal);
}

/** The chunks without the usage at the end, which only whole answers need. */
async function* streamed<Part>(chunks: AsyncGenerator<Part, Usage, void>): AsyncGenerator<Part, void, void> {
  yield* chunks;
}
