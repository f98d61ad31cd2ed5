// From a chat request to a generation: the prompt, and how the answer is read.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { checkAsked, warningsOf } from "../../runtime/text/chat/problems.js";
import { dateVariables } from "../../runtime/text/chat/dates.js";
import { templateFor } from "../../runtime/text/chat/named_templates.js";
import { answerReader } from "./calls/answer_reader.js";
import { answerFormat } from "./calls/call_formats.js";
import type { ChatRequest } from "./chat_request.js";
import type { Generation } from "./events.js";
import { withFieldNames } from "../../core/base/field_names.js";
import { forcedCall } from "./forced_call.js";
import type { ServedChats } from "./options.js";
import type { ServedModel } from "./served_model.js";
import type { ReadText } from "../../runtime/model/run/text_reader.js";
import { checkTools, type Tool } from "./tool.js";

/**
 * The generation of a chat, and warnings about what the prompt lacks.
 * @throws UNSUPPORTED_MODEL: no chat template, or tools with a template that has none; and as model.renderChat()
 */
export function chatGeneration(
  model: ServedModel,
  request: ChatRequest,
  chats: ServedChats,
  signal: AbortSignal | undefined,
): Promise<{ generation: Generation; warnings: string[] }> {
  const options = signal === undefined ? {} : { signal };
  return withFieldNames(request.fieldOf, () => readChat(model, request, chats, options));
}

/** What readChat and renderChat() give a template. */
const TEMPLATE_INPUTS = ["messages", "tools", "add_generation_prompt", "bos_token", "eos_token"];

async function readChat(
  model: ServedModel,
  request: ChatRequest,
  { templateName, parseSpecial }: ServedChats,
  options: { signal?: AbortSignal },
): Promise<{ generation: Generation; warnings: string[] }> {
  const { tools, forced, variables, count, isParallel } = request;
  checkModel(model, request);
  checkTools(tools);
  for (const name of TEMPLATE_INPUTS)
    if (name in variables)
      fail("INVALID_ARGUMENT", `variables.${name}`, "can't be set: the template gets it from the request or the model");
  const answers = answerFormat(templateFor(model.chatTemplates, templateName, tools.length > 0));
  if (tools.length > 0 && answers.calls === undefined && !answers.isHarmony)
    fail("UNSUPPORTED_MODEL", "tools", "the model's chat template writes no tool calls, or in a form that isn't known");
  const required = forced && forcedCall(forced, answers, tools);
  const format = required?.format ?? request.format;
  if (format !== undefined && answers.isHarmony)
    fail("UNSUPPORTED_MODEL", "format", "must be text for this model, whose answers consist of channels");
  const given = {
    ...(tools.length > 0 && { tools: tools.map(templateTool) }),
    ...(templateName !== undefined && { templateName }),
    variables: { ...dateVariables(new Date()), ...variables },
    parseSpecial,
  };
  const rendered = await model.renderPrompt(request.messages, given);
  checkAsked(rendered.problems);
  const warnings = warningsOf(rendered.problems, request.fieldOf);
  const { open, close } = answers.reasoning ?? { open: "", close: "" };
  const isReasoning = open !== "" && rendered.text.trimEnd().endsWith(open);
  // a format has no room for reasoning, so the reasoning block is closed at once
  const closed = isReasoning && format !== undefined ? `\n${close}\n\n` : "";
  const begun = required?.lead ?? "";
  const added = { text: closed + begun, isPlain: false };
  const whole = rendered.pieces === undefined ? rendered.text + added.text : [...rendered.pieces, added];
  const prompt = checkLength(model, await model.writtenTokens({ chat: whole }, options), "messages", "the chat");
  const generation: Generation = {
    prompt,
    begun,
    count,
    isParallel,
    options: { ...request.options, ...(format !== undefined && { format }) },
    fieldOf: (field) => request.fieldOf(required?.fieldOf(field) ?? field.replace(/^tokens\b/, "messages")),
    reader: () => answerReader(answers, tools, isReasoning && closed === ""),
  };
  return { generation, warnings };
}

/** A tool with what llama.cpp's server passes on, in its order. */
function templateTool({ function: { name, description = "", parameters = {} } }: Tool): object {
  return { type: "function", function: { name, description, parameters } };
}

/** @throws UNSUPPORTED_MODEL */
function checkModel({ info, chatTemplates }: ServedModel, { otherCalls }: ChatRequest): void {
  if (info.noText !== undefined) fail("UNSUPPORTED_MODEL", info.name, `${info.architecture} ${info.noText}`);
  if (Object.keys(chatTemplates).length === 0)
    fail(
      "UNSUPPORTED_MODEL",
      `${info.name}: chat_template`,
      "the model has no chat template",
      advise.either(advise.load({ option: "chatTemplate" }), ...otherCalls),
    );
}

/**
 * Checks that there is room for an answer, and returns the tokens of the prompt.
 * @param field - of the prompt in the request
 * @param what - the prompt, for the message
 * @throws CACHE_FULL
 */
export function checkLength(
  { info }: ServedModel,
  { ids, least, isWhole }: ReadText,
  field: string,
  what: string,
): Int32Array {
  const { contextLength } = info;
  if (isWhole && ids.length < contextLength) return ids;
  return fail(
    "CACHE_FULL",
    field,
    `${what} has ${isWhole ? ids.length : `${least} or more`} tokens, but the context length is ${contextLength}`,
    advise.either(advise.other("send less"), advise.raise({ option: "contextLength", of: "model" })),
  );
}
