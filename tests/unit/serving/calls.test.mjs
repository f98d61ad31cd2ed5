// How models write tool calls and reasoning: derived from chat templates, and read in pieces of any size.
import assert from "node:assert/strict";
import test from "node:test";
import { answerReader } from "../../../build/package/apps/serving/calls/answer_reader.js";
import { answerFormat } from "../../../build/package/apps/serving/calls/call_formats.js";

const toolOf = (name, properties) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties } },
});
const given = [
  toolOf("get_weather", { city: { type: "string" }, days: { type: "integer" } }),
  toolOf("now", {}),
  toolOf("say", { text: { type: "string" }, loud: { type: "boolean" } }),
];

/** The parts of an answer, with neighbouring texts joined, read `size` characters at a time. */
function partsOf(template, answer, { size = answer.length, tools = given, isReasoning = false, isCut = false } = {}) {
  const reader = answerReader(answerFormat(template), tools, isReasoning);
  const parts = [];
  for (let at = 0; at < answer.length; at += size) parts.push(...reader.push(answer.slice(at, at + size)));
  parts.push(...reader.end(isCut));
  const joined = [];
  for (const part of parts) {
    const [name] = Object.keys(part);
    if (name === "call") joined.push({ call: [part.call, ""] });
    else if (name === "arguments") joined.at(-1).call[1] += part.arguments;
    else if (name === "isCallEnd") joined.at(-1).call[1] = parsed(joined.at(-1).call[1]);
    else if (joined.at(-1)?.[name] !== undefined) joined.at(-1)[name] += part[name];
    else joined.push({ ...part });
  }
  return joined;
}

/** Arguments as values, or as text if they are incomplete. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const call = (name, given) => ({ call: [name, given] });
const weather = call("get_weather", { city: "Bergen", days: 2 });
const json = '{"name": "get_weather", "arguments": {"city": "Bergen", "days": 2}}';

/** Name, template, answer, parts. */
const cases = [
  ["Hermes", "<tool_call>", `Let me look.\n<tool_call>\n${json}\n</tool_call>`, [{ content: "Let me look." }, weather]],
  [
    "Hermes, two calls",
    "<tool_call>",
    `<tool_call>\n${json}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>`,
    [weather, call("now", {})],
  ],
  [
    "reasoning, then a call",
    "<think><tool_call>",
    `<think>\nWhere? a < b\n</think>\n\n<tool_call>\n${json}\n</tool_call>`,
    [{ reasoning: "Where? a < b" }, weather],
  ],
  [
    "Llama 3",
    'tool_calls "parameters" <|start_header_id|>',
    '{"name": "get_weather", "parameters": {"city": "Bergen", "days": 2}}',
    [weather],
  ],
  [
    "Llama 3 with its tag",
    'tool_calls "parameters" <|start_header_id|>',
    '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Bergen", "days": 2}}',
    [weather],
  ],
  ["Mistral", "[TOOL_CALLS]", `[TOOL_CALLS] [${json}]`, [weather]],
  [
    "Mistral, newer",
    "[TOOL_CALLS][ARGS]",
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Bergen", "days": 2}[TOOL_CALLS]now[ARGS]{}',
    [weather, call("now", {})],
  ],
  [
    "LFM2",
    "<|tool_call_start|>",
    `<|tool_call_start|>[get_weather(city="Bergen", days=2), say(text='it\\'s, (so)', loud=True)]<|tool_call_end|>Done.`,
    [weather, call("say", { text: "it's, (so)", loud: true }), { content: "Done." }],
  ],
  ["Granite 3", "<|tool_call|>", `<|tool_call|>[${json}]`, [weather]],
  [
    "Qwen3-Coder",
    "<tool_call><function=<parameter=",
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nBergen\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
    [weather],
  ],
  [
    "DeepSeek V3.1",
    "<｜tool▁call▁begin｜>",
    '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Bergen", "days": 2}<｜tool▁call▁end｜>',
    [weather],
  ],
  [
    "DeepSeek R1",
    "<｜tool▁call▁begin｜>",
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Bergen", "days": 2}\n```<｜tool▁call▁end｜>',
    [weather],
  ],
  [
    "FunctionGemma",
    "<start_function_call>",
    "<start_function_call>call:get_weather{city:<escape>Bergen<escape>,days:2}<end_function_call>",
    [weather],
  ],
  [
    "gpt-oss",
    "<|channel|><|message|>",
    '<|channel|>analysis<|message|>Where?<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Bergen", "days": 2}<|call|>',
    [{ reasoning: "Where?" }, weather],
  ],
  [
    "gpt-oss, an answer",
    "<|channel|><|message|>",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>In Bergen.<|return|>",
    [{ reasoning: "Hm." }, { content: "In Bergen." }],
  ],
];

for (const [name, template, answer, expected] of cases)
  test(`${name}: the same parts in pieces of any size`, () => {
    for (let size = 1; size <= answer.length; size++)
      assert.deepEqual(partsOf(template, answer, { size }), expected, `pieces of ${size}`);
  });

test("a call that can't be read stays text, and so do calls without tools", () => {
  const broken = '<tool_call>{"name": </tool_call>';
  assert.deepEqual(partsOf("<tool_call>", broken), [{ content: broken }]);
  const whole = `<tool_call>${json}</tool_call>`;
  assert.deepEqual(partsOf("<tool_call>", whole, { tools: [] }), [{ content: whole }]);
});

/** Name, template, what an answer has before and after `{"city": "Bergen"`. */
const streamed = [
  ["Hermes", "<tool_call>", '<tool_call>\n{"name": "get_weather", "arguments": ', ', "days": 2}}\n</tool_call>'],
  [
    "Llama 3",
    'tool_calls "parameters" <|start_header_id|>',
    '{"type": "function", "name": "get_weather", "parameters": ',
    ', "days": 2}}',
  ],
  ["Mistral", "[TOOL_CALLS]", '[TOOL_CALLS] [{"name": "get_weather", "arguments": ', ', "days": 2}}]'],
  ["Mistral, newer", "[TOOL_CALLS][ARGS]", "[TOOL_CALLS]get_weather[CALL_ID]a1[ARGS]", ', "days": 2}'],
  [
    "DeepSeek V3.1",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>",
    ', "days": 2}<｜tool▁call▁end｜>',
  ],
  [
    "DeepSeek R1",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n",
    ', "days": 2}\n```<｜tool▁call▁end｜>',
  ],
  [
    "gpt-oss",
    "<|channel|><|message|>",
    "<|channel|>commentary to=functions.get_weather<|message|>",
    ', "days": 2}<|call|>',
  ],
];

for (const [name, template, before, after] of streamed)
  test(`${name}: the name and the arguments come as they are written`, () => {
    const reader = answerReader(answerFormat(template), given, false);
    assert.deepEqual(reader.push(before), name === "gpt-oss" ? [{ call: "get_weather" }] : []);
    const begun = name === "gpt-oss" ? [] : [{ call: "get_weather" }];
    assert.deepEqual(reader.push('{"city": "Ber'), [...begun, { arguments: '{"city":"Ber' }]);
    assert.deepEqual(reader.push("gen"), [{ arguments: "gen" }]);
    assert.ok(reader.place === "call");
    const rest = [...reader.push(`"${after}`), ...reader.end(false)];
    assert.equal(rest.map((part) => part.arguments ?? "").join(""), '","days":2}');
    assert.deepEqual(rest.at(-1), { isCallEnd: true });
  });

test("several calls in one list, with other keys after the arguments", () => {
  const list = `[TOOL_CALLS][{"name": "now", "arguments": {"at": "a}]\\"b"}, "id": "x{"}, ${json}]`;
  for (let size = 1; size <= list.length; size++)
    assert.deepEqual(partsOf("[TOOL_CALLS]", list, { size }), [call("now", { at: 'a}]"b' }), weather]);
});

test("a call that is cut keeps what was written, and text after calls is content", () => {
  const cut = '<tool_call>{"name": "get_weather", "arguments": {"city": "Be';
  assert.deepEqual(partsOf("<tool_call>", cut), [call("get_weather", '{"city":"Be')]);
  assert.deepEqual(partsOf("<tool_call>", `<tool_call>${json}\nand more</tool_call>`), [
    weather,
    { content: "and more" },
  ]);
  assert.deepEqual(partsOf("<tool_call>", '<tool_call>{"name": "get'), [{ content: '<tool_call>{"name": "get' }]);
});

const uncalled = (name) => call(name, "");

/** Name, template, an answer that is cut, its parts. */
const cut = [
  ["Hermes, in the marker's line", "<tool_call>", "So.<tool_call>\n", [{ content: "So." }]],
  ["Hermes, in the name", "<tool_call>", '<tool_call>\n{\n\t"name": "get_wea', []],
  ["Hermes, after the name", "<tool_call>", '<tool_call>\n{"name": "now", "argume', [uncalled("now")]],
  ["Hermes, in the second call", "<tool_call>", `<tool_call>${json}</tool_call>\n<tool_call>{"name": "no`, [weather]],
  ["Hermes, before the closing marker", "<tool_call>", `<tool_call>{"name": "now"}`, [call("now", {})]],
  ["Hermes, a name in other arguments", "<tool_call>", '<tool_call>{"arguments": {"name": "Bob"', []],
  ["Hermes, no call", "<tool_call>", "a < b and <tool", [{ content: "a < b and <tool" }]],
  ["Llama 3", 'tool_calls "parameters" <|start_header_id|>', '{"name": "now", "param', [uncalled("now")]],
  ["Llama 3, text", 'tool_calls "parameters" <|start_header_id|>', '{"answer": 4', [{ content: '{"answer": 4' }]],
  ["Mistral, a list", "[TOOL_CALLS]", `[TOOL_CALLS] [${json}, {"name": "now",`, [weather, uncalled("now")]],
  ["Mistral, newer", "[TOOL_CALLS][ARGS]", "[TOOL_CALLS]now[ARGS]", [uncalled("now")]],
  ["Mistral, newer, in the name", "[TOOL_CALLS][ARGS]", "[TOOL_CALLS]get_wea", []],
  ["DeepSeek V3.1", "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>now<｜tool▁sep｜>", [uncalled("now")]],
  ["DeepSeek R1", "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```js", [uncalled("now")]],
  ["DeepSeek R1, in the name", "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>no", []],
  [
    "LFM2, in the second call",
    "<|tool_call_start|>",
    '<|tool_call_start|>[get_weather(city="Bergen", days=2), say(text="so)',
    [weather, uncalled("say")],
  ],
  [
    "Qwen3-Coder",
    "<tool_call><function=<parameter=",
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nBergen\n</parameter>\n<parameter=days>",
    [uncalled("get_weather")],
  ],
  [
    "FunctionGemma",
    "<start_function_call>",
    "<start_function_call>call:get_weather{city:<escape>Ber",
    [uncalled("get_weather")],
  ],
  ["gpt-oss", "<|channel|><|message|>", "<|channel|>commentary to=functions.now<|message|>", [uncalled("now")]],
];

for (const [name, template, answer, expected] of cut)
  test(`cut: ${name}`, () => {
    for (let size = 1; size <= answer.length; size++)
      assert.deepEqual(partsOf(template, answer, { size, isCut: true }), expected, `pieces of ${size}`);
  });

test("a prompt that opens the reasoning: the answer begins inside it", () => {
  assert.deepEqual(partsOf("<think>", "so\n</think>\n\nYes.", { isReasoning: true }), [
    { reasoning: "so" },
    { content: "Yes." },
  ]);
});

test("text that only looks like a marker is content", () => {
  const text = "if a <b and <tool_cal is no marker";
  for (let size = 1; size <= text.length; size++)
    assert.deepEqual(partsOf("<tool_call>", text, { size }), [{ content: text }]);
});
