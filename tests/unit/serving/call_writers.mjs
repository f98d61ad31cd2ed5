// Writes calls as the chat templates of models write them, without the code that reads them.
//
// A text is a list of strings and of markers ({ control: text }), which are control tokens in the vocabularies of these models.

/** A number as it is written. */
export class Written {
  constructor(text) {
    this.text = text;
  }
}

const control = (text) => ({ control: text });

/** JSON with the numbers as they are written, with spaces as json.dumps has them. `escapes`: as Jinja's tojson. */
export function json(value, { comma = ", ", colon = ": ", escapes = false } = {}) {
  const options = { comma, colon, escapes };
  if (value instanceof Written) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => json(item, options)).join(comma)}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([key, item]) => json(key, options) + colon + json(item, options))
      .join(comma)}}`;
  const text = JSON.stringify(value);
  if (!escapes || typeof value !== "string") return text;
  return text.replace(/[<>&'\u0080-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** As Python's repr() writes a value. */
export function repr(value) {
  if (value instanceof Written) return value.text;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, item]) => `${repr(key)}: ${repr(item)}`)
      .join(", ")}}`;
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const escaped = value.replace(/[\\\p{Cc}\u2028\u2029]/gu, (one) => {
    const known = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" }[one];
    const code = one.charCodeAt(0);
    return known ?? (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`);
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** As Jinja prints a value that is no text. */
const printed = (value) => (typeof value === "string" ? value : repr(value));
/** Texts as they are, other values as JSON. */
const rawOrJson = (value) => (typeof value === "string" ? value : json(value));

const jsonCall = ({ name, given }, key = "arguments", options = {}) =>
  `{"name": "${name}", "${key}": ${json(given, options)}}`;
const entries = (given, write, between = "") => Object.entries(given).map(write).join(between);

/** Gemma's objects, without quotes around the outermost keys, and in the order of the keys. */
function gemma(value, quote, isInner = true) {
  if (typeof value === "string") return [control(quote), value, control(quote)];
  if (typeof value === "boolean" || value === null || value instanceof Written)
    return [value === null ? "None" : json(value)];
  const isList = Array.isArray(value);
  const members = isList
    ? value.map((item) => gemma(item, quote))
    : Object.keys(value)
        .sort()
        .map((key) => [...(isInner ? [control(quote), key, control(quote)] : [key]), ":", ...gemma(value[key], quote)]);
  return [
    isList ? "[" : "{",
    ...members.flatMap((member, i) => (i === 0 ? member : [",", ...member])),
    isList ? "]" : "}",
  ];
}

const think = (text) => (text === "" ? [] : [`<think>\n${text}\n</think>\n\n`]);
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
};
