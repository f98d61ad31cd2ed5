// The formats of calls and reasoning that are known, and how a chat template shows which of them a model writes.
import type {
  AnswerFormat,
  CallFormat,
  FrameFormat,
  JsonFormat,
  ReasoningFormat,
  TaggedFormat,
} from "./call_format.js";

/** JSON between two markers, as in Hermes. */
function json(open: string, close: string, more: Partial<JsonFormat> = {}): JsonFormat {
  return {
    style: "json",
    open,
    close,
    lead: "",
    isList: false,
    nameKey: "name",
    argumentsKey: "arguments",
    isBare: false,
    markers: [open, close].filter((marker) => marker !== ""),
    ...more,
  };
}

/** `<function=name><parameter=key>value</parameter></function>` between two tags. */
function functionTags(tag: string, isPadded: boolean): TaggedFormat {
  const [open, close] = [`<${tag}>`, `</${tag}>`];
  return {
    style: "tagged",
    open,
    close,
    name: ["<function=", ">"],
    value: ["<parameter=", [">"], "</parameter>"],
    end: "</function>",
    isPadded,
    endsReasoning: isPadded,
    markers: [open, close],
  };
}

const DEEPSEEK: CallFormat = {
  style: "named",
  open: "<｜tool▁call▁begin｜>",
  close: "<｜tool▁call▁end｜>",
  section: ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"],
  heads: [
    { before: "function<｜tool▁sep｜>", after: "```json" },
    { before: "function<｜tool▁sep｜>", after: "```" },
    { before: "", after: "<｜tool▁sep｜>" },
  ],
  markers: [
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
  ],
};

const KIMI_K2: CallFormat = {
  style: "named",
  open: "<|tool_call_begin|>",
  close: "<|tool_call_end|>",
  section: ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"],
  heads: [{ before: "functions.", note: ":", after: "<|tool_call_argument_begin|>" }],
  markers: [
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
  ],
};

const MISTRAL: CallFormat = {
  style: "named",
  open: "[TOOL_CALLS]",
  close: "",
  heads: [{ before: "", note: "[CALL_ID]", after: "[ARGS]" }],
  markers: ["[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"],
};

const FUNCTIONARY: CallFormat = {
  style: "named",
  open: "<function=",
  close: "</function>",
  heads: [{ before: "", after: ">" }],
  markers: [],
};

const GLM: TaggedFormat = {
  style: "tagged",
  open: "<tool_call>",
  close: "",
  name: ["", ""],
  value: ["<arg_key>", ["</arg_key>", "<arg_value>"], "</arg_value>"],
  end: "</tool_call>",
  isPadded: false,
  markers: ["<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"],
};

/** Tencent's Hy3, whose tags all end with a suffix. */
const HY3: TaggedFormat = {
  style: "tagged",
  open: "<tool_call:opensource>",
  close: "",
  section: ["<tool_calls:opensource>", "</tool_calls:opensource>"],
  name: ["", "<tool_sep:opensource>"],
  value: ["<arg_key:opensource>", ["</arg_key:opensource>", "<arg_value:opensource>"], "</arg_value:opensource>"],
  end: "</tool_call:opensource>",
  isPadded: false,
  markers: ["tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value"].flatMap((tag) => [
    `<${tag}:opensource>`,
    `</${tag}:opensource>`,
  ]),
};

/** DeepSeek's V3.2 and V4, which differ in the tag around the calls. */
function dsml(tag: string): TaggedFormat {
  const [open, close] = ["<｜DSML｜", "</｜DSML｜"];
  return {
    style: "tagged",
    open: "",
    close: "",
    section: [`${open}${tag}>`, `${close}${tag}>`],
    name: [`${open}invoke name="`, '">'],
    value: [`${open}parameter name="`, ['" string="*">'], `${close}parameter>`],
    textAttribute: "true",
    end: `${close}invoke>`,
    isPadded: false,
    markers: ["｜DSML｜", open, close],
  };
}

const KIMI_K3_MARKERS = ["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"];
const KIMI_K3: TaggedFormat = {
  style: "tagged",
  open: "",
  close: "",
  section: ["<|open|>tools<|sep|>", "<|close|>tools<|sep|>"],
  name: ['<|open|>call tool="', '" index="*"<|sep|>'],
  value: ['<|open|>argument key="', ['" type="*"<|sep|>'], "<|close|>argument<|sep|>"],
  textAttribute: "string",
  end: "<|close|>call<|sep|>",
  isPadded: false,
  markers: KIMI_K3_MARKERS,
};

const SOLAR_MARKERS = ["<|begin|>", "<|content|>", "<|end|>", "<|tool_calls|>", "<|calls|>"];
const SOLAR: CallFormat = {
  style: "named",
  open: "<|tool_call:begin|>",
  close: "<|tool_call:end|>",
  section: ["<|tool_calls|>", "<|calls|>"],
  heads: [{ before: "<|tool_call:name|>", after: "<|tool_call:args|>", hasId: true }],
  markers: [...SOLAR_MARKERS, "<|tool_call:begin|>", "<|tool_call:name|>", "<|tool_call:args|>", "<|tool_call:end|>"],
};

const MUSE_MARKERS = ["<|start|>", "<|message|>", "<|eom|>", "<|eot|>"];
const MUSE: TaggedFormat = {
  style: "tagged",
  open: "",
  close: "",
  section: ["<atem:function_calls>", "</atem:function_calls>"],
  name: ['<atem:invoke name="', '">'],
  value: ['<atem:parameter name="', ['">'], "</atem:parameter>"],
  end: "</atem:invoke>",
  isPadded: false,
  markers: [
    "<atem:function_calls>",
    "</atem:function_calls>",
    "<atem:invoke",
    "</atem:invoke>",
    "<atem:parameter",
    "</atem:parameter>",
  ],
};

const FUNCTIONARY_3_2: CallFormat = {
  style: "named",
  open: ">>>",
  close: "",
  heads: [{ before: "", after: "" }],
  markers: [],
};

const MINICPM5: CallFormat = {
  style: "tagged",
  open: "",
  close: "",
  name: ['<function name="', '">'],
  value: ['<param name="', ['">'], "</param>"],
  end: "</function>",
  isPadded: false,
  markers: ["<function", "</function>", "<param", "</param>"],
};

const MINIMAX_M2: CallFormat = {
  style: "tagged",
  open: "",
  close: "",
  section: ["<minimax:tool_call>", "</minimax:tool_call>"],
  name: ['<invoke name="', '">'],
  value: ['<parameter name="', ['">'], "</parameter>"],
  end: "</invoke>",
  isPadded: false,
  markers: ["<minimax:tool_call>", "</minimax:tool_call>"],
};

/** Calls as Python writes them, between two markers. */
function python(open: string, close: string): CallFormat {
  return { style: "python", open, close, markers: [open, close] };
}

function quoted(open: string, close: string, quote: string): CallFormat {
  return { style: "quoted", open, close, quote, markers: [open, close, quote] };
}

/** Texts that a template must all have, and what they mean. The first that matches counts. */
const FORMATS: readonly (readonly [needed: readonly string[], format: CallFormat | undefined])[] = [
  [["]<]minimax[>["], undefined], // MiniMax-M3: a tag for each key
  [["<role>ASSISTANT</role>", "<arg_key>"], { ...GLM, endsReasoning: true }], // Ling 3
  [["':opensource'", "<tool_sep"], HY3],
  [["DSML", "function_calls"], dsml("function_calls")], // DeepSeek V3.2
  [["DSML", "tool_calls"], dsml("tool_calls")], // DeepSeek V4
  [["<|open|>", "<|close|>", "<|end_of_msg|>"], KIMI_K3],
  [["<|tool_call:begin|>"], SOLAR],
  [["<atem:function_calls>", "<|eom|>"], MUSE],
  [[">>>all", ">>>${recipient}"], FUNCTIONARY_3_2],
  [["<tool_call>", "<arg_key>"], GLM], // also Laguna, Spark
  [["<seed:tool_call>"], functionTags("seed:tool_call", false)],
  [["<minimax:tool_call>"], MINIMAX_M2],
  [['<function name="', '<param name="'], MINICPM5],
  [["<tool_call>", "<function=", "<parameter="], functionTags("tool_call", true)], // Qwen3-Coder, Qwen3.5, Nemotron 3
  [["<tool_calls>["], json("<tool_calls>", "</tool_calls>", { isList: true })], // Apriel
  [["<tool_call>"], json("<tool_call>", "</tool_call>", { lead: "\n" })], // Hermes, Qwen, Granite 4, SmolLM3
  [["[TOOL_CALLS]", "[ARGS]"], MISTRAL],
  [["[TOOL_CALLS]"], json("[TOOL_CALLS]", "", { isList: true })],
  [["<|tool_call_start|>"], python("<|tool_call_start|>", "<|tool_call_end|>")], // LFM2.5
  [["<|tool_list_start|>"], python("<|tool_call_start|>", "<|tool_call_end|>")], // LFM2
  [["List of tools: ["], python("<|tool_call_start|>", "<|tool_call_end|>")], // LFM2.5
  [["<function_calls>"], python("<function_calls>", "</function_calls>")], // Olmo 3
  [["<|tool_call>call:"], quoted("<|tool_call>", "<tool_call|>", '<|"|>')], // Gemma 4
  [["<start_function_call>"], quoted("<start_function_call>", "<end_function_call>", "<escape>")], // FunctionGemma
  [["<|tool_call|>"], json("<|tool_call|>", "", { isList: true })], // Granite 3
  [["<|tool_calls_section_begin|>"], KIMI_K2],
  [["<｜tool▁call▁begin｜>"], DEEPSEEK],
  [["<TOOLCALL>"], json("<TOOLCALL>", "</TOOLCALL>", { isList: true })], // Nemotron Nano 2
  [
    ["<|START_ACTION|>"],
    json("<|START_ACTION|>", "<|END_ACTION|>", { isList: true, nameKey: "tool_name", argumentsKey: "parameters" }),
  ], // Command R7B
  [["<|tools_prefix|>"], json("<|tools_prefix|>", "<|tools_suffix|>", { isList: true, argumentsKey: undefined })], // Apertus
  [["<|function_call|>"], json("<|function_call|>", "")], // GigaChat 3.1
  [
    ["<|role_sep|>", "<|message_sep|>", "function call"],
    json("function call<|role_sep|>", "", { lead: "\n", markers: ["<|role_sep|>"] }),
  ], // GigaChat 3
  [
    ["\nAction:\n", '"tool_name"'],
    json("Action:", "```", {
      isList: true,
      nameKey: "tool_name",
      argumentsKey: "parameters",
      lead: "\n```json\n",
      markers: [],
    }),
  ], // Command R+
  [["<tool_calls>"], json("<tool_calls>", "</tool_calls>")], // MiniMax-M1
  [["<function="], FUNCTIONARY],
  [["functools["], json("functools", "", { isList: true, markers: [] })],
  [
    ["tool_calls", '"parameters"', "<|start_header_id|>"],
    json("<|python_tag|>", "", { argumentsKey: "parameters", isBare: true }), // Llama 3
  ],
];

/** Reasoning. `shownBy`: texts of the template that show it, if it doesn't have the markers themselves. */
const REASONING: readonly (ReasoningFormat & { readonly shownBy?: readonly string[] })[] = [
  { open: "<|channel>thought", close: "<channel|>", markers: ["<|channel>", "<channel|>"], isAnywhere: true },
  { open: "<|START_THINKING|>", close: "<|END_THINKING|>" },
  { open: "<|inner_prefix|>", close: "<|inner_suffix|>" },
  { open: "<seed:think>", close: "</seed:think>" },
  { open: "[THINK]", close: "[/THINK]" },
  { open: "<mm:think>", close: "</mm:think>" },
  { open: "<think:opensource>", close: "</think:opensource>", shownBy: ["':opensource'", "<think"] },
  {
    open: "<|open|>think<|sep|>",
    close: "<|close|>think<|sep|>",
    shownBy: ["<|open|>", "<|close|>", "<|end_of_msg|>"],
    markers: KIMI_K3_MARKERS,
  },
  { open: "<|think|>", close: "<|end|>", shownBy: ["<|think|>", "<|tool_call:begin|>"] }, // Solar
  {
    open: " to=self<|message|>",
    close: "<|eom|>",
    shownBy: ["<atem:function_calls>", "<|eom|>"],
    markers: MUSE_MARKERS,
    isAnywhere: true,
  },
  { open: "<think>", close: "</think>" },
];

/** What stands around content, and the texts of a template that show it. */
const FRAMES: readonly (readonly [needed: readonly string[], frame: FrameFormat])[] = [
  [
    ["<|open|>", "<|close|>", "<|end_of_msg|>"],
    {
      texts: ["<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"],
      markers: KIMI_K3_MARKERS,
    },
  ],
  [
    ["<|tool_call:begin|>"],
    { texts: ["<|begin|>assistant", "<|content|>", "<|end|>", "<|calls|>"], markers: SOLAR_MARKERS },
  ],
  [
    ["<atem:function_calls>", "<|eom|>"],
    {
      texts: [
        " to=user<|message|>",
        " to={tool}<|message|>",
        "<|start|>assistant",
        "<|message|>",
        "<|eom|>",
        "<|eot|>",
      ],
      markers: MUSE_MARKERS,
    },
  ],
  [[">>>all", ">>>${recipient}"], { texts: [">>>all\n"], markers: [], begun: ">>>" }],
  [["<|role_sep|>", "<|message_sep|>"], { texts: ["<|message_sep|>"], markers: ["<|message_sep|>"] }],
];

/** Derives the format of answers from the source of a chat template. */
export function answerFormat(template: string | undefined): AnswerFormat {
  const source = (template ?? "").replaceAll("\\n", "\n");
  const has = (text: string): boolean => source.includes(text);
  return {
    isHarmony: has("<|channel|>") && has("<|message|>"),
    calls: FORMATS.find(([needed]) => needed.every(has))?.[1],
    reasoning: REASONING.find(({ open, close, shownBy }) =>
      shownBy === undefined ? has(open) || has(close) : shownBy.every(has),
    ),
    frame: FRAMES.find(([needed]) => needed.every(has))?.[1],
  };
}
