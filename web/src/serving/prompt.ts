// From a chat request to a generation: the prompt, and how the answer is read.
import { fail } from "../base/errors.js";
import { encodeChat } from "../text/tokenizer.js";
import { answerReader } from "./calls/answer_reader.js";
import { answerFormat } from "./calls/call_formats.js";
import type { ChatRequest } from "./chat_request.js";
import type { Generation } from "./events.js";
import { withFieldNames } from "../base/field_names.js";
import { forcedCall } from "./forced_call.js";
import type { ServedModel } from "./served_model.js";
import { checkTools } from "./tool.js";

/** @throws UNSUPPORTED_MODEL: no chat template, or tools with a template that has none; and as model.renderChat() */
export function chatGeneration(model: ServedModel, request: ChatRequest): Promise<Generation> {
  return withFieldNames(request.fieldOf, () => readChat(model, request));
}

/** What readChat and renderChat() give a template. */
const TEMPLATE_INPUTS = ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"];

async function readChat(model: ServedModel, request: ChatRequest): Promise<Generation> {
  const { tools, forced, variables, count, isParallel } = request;
  checkModel(model, request);
  checkTools(tools);
  for (const name of TEMPLATE_INPUTS)
    if (name in variables)
      fail("INVALID_ARGUMENT", `variables.${name}`, "can't be set: the template gets it from the request or the model");
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
  // a format has no room for reasoning, so the reasoning block is closed at once
  const closed = isReasoning && format !== undefined ? `\n${close}\n\n` : "";
  const begun = required?.lead ?? "";
  const prompt = await encodeChat(model.tokenizer, rendered + closed + begun);
  checkLength(model, prompt, "messages", "the chat");
  return {
    prompt,
    begun,
    count,
    isParallel,
    options: { ...request.options, ...(format !== undefined && { format }) },
    fieldOf: (field) => request.fieldOf(required?.fieldOf(field) ?? field.replace(/^tokens\b/, "messages")),
    reader: () => answerReader(answers, tools, isReasoning && closed === ""),
  };
}

/** @throws UNSUPPORTED_MODEL */
function checkModel({ info, chatTemplate }: ServedModel, { otherCall }: ChatRequest): void {
  if (info.noText !== undefined) fail("UNSUPPORTED_MODEL", info.name, `${info.architecture} ${info.noText}`);
  if (chatTemplate === undefined)
    fail(
      "UNSUPPORTED_MODEL",
      `${info.name}: chat_template`,
      `the model has no chat template; load the model with the option \`chatTemplate\`${otherCall}`,
    );
}

/**
 * Checks that there is room for an answer.
 * @param field - of the prompt in the request
 * @param what - the prompt, for the message
 * @throws CACHE_FULL
 */
export function checkLength({ info }: ServedModel, prompt: ArrayLike<number>, field: string, what: string): void {
  const { contextLength } = info;
  if (prompt.length < contextLength) return;
  fail(
    "CACHE_FULL",
    field,
    `${what} has ${prompt.length} tokens, but the context length is ${contextLength}; send less, or load the model with a larger contextLength`,
  );
}
