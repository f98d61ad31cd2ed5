// From the options of a call to a request, with warnings about what can't be followed.
import * as advise from "../../core/base/advice.js";
import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { trueOrFalse } from "../../core/base/checks.js";
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { OutputFormat } from "../../runtime/grammar/format.js";
import type { GenerateOptions } from "../../runtime/model/session/options.js";
import type { ChatRequest } from "../serving/chat_request.js";
import { fieldNames, type FieldNames } from "../../core/base/field_names.js";
import type { ForcedCall, Tool } from "../serving/tool.js";
import { chatMessages } from "./messages.js";
import { OWN, ownNames } from "./own_names.js";

/** What a call can set in `providerOptions.ropewalk`: options of `generate()` that the AI SDK has no setting for, and these. */
export interface RopewalkCallOptions extends Pick<
  GenerateOptions,
  | "logitBias"
  | "repetitionPenalty"
  | "penaltyWindow"
  | "dry"
  | "topNSigma"
  | "minP"
  | "typicalP"
  | "xtc"
  | "mirostat"
  | "samplerOrder"
  | "promptLookup"
  | "format"
> {
  /** False: at most one call in an answer. Default: true. */
  parallelToolCalls?: boolean;
  /** Variables of the chat template, such as `enable_thinking`. */
  templateVariables?: Readonly<Record<string, unknown>>;
}

const OWN_OPTIONS = optionNames<RopewalkCallOptions>(OWN, {
  logitBias: true,
  repetitionPenalty: true,
  penaltyWindow: true,
  dry: true,
  topNSigma: true,
  minP: true,
  typicalP: true,
  xtc: true,
  mirostat: true,
  samplerOrder: true,
  promptLookup: true,
  format: true,
  parallelToolCalls: true,
  templateVariables: true,
});

/** The settings that are options of `generate()` under another name. */
const SETTINGS = [
  ["maxOutputTokens", "maxTokens"],
  ["stopSequences", "stop"],
  ["temperature", "temperature"],
  ["topP", "topP"],
  ["topK", "topK"],
  ["presencePenalty", "presencePenalty"],
  ["frequencyPenalty", "frequencyPenalty"],
  ["seed", "seed"],
] as const;

const NAMES = {
  ...ownNames(OWN_OPTIONS),
  ...Object.fromEntries(SETTINGS.map(([setting, option]) => [option, setting])),
  messages: "prompt",
  variables: `${OWN}.templateVariables`,
};

/**
 * Reads the options of a call. `headers` are ignored: there is no HTTP request.
 * @throws UNKNOWN_KEY, INVALID_ARGUMENT
 */
export function readCall(
  call: LanguageModelV4CallOptions,
  chatTemplate: string | undefined,
): { request: ChatRequest; warnings: SharedV4Warning[] } {
  const { parallelToolCalls, templateVariables, format, ...own } = checkOptions(
    call.providerOptions?.["ropewalk"] as RopewalkCallOptions | undefined,
    OWN_OPTIONS,
    OWN,
  );
  const isParallel = trueOrFalse(parallelToolCalls ?? true, `${OWN}.parallelToolCalls`);
  if (templateVariables !== undefined && !isDict(templateVariables))
    fail("INVALID_ARGUMENT", `${OWN}.templateVariables`, `must be an object (got ${show(templateVariables)})`);
  const warnings: SharedV4Warning[] = [];
  const { tools, forced } = readTools(call, isParallel, warnings);
  if (format !== undefined && (forced !== undefined || call.responseFormat?.type === "json"))
    fail(
      "INVALID_ARGUMENT",
      `${OWN}.format`,
      `can't be used with ${forced === undefined ? "an output that has a format" : "a required tool"}`,
      advise.other("leave one out"),
    );
  const settings = SETTINGS.flatMap(([setting, option]) =>
    call[setting] === undefined ? [] : [[option, call[setting]] as const],
  );
  const request = {
    messages: chatMessages(call.prompt),
    tools,
    forced,
    isParallel,
    format: format ?? readFormat(call.responseFormat, tools.length > 0, warnings),
    variables: { ...readReasoning(call.reasoning, chatTemplate, warnings), ...templateVariables },
    count: 1,
    options: { ...own, ...Object.fromEntries(settings) },
    fieldOf: fieldsOf(tools, format !== undefined),
    otherCalls: [],
  };
  return { request, warnings };
}

/** The names of a call for errors in options. A tool is named as apps do: by its key in `tools`. */
function fieldsOf(tools: readonly Tool[], isOwnFormat: boolean): FieldNames {
  const names = fieldNames(isOwnFormat ? NAMES : { ...NAMES, format: "output" });
  return (field) =>
    names(field).replace(
      /^tools\[(\d+)\]\.(name|parameters)/,
      (_, i: string, part: string) =>
        `tools.${tools[Number(i)]!.function.name}${part === "parameters" ? ".inputSchema" : ""}`,
    );
}

function readTools(
  { tools: given = [], toolChoice = { type: "auto" } }: LanguageModelV4CallOptions,
  isParallel: boolean,
  warnings: SharedV4Warning[],
): { tools: Tool[]; forced: ForcedCall | undefined } {
  if (toolChoice.type === "none") return { tools: [], forced: undefined };
  const tools = given.flatMap((tool) => {
    if (tool.type === "function") return [readTool(tool, warnings)];
    const details = "a model on this machine has only the functions that the app defines";
    warnings.push({ type: "unsupported", feature: `provider tool ${tool.id}`, details });
    return [];
  });
  if (toolChoice.type === "auto") return { tools, forced: undefined };
  const named = toolChoice.type === "tool" ? toolChoice.toolName : undefined;
  const chosen = tools.filter(({ function: { name } }) => named === undefined || name === named);
  if (chosen.length === 0)
    fail("INVALID_ARGUMENT", "toolChoice", `needs a tool in tools (got ${show(named ?? toolChoice.type)})`);
  return { tools, forced: { tools: chosen, isParallel: isParallel && named === undefined } };
}

function readTool(tool: LanguageModelV4FunctionTool, warnings: SharedV4Warning[]): Tool {
  const { name, description, inputSchema, inputExamples } = tool;
  if (inputExamples !== undefined && inputExamples.length > 0)
    warnings.push({ type: "unsupported", feature: "inputExamples", details: `of the tool ${name}: describe them` });
  return {
    type: "function",
    function: { name, ...(description !== undefined && { description }), parameters: inputSchema },
  };
}

function readFormat(
  given: LanguageModelV4CallOptions["responseFormat"],
  hasTools: boolean,
  warnings: SharedV4Warning[],
): OutputFormat | undefined {
  if (given?.type !== "json") return undefined;
  if (!hasTools) return formatOf(given.schema);
  const details = "not followed in a call that also has tools; ask for the object in a call without them";
  warnings.push({ type: "unsupported", feature: "responseFormat", details });
  return undefined;
}

function formatOf(schema: JSONSchema7 | undefined): OutputFormat {
  return schema === undefined ? "json" : { schema: schema as object };
}

/** The setting `reasoning` as the variables that templates read: whether to think, and how long. */
function readReasoning(
  reasoning: LanguageModelV4CallOptions["reasoning"],
  chatTemplate = "",
  warnings: SharedV4Warning[],
): Record<string, unknown> {
  if (reasoning === undefined || reasoning === "provider-default") return {};
  const hasSwitch = chatTemplate.includes("enable_thinking");
  const hasEffort = chatTemplate.includes("reasoning_effort");
  if (!(reasoning === "none" ? hasSwitch : hasSwitch || hasEffort)) {
    const details = `the model's chat template has no variable for ${show(reasoning)}`;
    warnings.push({ type: "unsupported", feature: "reasoning", details });
    return {};
  }
  if (reasoning === "none") return { enable_thinking: false };
  const effort = { minimal: "low", xhigh: "high", max: "high" }[reasoning as string] ?? reasoning;
  if (hasEffort && effort !== reasoning)
    warnings.push({ type: "compatibility", feature: "reasoning", details: `${reasoning} is read as ${effort}` });
  return { enable_thinking: true, ...(hasEffort && { reasoning_effort: effort }) };
}
