// Writes calls as the chat templates of models write them, without the code that reads them.
import { control, json, repr, jsonCall, entries, gemma, think } from "./written_values.mjs";
import { TAGGED_FORMATS } from "./tagged_writers.mjs";

export { Written } from "./written_values.mjs";

const solarTurn = [control("<|begin|>"), "assistant"];

/**
 * The formats: texts of the template that show the format, what it writes around content, reasoning and calls, and what a value can't
 * contain. `reads`: whether an end tag inside of a value would end it.
 */
export const FORMATS = {
  "Hermes, Qwen": {
    template: "<think></think><tool_call>",
    reasoning: think,
    calls: (calls, options) =>
      calls.flatMap((call, i) => [
        `${i > 0 ? "\n" : ""}<tool_call>\n${jsonCall(call, "arguments", options)}\n</tool_call>`,
      ]),
    between: "\n",
    after: "\n",
  },
  "Llama 3": {
    template: `tool_calls "parameters" <|start_header_id|>`,
    calls: ([call], options) => [jsonCall(call, "parameters", options)],
    isAlone: true,
    most: 1,
  },
  "Mistral, a list": {
    template: "[TOOL_CALLS]",
    calls: (calls, options) => [
      control("[TOOL_CALLS]"),
      `[${calls.map(({ name, given }, i) => `{"name": "${name}", "arguments": ${json(given, options)}, "id": "call0000${i}"}`).join(", ")}]`,
    ],
  },
  "Mistral, with ids": {
    template: "[TOOL_CALLS][ARGS]",
    reasoning: (text) => (text === "" ? [] : [control("[THINK]"), text, control("[/THINK]")]),
    shows: "[THINK]",
    calls: (calls, options) =>
      calls.flatMap(({ name, given }, i) => [
        control("[TOOL_CALLS]"),
        name,
        ...(i === 0 ? [control("[CALL_ID]"), "abcdefghi"] : []),
        control("[ARGS]"),
        json(given, options),
      ]),
  },
  "Granite 3": {
    template: "<|tool_call|>",
    calls: (calls, options) => [
      control("<|tool_call|>"),
      `[${calls.map((call) => jsonCall(call, "arguments", options)).join(", ")}]`,
    ],
  },
  "Nemotron Nano 2": {
    template: "<TOOLCALL><think>",
    reasoning: think,
    calls: (calls, options) => [
      `<TOOLCALL>[${calls.map((call) => jsonCall(call, "arguments", options)).join(", ")}]</TOOLCALL>`,
    ],
  },
  Apriel: {
    template: "<tool_calls>[<tool_call>",
    calls: (calls, options) => [
      `\n<tool_calls>[${calls.map((call) => jsonCall(call, "arguments", options)).join(", ")}]</tool_calls>`,
    ],
  },
  "MiniMax-M1": {
    template: "<tool_calls>",
    calls: (calls, options) => [
      `<tool_calls>\n${calls.map((call) => `${jsonCall(call, "arguments", options)}\n`).join("")}</tool_calls>`,
    ],
  },
  "Command R7B": {
    template: "<|START_ACTION|><|START_THINKING|>",
    reasoning: (text) => (text === "" ? [] : [control("<|START_THINKING|>"), text, control("<|END_THINKING|>")]),
    content: (text) => [control("<|START_RESPONSE|>"), text, control("<|END_RESPONSE|>")],
    onlyControl: true,
    calls: (calls, options) => [
      control("<|START_ACTION|>"),
      `[\n    ${calls.map(({ name, given }, i) => `{"tool_call_id": "${i}", "tool_name": "${name}", "parameters": ${json(given, options)}}`).join(",\n    ")}\n]`,
      control("<|END_ACTION|>"),
    ],
  },
  Apertus: {
    template: "<|tools_prefix|>",
    calls: (calls, options) => [
      control("<|tools_prefix|>"),
      `[${calls.map(({ name, given }) => `{"${name}": ${json(given, options)}}`).join(", ")}]`,
      control("<|tools_suffix|>"),
    ],
  },
  "GigaChat 3.1": {
    template: "<|function_call|>",
    calls: ([call], options) => [control("<|function_call|>"), jsonCall(call, "arguments", options)],
    most: 1,
  },
  "Functionary 3.1": {
    template: "<function=",
    calls: (calls, options) => calls.map(({ name, given }) => `<function=${name}>${json(given, options)}</function>`),
  },
  "Firefunction 2": {
    template: " functools[",
    calls: (calls, options) => [` functools[${calls.map((call) => jsonCall(call, "arguments", options)).join(", ")}]`],
  },
  "DeepSeek V3.1": {
    template: "<think></think><｜tool▁call▁begin｜>",
    reasoning: (text) => (text === "" ? [] : [`<think>${text}</think>`]),
    calls: (calls, options) => [
      control("<｜tool▁calls▁begin｜>"),
      ...calls.flatMap(({ name, given }) => [
        control("<｜tool▁call▁begin｜>"),
        name,
        control("<｜tool▁sep｜>"),
        json(given, options),
        control("<｜tool▁call▁end｜>"),
      ]),
      control("<｜tool▁calls▁end｜>"),
    ],
  },
  "DeepSeek R1": {
    template: "<｜tool▁call▁begin｜>",
    calls: (calls, options) => [
      control("<｜tool▁calls▁begin｜>"),
      ...calls.flatMap(({ name, given }, i) => [
        ...(i > 0 ? ["\n"] : []),
        control("<｜tool▁call▁begin｜>"),
        "function",
        control("<｜tool▁sep｜>"),
        `${name}\n\`\`\`json\n${json(given, options)}\n\`\`\``,
        control("<｜tool▁call▁end｜>"),
      ]),
      control("<｜tool▁calls▁end｜>"),
    ],
  },
  "Kimi K2": {
    template: "<|tool_calls_section_begin|>",
    calls: (calls, options) => [
      control("<|tool_calls_section_begin|>"),
      ...calls.flatMap(({ name, given }, i) => [
        control("<|tool_call_begin|>"),
        `functions.${name}:${i}`,
        control("<|tool_call_argument_begin|>"),
        json(given, options),
        control("<|tool_call_end|>"),
      ]),
      control("<|tool_calls_section_end|>"),
    ],
  },
  Solar: {
    template: "<|think|><|tool_call:begin|>",
    reasoning: (text) => (text === "" ? [] : [control("<|think|>"), text, control("<|end|>"), ...solarTurn]),
    content: (text, isLast) => [control("<|content|>"), text, ...(isLast ? [] : [control("<|end|>"), ...solarTurn])],
    onlyControl: true,
    calls: (calls, options) => [
      control("<|tool_calls|>"),
      ...calls.flatMap(({ name, given }, i) => [
        control("<|tool_call:begin|>"),
        `functions.${name}:${i}`,
        control("<|tool_call:name|>"),
        name,
        control("<|tool_call:args|>"),
        json(given, options),
        control("<|tool_call:end|>"),
      ]),
      control("<|calls|>"),
    ],
  },
  "Command R+": {
    template: '\nAction:\n "tool_name"',
    calls: (calls, options) => [
      `\nAction:\n\`\`\`json\n[\n${calls.map(({ name, given }) => `    {\n        "tool_name": "${name}",\n        "parameters": ${json(given, options)}\n    }`).join(",\n")}\n]\`\`\`\n`,
    ],
  },
  "Functionary 3.2": {
    template: ">>>all>>>${recipient}",
    content: (text) => [`all\n${text}`],
    calls: (calls, options, hasContent) =>
      calls.map(({ name, given }, i) => `${i > 0 || hasContent ? ">>>" : ""}${name}\n${json(given, options)}`),
    unknown: ">>>",
  },
  "GigaChat 3": {
    template: "<|role_sep|><|message_sep|>function call",
    calls: ([call], options) => [
      control("<|message_sep|>"),
      "\n\nfunction call",
      control("<|role_sep|>"),
      `\n${jsonCall(call, "arguments", options)}`,
      control("<|message_sep|>"),
    ],
    onlyControl: true,
    most: 1,
  },
  LFM2: {
    template: "<|tool_call_start|><think>",
    reasoning: (text) => (text === "" ? [] : [`<think>${text}</think>`]),
    calls: (calls) => [
      control("<|tool_call_start|>"),
      `[${calls.map(({ name, given }) => `${name}(${entries(given, ([key, value]) => `${key}=${repr(value)}`, ", ")})`).join(", ")}]`,
      control("<|tool_call_end|>"),
    ],
  },
  "Olmo 3": {
    template: "<function_calls>",
    calls: (calls) => [
      `<function_calls>${calls.map(({ name, given }) => `${name}(${entries(given, ([key, value]) => `${key}=${json(value)}`, ", ")})`).join("\n")}</function_calls>`,
    ],
  },
  "Gemma 4": {
    template: "<|tool_call>call:<|channel>thought<channel|>",
    reasoning: (text) => (text === "" ? [] : [control("<|channel>"), `thought\n${text}\n`, control("<channel|>")]),
    calls: (calls) =>
      calls.flatMap(({ name, given }) => [
        control("<|tool_call>"),
        `call:${name}`,
        ...gemma(given, '<|"|>', false),
        control("<tool_call|>"),
      ]),
    refuses: [/<\|"\|>/],
  },
  FunctionGemma: {
    template: "<start_function_call>",
    calls: (calls) =>
      calls.flatMap(({ name, given }) => [
        control("<start_function_call>"),
        `call:${name}`,
        ...gemma(given, "<escape>", false),
        control("<end_function_call>"),
      ]),
    refuses: [/<escape>/],
  },
  "gpt-oss": {
    template: "<|channel|><|message|>",
    reasoning: (text) =>
      text === ""
        ? []
        : [
            control("<|channel|>"),
            "analysis",
            control("<|message|>"),
            text,
            control("<|end|>"),
            control("<|start|>"),
            "assistant",
          ],
    content: (text, isLast) => [
      control("<|channel|>"),
      isLast ? "final" : "commentary",
      control("<|message|>"),
      text,
      ...(isLast ? [] : [control("<|end|>"), control("<|start|>"), "assistant"]),
    ],
    calls: (calls, options) =>
      calls.flatMap(({ name, given }, i) => [
        ...(i > 0 ? [control("<|start|>"), "assistant"] : []),
        control("<|channel|>"),
        `commentary to=functions.${name} `,
        control("<|constrain|>"),
        "json",
        control("<|message|>"),
        json(given, options),
        ...(i + 1 < calls.length ? [control("<|call|>")] : []),
      ]),
    onlyControl: true,
  },
  ...TAGGED_FORMATS,
};
