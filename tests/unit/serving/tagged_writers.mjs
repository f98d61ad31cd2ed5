// Writes calls whose arguments stand between tags, as the chat templates of models write them.
import { Written, control, json, printed, rawOrJson, entries, think } from "./written_values.mjs";

const functionTags = (tag, pad) => (calls) =>
  calls.flatMap(({ name, given }, i) => [
    `${i > 0 ? "\n" : ""}<${tag}>\n<function=${name}>\n`,
    entries(
      given,
      ([key, value]) =>
        `<parameter=${key}>${pad}${pad === "" ? printed(value) : typeof value === "object" && value !== null && !(value instanceof Written) ? json(value) : printed(value)}${pad}</parameter>\n`,
    ),
    `</function>\n</${tag}>`,
  ]);

const opened = (tag) => [control("<|open|>"), tag, control("<|sep|>")];
const closed = (tag) => [control("<|close|>"), tag, control("<|sep|>")];
const kimi = (tag, text) => [...opened(tag), text, ...closed(tag)];
const kimiType = (value) =>
  value === null ? "null" : Array.isArray(value) ? "array" : value instanceof Written ? "number" : typeof value;
const museTurn = [control("<|start|>"), "assistant"];
const museTo = (name) => [` to=${name}`, control("<|message|>")];

/** See call_writers.mjs. */
export const TAGGED_FORMATS = {
  "Qwen3-Coder, Qwen3.5": {
    template: "<think></think><tool_call><function=<parameter=",
    reasoning: think,
    calls: functionTags("tool_call", "\n"),
    between: "\n\n",
    after: "\n",
    isTagged: true,
    refuses: [
      /(?:^|\n)<parameter=[^>]*>(?:\n|$)/,
      /<\/parameter>\s*<(?:parameter=|\/function>\s*<\/tool_call>)/,
      /<\/parameter>\s*<\/tool_call>\s*<tool_call>/, // the end of a call without </function>
      /<\/function>\s*<\/tool_call>\s*<tool_call>/,
    ],
  },
  "Seed-OSS": {
    template: "<seed:tool_call><seed:think>",
    reasoning: (text) => (text === "" ? [] : [`<seed:think>${text}</seed:think>`]),
    calls: functionTags("seed:tool_call", ""),
    isTagged: true,
    refuses: [/<\/parameter>\s*(?:<(?:parameter=|\/function)|$)/, /<parameter=/],
  },
  "GLM 4.5": {
    template: "<think></think><tool_call><arg_key>",
    reasoning: (text) => (text === "" ? [] : [`<think>${text}</think>\n`]),
    calls: (calls) =>
      calls.map(
        ({ name, given }, i) =>
          `${i > 0 ? "\n" : ""}<tool_call>${name}\n${entries(given, ([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${rawOrJson(value)}</arg_value>\n`)}</tool_call>`,
      ),
    isTagged: true,
    refuses: [/<\/arg_value>\s*<(?:arg_key|\/tool_call)/, /<arg_key>/],
  },
  "Ling 3": {
    template: "<role>ASSISTANT</role><think></think><tool_call><arg_key>",
    reasoning: (text) => (text === "" ? [] : [`<think>${text}</think>`]),
    calls: (calls) =>
      calls.map(
        ({ name, given }) =>
          `\n<tool_call>${name}\n${entries(given, ([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${rawOrJson(value)}</arg_value>`)}\n</tool_call>`,
      ),
    isTagged: true,
    refuses: [/<\/arg_value>\s*<(?:arg_key|\/tool_call)/, /<arg_key>/],
  },
  Hy3: {
    template: "':opensource'<think<tool_sep",
    reasoning: (text) => (text === "" ? [] : [`<think:opensource>${text}</think:opensource>`]),
    calls: (calls) => [
      "<tool_calls:opensource>\n",
      ...calls.map(
        ({ name, given }) =>
          `<tool_call:opensource>${name}<tool_sep:opensource>\n${entries(given, ([key, value]) => `<arg_key:opensource>${key}</arg_key:opensource>\n<arg_value:opensource>${rawOrJson(value)}</arg_value:opensource>\n`)}</tool_call:opensource>\n`,
      ),
      "</tool_calls:opensource>",
    ],
    isTagged: true,
  },
  ...Object.fromEntries(
    [
      ["DeepSeek V3.2", "function_calls"],
      ["DeepSeek V4", "tool_calls"],
    ].map(([model, tag]) => [
      model,
      {
        template: `<think></think>DSML ${tag}`,
        reasoning: (text) => (text === "" ? [] : [`<think>${text}</think>`]),
        calls: (calls) => [
          `\n\n<｜DSML｜${tag}>\n`,
          ...calls.map(
            ({ name, given }) =>
              `<｜DSML｜invoke name="${name}">\n${entries(given, ([key, value]) => `<｜DSML｜parameter name="${key}" string="${typeof value === "string"}">${rawOrJson(value)}</｜DSML｜parameter>\n`)}</｜DSML｜invoke>\n`,
          ),
          `</｜DSML｜${tag}>`,
        ],
        isTyped: true,
      },
    ]),
  ),
  "Kimi K3": {
    template: "<|open|><|close|><|end_of_msg|>",
    reasoning: (text) => (text === "" ? [] : kimi("think", text)),
    content: (text) => kimi("response", text),
    onlyControl: true,
    calls: (calls) => [
      ...opened("tools"),
      ...calls.flatMap(({ name, given }, i) => [
        ...opened(`call tool="${name}" index="${i + 1}"`),
        ...Object.entries(given).flatMap(([key, value]) => [
          ...opened(`argument key="${key}" type="${kimiType(value)}"`),
          rawOrJson(value),
          ...closed("argument"),
        ]),
        ...closed("call"),
      ]),
      ...closed("tools"),
    ],
    end: closed("message"),
    isTyped: true,
  },
  Muse: {
    template: "<atem:function_calls><|eom|>",
    reasoning: (text) => (text === "" ? [] : [...museTo("self"), text, control("<|eom|>"), ...museTurn]),
    content: (text, isLast) => [...museTo("user"), text, ...(isLast ? [] : [control("<|eom|>"), ...museTurn])],
    onlyControl: true,
    calls: (calls) =>
      calls.flatMap(({ name, given }, i) => [
        ...(i > 0 ? [control("<|eom|>"), ...museTurn] : []),
        ...museTo(name),
        `<atem:function_calls>\n<atem:invoke name="${name}">\n${entries(given, ([key, value]) => `<atem:parameter name="${key}">${rawOrJson(value)}</atem:parameter>\n`)}</atem:invoke>\n</atem:function_calls>`,
      ]),
    isTagged: true,
  },
  MiniCPM5: {
    template: '<think></think><function name="<param name="',
    reasoning: think,
    calls: (calls) =>
      calls.map(
        ({ name, given }, i) =>
          `${i > 0 ? "\n" : ""}<function name="${name}">${entries(given, ([key, value]) => `<param name="${key}">${typeof value === "string" && /[<&\n]/.test(value) ? `<![CDATA[${value}]]>` : printed(value)}</param>`)}</function>`,
      ),
    between: "\n",
    isTagged: true,
    refuses: [/\]\]><\/param>/],
    refusesInside: [/<\/param>\s*<(?:param|\/function)/], // lists and objects have no CDATA, so these tags would end them
  },
  "MiniMax-M2": {
    template: "<think></think><minimax:tool_call>",
    reasoning: think,
    calls: (calls) => [
      "\n<minimax:tool_call>\n",
      ...calls.map(
        ({ name, given }) =>
          `<invoke name="${name}">\n${entries(given, ([key, value]) => `<parameter name="${key}">${rawOrJson(value)}</parameter>\n`)}</invoke>\n`,
      ),
      "</minimax:tool_call>",
    ],
    isTagged: true,
    refuses: [/<\/parameter>\s*<(?:parameter|\/invoke)/, /<parameter name=/],
  },
};
