// The AI SDK's language model over a model of this package.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { optionalSignal } from "../base/checks.js";
import { answerEvents } from "../serving/events.js";
import { newId } from "../serving/ids.js";
import { chatGeneration } from "../serving/prompt.js";
import { readCall } from "./call_options.js";
import type { ProvidedModel } from "./provided_model.js";
import { addContent, streamParts } from "./stream_parts.js";

type Parts = AsyncGenerator<LanguageModelV4StreamPart, void, void>;

/** Calls of one provider run one after the other, in one session that stays. */
export function languageModel(provided: ProvidedModel, modelId: string | undefined): LanguageModelV4 {
  const answer = async (call: LanguageModelV4CallOptions): Promise<Parts> => {
    const signal = optionalSignal(call.abortSignal);
    const { model, prompts } = await provided.open();
    const { request, warnings } = readCall(call, model.chatTemplate);
    const events = answerEvents(prompts, await chatGeneration(model, request), signal);
    const response = { id: newId("answer-"), timestamp: new Date(), modelId: model.info.name };
    return streamParts(events, warnings, response, call.includeRawChunks ?? false);
  };
  return {
    specificationVersion: "v4",
    provider: "ropewalk",
    get modelId() {
      return modelId ?? provided.name;
    },
    supportedUrls: {},
    doGenerate: async (call) => joined(await answer(call)),
    doStream: async (call) => ({ stream: readable(await answer(call), call.abortSignal) }),
  };
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

/** A stream that computes a part when it is read. Cancelling it ends the generation. An error is its last part, but an abort fails it. */
function readable(parts: Parts, signal: AbortSignal | undefined): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream<LanguageModelV4StreamPart>({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        if (signal?.aborted === true) {
          controller.error(error);
          return;
        }
        controller.enqueue({ type: "error", error });
        controller.close();
      }
    },
    async cancel() {
      await parts.return();
    },
  });
}
