// From a chat request to a generation: the prompt, and how the answer is read.
import { fail } from "../base/errors.js";
import { encodeChat } from "../text/tokenizer.js";
import { answerReader } from "./calls/answer_reader.js";
import { answerFormat } from "./calls/call_format.js";
import type { ChatRequest } from "./chat_request.js";
import type { Generation } from "./events.js";
import { withFieldNames } from "./field_names.js";
import { forcedCall } from "./forced_call.js";
import type { ServedModel } from "./served_model.js";

/** @throws UNSUPPORTED_MODEL: no chat template, or tools with a template that has none; and as model.renderChat() */
export function chatGeneration(model: ServedModel, request: ChatRequest): Promise<Generation> {
  return withFieldNames(request.fieldOf, () => readChat(model, request));
}

async function readChat(model: ServedModel, request: ChatRequest): Promise<Generation> {
  const { tools, forced, variables, count, isParallel } = request;
  const answers = answerFormat(model.chatTemplate);
  if (tools.length > 0 && answers.calls === undefined && !answers.isHarmony)
    fail("UNSUPPORTED_MODEL", "tools", "the model's chat template writes no tool calls, or in a form that isn't known");
  const required = forced && forcedCall(forced, answers, tools);
  const format = required?.format ?? request.format;
  if (format !== undefined && answers.isHarmony)
    fail("UNSUPPORTED_MODEL", "format", "must be text for this model, whose answers consist of channels");
  const rendered = await model.renderChat(request.messages, { ...(tools.length > 0 && { tools }), variables });
  const { open, close } = answers.reasoning ?? { open: "", close: "" };
  const isReasoning = open !== "" && rendered.trimEnd().endsWith(open);
  // a format leaves no place for reasoning, so an answer that begins with it has thought enough
  const closed = isReasoning && format !== undefined ? `\n${close}\n\n` : "";
  const begun = required?.lead ?? "";
  const context = model.info.contextLength;
  const prompt = await encodeChat(model.tokenizer, rendered + closed + begun);
  if (prompt.length >= context)
    fail(
      "CACHE_FULL",
      "messages",
      `the chat has ${prompt.length} tokens, but the context length is ${context}; send less, or load the model with a larger contextLength`,
    );
  return {
    prompt,
    begun,
    count,
    isParallel,
    options: { ...request.options, ...(format !== undefined && { format }) },
    fieldOf: (field) => request.fieldOf(required?.fieldOf(field) ?? field),
    reader: () => answerReader(answers, tools.length > 0, isReasoning && closed === ""),
  };
}
