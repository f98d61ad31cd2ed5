// How a model writes tool calls and its reasoning, derived from its chat template.

/** How the text between two markers says which function is called. */
export type CallStyle =
  /** `{"name": …, "arguments": …}`, or a list of these; `parameters` is read as `arguments`. */
  | "json"
  /** `name[ARGS]{…}`: newer Mistral models. */
  | "named"
  /** `name<｜tool▁sep｜>{…}`, also with a fence of Markdown: DeepSeek. */
  | "separated"
  /** `[name(key="value", …)]`: LFM2. */
  | "python"
  /** `<function=name><parameter=key>value</parameter></function>`: Qwen3-Coder. */
  | "xml"
  /** `call:name{key:<escape>text<escape>}`: FunctionGemma. */
  | "escaped";

/** Text that surrounds a call. An empty `close` means the next `open` or the end. */
export interface CallFormat {
  readonly open: string;
  readonly close: string;
  readonly style: CallStyle;
  /** Text between `open` and the call where the model is made to call. */
  readonly lead: string;
  /** Whether several calls are one list. */
  readonly isList: boolean;
  /** Name of the arguments in JSON. */
  readonly argumentsKey: "arguments" | "parameters";
  /** An answer that is nothing but JSON is a call even without `open`: Llama 3. */
  readonly isBare: boolean;
}

/** What a chat template says about answers. */
export interface AnswerFormat {
  /** Undefined if the template writes no calls, or in a form that isn't known. */
  readonly calls: CallFormat | undefined;
  readonly reasoning: { readonly open: string; readonly close: string } | undefined;
  /** Whether answers consist of channels, as those of gpt-oss. */
  readonly isHarmony: boolean;
}

const JSON_CALL = { style: "json", lead: "", isList: false, argumentsKey: "arguments", isBare: false } as const;

/** Texts that a template must all have, and what they mean. The first that matches counts. */
const FORMATS: readonly (readonly [needed: readonly string[], format: CallFormat | undefined])[] = [
  [["<tool_call>", "<arg_key>"], undefined], // GLM
  [["<tool_call>", "<function="], { ...JSON_CALL, open: "<tool_call>", close: "</tool_call>", style: "xml" }],
  [["<tool_call>"], { ...JSON_CALL, open: "<tool_call>", close: "</tool_call>", lead: "\n" }],
  [["[TOOL_CALLS]", "[ARGS]"], { ...JSON_CALL, open: "[TOOL_CALLS]", close: "", style: "named" }],
  [["[TOOL_CALLS]"], { ...JSON_CALL, open: "[TOOL_CALLS]", close: "", isList: true }],
  [
    ["<|tool_call_start|>"],
    { ...JSON_CALL, open: "<|tool_call_start|>", close: "<|tool_call_end|>", style: "python", isList: true },
  ],
  [["<|tool_call|>"], { ...JSON_CALL, open: "<|tool_call|>", close: "", isList: true }],
  [
    ["<｜tool▁call▁begin｜>"],
    { ...JSON_CALL, open: "<｜tool▁call▁begin｜>", close: "<｜tool▁call▁end｜>", style: "separated" },
  ],
  [
    ["<start_function_call>"],
    { ...JSON_CALL, open: "<start_function_call>", close: "<end_function_call>", style: "escaped" },
  ],
  [
    ["tool_calls", '"parameters"', "<|start_header_id|>"],
    { ...JSON_CALL, open: "<|python_tag|>", close: "", argumentsKey: "parameters", isBare: true },
  ],
];

const REASONING = [
  { open: "<think>", close: "</think>" },
  { open: "[THINK]", close: "[/THINK]" },
] as const;

/** Derives the format of answers from the source of a chat template. */
export function answerFormat(template: string | undefined): AnswerFormat {
  const source = (template ?? "").replaceAll("\\n", "\n");
  const has = (text: string): boolean => source.includes(text);
  return {
    isHarmony: has("<|channel|>") && has("<|message|>"),
    calls: FORMATS.find(([needed]) => needed.every(has))?.[1],
    reasoning: REASONING.find(({ open, close }) => has(open) || has(close)),
  };
}
