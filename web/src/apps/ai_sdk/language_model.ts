// The AI SDK's language model over a model of this package.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { optionalSignal } from "../../core/base/checks.js";
import { answerEvents } from "../serving/events.js";
import { newId } from "../serving/ids.js";
import { chatGeneration } from "../serving/prompt.js";
import { readCall } from "./call_options.js";
import type { ProvidedModel } from "./provided_model.js";
import { inSdkWords, withSdkWords } from "./sdk_words.js";
import { addContent, streamParts } from "./stream_parts.js";

type Parts = AsyncGenerator<LanguageModelV4StreamPart, void, void>;

/** Calls of one provider run in sessions that stay, as many at the same time as its option `parallel` says (1). */
export function languageModel(provided: ProvidedModel, modelId: string | undefined): LanguageModelV4 {
  const answer = async (call: LanguageModelV4CallOptions, signal: AbortSignal | undefined): Promise<Parts> => {
    const { model, prompts, chats } = await provided.open();
    const served = prompts.newCall(signal);
    const { request, warnings } = readCall(call, Object.values(model.chatTemplates).join("\n"));
    const { generation, warnings: lost } = await withSdkWords(() => chatGeneration(model, request, chats, signal));
    for (const message of lost) {
      warnings.push({ type: "other", message });
      (chats.onWarning ?? model.onWarning)?.(message);
    }
    const events = answerEvents(prompts, generation, served);
    const response = { id: newId("answer-"), timestamp: new Date(), modelId: model.info.name };
    return inSdkWordsOf(streamParts(events, warnings, response, call.includeRawChunks ?? false));
  };
  return {
    specificationVersion: "v4",
    provider: "ropewalk",
    get modelId() {
      return modelId ?? provided.name;
    },
    supportedUrls: {},
    doGenerate: async (call) => joined(await answer(call, optionalSignal(call.abortSignal))),
    doStream: async (call) => {
      const leaving = new Leaving(optionalSignal(call.abortSignal));
      try {
        return { stream: readable(await answer(call, leaving.signal), leaving) };
      } catch (error) {
        leaving.end();
        throw error;
      }
    },
  };
}

/** The parts. An error has the words of the AI SDK. */
async function* inSdkWordsOf(parts: Parts): Parts {
  try {
    yield* parts;
  } catch (error) {
    throw inSdkWords(error);
  }
}

async function joined(parts: Parts): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4GenerateResult["content"] = [];
  const rest: Partial<LanguageModelV4GenerateResult> = {};
  for await (const part of parts) {
    if (part.type === "stream-start") rest.warnings = part.warnings;
    else if (part.type === "response-metadata") {
      const { type: _, ...response } = part;
      rest.response = response;
    } else if (part.type === "finish") {
      rest.finishReason = part.finishReason;
      rest.usage = part.usage;
    } else addContent(content, part);
  }
  return { content, ...rest } as LanguageModelV4GenerateResult; // the stream has all of them
}

/** The signal of a stream: that of the call, or that its reader has left. */
class Leaving {
  readonly #controller = new AbortController();
  readonly #given: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort(this.#given!.reason);

  constructor(given: AbortSignal | undefined) {
    this.#given = given;
    if (given?.aborted === true) this.#abort();
    given?.addEventListener("abort", this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts what still runs, and no longer listens to the signal of the call. */
  end(): void {
    this.#given?.removeEventListener("abort", this.#abort);
    this.#controller.abort();
  }
}

/**
 * A stream that is at most one part ahead of its reader. Cancelling it aborts the call, also while its prompt is read. An error is its last
 * part, but an abort fails it.
 */
function readable(parts: Parts, leaving: Leaving): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream<LanguageModelV4StreamPart>({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done !== true) {
          controller.enqueue(value);
          return;
        }
        controller.close();
      } catch (error) {
        if (leaving.signal.aborted) {
          controller.error(error);
          return;
        }
        controller.enqueue({ type: "error", error });
        controller.close();
      }
      leaving.end();
    },
    async cancel() {
      leaving.end();
      await parts.return().catch(() => undefined); // it fails with the abort
    },
  });
}
