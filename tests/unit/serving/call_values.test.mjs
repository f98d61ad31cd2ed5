// What of an answer is a call, what is content, and what the values of arguments are.
import assert from "node:assert/strict";
import test from "node:test";
import { answerReader } from "../../../build/package/apps/serving/calls/answer_reader.js";
import { answerFormat } from "../../../build/package/apps/serving/calls/call_formats.js";
import { markControl } from "../../../build/package/runtime/text/control_text.js";

const tools = [
  {
    type: "function",
    function: {
      name: "book",
      parameters: {
        type: "object",
        properties: {
          city: { type: "string" },
          days: { type: "integer" },
          price: { type: "number" },
          sure: { type: "boolean" },
          note: { type: ["string", "null"] },
          either: { anyOf: [{ type: "string" }, { type: "number" }] },
          tags: { $ref: "#/$defs/tags" },
          any: {},
        },
        $defs: { tags: { type: "array", items: { type: "string" } } },
      },
    },
  },
];

/** Content, reasoning and calls of an answer, which are the same in pieces of any size. */
function read(template, answer, { isCut = false, isReasoning = false } = {}) {
  const results = [1, 2, 7, answer.length || 1].map((size) => {
    const reader = answerReader(answerFormat(template), tools, isReasoning);
    const parts = [];
    for (let at = 0; at < answer.length; at += size) parts.push(...reader.push(answer.slice(at, at + size)));
    parts.push(...reader.end(isCut));
    const all = { content: "", reasoning: "", calls: [] };
    for (const part of parts) {
      if ("call" in part) all.calls.push("");
      else if ("arguments" in part) all.calls[all.calls.length - 1] += part.arguments;
      else if ("content" in part) all.content += part.content;
      else if ("reasoning" in part) all.reasoning += part.reasoning;
    }
    return all;
  });
  for (const result of results) assert.deepEqual(result, results[0]);
  return results[0];
}

const QWEN = "<tool_call><function=<parameter=";
const qwen = (values) =>
  `<tool_call>\n<function=book>\n${values.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join("")}</function>\n</tool_call>`;

/** Parameter, text of the value, JSON of the argument. */
const values = [
  ["city", "12345678901234567890", '"12345678901234567890"'],
  ["city", '"Paris"', '"\\"Paris\\""'],
  ["city", "1.50", '"1.50"'],
  ["city", "true", '"true"'],
  ["city", "", '""'],
  ["city", '{"a": 1}', '"{\\"a\\": 1}"'],
  ["city", "see </function> and </parameter> in <tool_call>", '"see </function> and </parameter> in <tool_call>"'],
  ["days", "12345678901234567890", "12345678901234567890"],
  ["price", "1.50", "1.50"],
  ["price", "about 3", '"about 3"'],
  ["sure", "True", "true"],
  ["sure", "false", "false"],
  ["note", "null", "null"],
  ["note", "12", '"12"'],
  ["either", "1.50", "1.50"],
  ["either", "1.50 or so", '"1.50 or so"'],
  ["tags", '["a", "b"]', '["a", "b"]'],
  ["tags", "['a', \"it's\", None]", '["a","it\'s",null]'],
  ["any", "12345678901234567890", "12345678901234567890"],
  ["any", "Bergen", '"Bergen"'],
  ["any", '"Bergen"', '"\\"Bergen\\""'],
  ["undeclared", "5", "5"],
];
for (const [key, written, json] of values)
  test(`between tags, ${key} ${JSON.stringify(written)} is ${json}`, () => {
    assert.deepEqual(read(QWEN, qwen([[key, written]])), { content: "", reasoning: "", calls: [`{"${key}":${json}}`] });
  });

test("a missing end tag doesn't swallow the next parameter, nor the next call", () => {
  const missing =
    "<tool_call>\n<function=book>\n<parameter=city>\nBergen\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>";
  assert.deepEqual(read(QWEN, missing).calls, ['{"city":"Bergen","days":2}']);
  const last = "<tool_call>\n<function=book>\n<parameter=city>\nBergen\n</function>\n</tool_call>";
  assert.deepEqual(read(QWEN, last).calls, ['{"city":"Bergen"}']);
  assert.deepEqual(read(QWEN, `${last}\n${qwen([["days", "3"]])}`).calls, ['{"city":"Bergen"}', '{"days":3}']);
  assert.deepEqual(read(QWEN, qwen([["city", "Bergen"]]).replace("</function>\n", "")).calls, ['{"city":"Bergen"}']);
  assert.deepEqual(read(QWEN, qwen([["city", "Bergen"]]).replace("<tool_call>\n", "")).calls, ['{"city":"Bergen"}']);
  const minicpm = '<function name="book"><param name="city">Bergen<param name="days">2</param></function>';
  assert.deepEqual(read('<function name="<param name="', minicpm).calls, ['{"city":"Bergen","days":2}']);
  const inLine =
    "<tool_call>\n<function=book>\n<parameter=city>Bergen</parameter><parameter=days>2</parameter></function></tool_call>";
  assert.deepEqual(read(QWEN, inLine).calls, ['{"city":"Bergen","days":2}']);
});

test("MiniCPM5's CDATA is text, whatever it contains", () => {
  const call =
    '<function name="book"><param name="city"><![CDATA[a </param> & ]] b\n]]></param><param name="days">2</param></function>';
  assert.deepEqual(read('<function name="<param name="', call).calls, ['{"city":"a </param> & ]] b\\n","days":2}']);
});

test("JSON keeps its text: numbers, strings that contain markers, and words that are no JSON", () => {
  const json = '{"city": "a </tool_call> [TOOL_CALLS] <think> b", "price": 1.50, "days": 12345678901234567890}';
  const expected = '{"city":"a </tool_call> [TOOL_CALLS] <think> b","price":1.50,"days":12345678901234567890}';
  assert.deepEqual(read("<tool_call>", `<tool_call>{"name": "book", "arguments": ${json}}</tool_call>`).calls, [
    expected,
  ]);
  assert.deepEqual(read("[TOOL_CALLS][ARGS]", `[TOOL_CALLS]book[ARGS]${json}`).calls, [expected]);
  const order = `<tool_call>{"arguments": ${json}, "name": "book"}</tool_call>`;
  assert.deepEqual(read("<tool_call>", order).calls, [expected]);
  const broken = '<tool_call>{"name": "book", "arguments": {"days": 1 2, "city": "a\nb"}}</tool_call>';
  assert.deepEqual(read("<tool_call>", broken).calls, ['{"days":1 2,"city":"a\\nb"}']);
  const wrapped =
    '<tool_call>{"type": "function", "function": {"name": "book", "arguments": "{\\"days\\": 1.0}"}}</tool_call>Yes.';
  assert.deepEqual(read("<tool_call>", wrapped), { content: "Yes.", reasoning: "", calls: ['{"days": 1.0}'] });
});

/** Template, and answers that are no calls: no tool has the name, or the form is another. */
const contents = [
  [
    'tool_calls "parameters" <|start_header_id|>',
    '{"name": "Bob", "age": 3}',
    '{"name": "book", "age": 3}',
    '  {"a": 1}\n',
    "{",
    '[{"x": 1}]',
  ],
  [
    "<tool_call>",
    '<tool_call>\n{"name": "Bob", "age": 3}\n</tool_call>',
    "Write <tool_call> to call.",
    "<tool_call>",
    "<tool_call>{'name'",
  ],
  [
    QWEN,
    "<tool_call>\n<function=nope>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    "Use <function=book> so.",
  ],
  ["[TOOL_CALLS]", '[TOOL_CALLS] [{"name": "Bob", "arguments": {}}]'],
  [
    "<|tool_call_start|>",
    "<|tool_call_start|>[nope(a=1)]<|tool_call_end|>",
    "<|tool_call_start|>[book(1)]<|tool_call_end|>",
  ],
  ["<|tool_call>call:", "<|tool_call>call:nope{a:1}<tool_call|>"],
  ["<think></think>", "    indented\n  code\n", "\n\nlater", "Say <think> here.</think>", "  "],
];
for (const [template, ...answers] of contents)
  for (const answer of answers)
    test(`content, whole: ${JSON.stringify(answer)}`, () => {
      assert.deepEqual(read(template, answer), { content: answer, reasoning: "", calls: [] });
    });

test("a list with a call that no tool has: the others are calls, and it is content", () => {
  const list = '[TOOL_CALLS][{"name": "book", "arguments": {"days": 1}}, {"name": "nope", "arguments": {"a": 1}}]';
  const { content, calls } = read("[TOOL_CALLS]", list);
  assert.deepEqual(calls, ['{"days":1}']);
  assert.equal(content, '{"name": "nope", "arguments": {"a": 1}}]');
});

test("indentation after reasoning and calls stays, and the format's line breaks go", () => {
  assert.deepEqual(read("<think></think>", "<think>\n  a\n b\n</think>\n\n    code\n"), {
    content: "    code\n",
    reasoning: "  a\n b",
    calls: [],
  });
  const { content } = read(
    "<tool_call>",
    '<tool_call>{"name": "book", "arguments": {}}</tool_call>\n\n  - one\n  - two',
  );
  assert.equal(content, "  - one\n  - two");
});

const LFM = "<|tool_call_start|>";
/** Arguments as a model writes them, and their JSON. */
const literals = [
  ["city='it\\'s', sure=True", '{"city":"it\'s","sure":true}'],
  [`city='it's here', days=2`, '{"city":"it\'s here","days":2}'],
  [`city='say "it's" (now)'`, '{"city":"say \\"it\'s\\" (now)"}'],
  ["city='''a\n\"b\"''' 'c', days=1_000", '{"city":"a\\n\\"b\\"c","days":1000}'],
  ["city=r'C:\\new', price=-.5", '{"city":"C:\\\\new","price":-0.5}'],
  ["any={'a': (1, 2.50), 1: None, 'x': {'y': []}}", '{"any":{"a":[1,2.50],"1":null,"x":{"y":[]}}}'],
  ["any={1, 2}, note=null, days=0x1F", '{"any":[1,2],"note":null,"days":31}'],
  ["days=12345678901234567890", '{"days":12345678901234567890}'],
];
for (const [written, json] of literals)
  test(`Python: ${written}`, () => {
    assert.deepEqual(read(LFM, `${LFM}[book(${written})]<|tool_call_end|>`).calls, [json]);
  });

test("LFM2 may also write JSON between its markers", () => {
  const answer = `${LFM}[{"name": "book", "arguments": {"days": 2}}]<|tool_call_end|>`;
  assert.deepEqual(read(LFM, answer), { content: "", reasoning: "", calls: ['{"days":2}'] });
});

test("Gemma 4: texts between its quotes, keys without, and reasoning in a channel", () => {
  const answer =
    '<|channel>thought\nWhere?\n<channel|>Let me look.<|tool_call>call:book{any:{<|"|>k<|"|>:[1.50,true,None]},city:<|"|>a "b", {c}<|"|>,days:2}<tool_call|>';
  assert.deepEqual(read("<|tool_call>call:<|channel>thought", answer), {
    content: "Let me look.",
    reasoning: "Where?",
    calls: ['{"any":{"k":[1.50,true,null]},"city":"a \\"b\\", {c}","days":2}'],
  });
});

test("control tokens are never content: neither those of the format, nor others", () => {
  const control = markControl;
  const reader = (template, given = tools) => answerReader(answerFormat(template), given, false);
  const all = (one, ...texts) => {
    const parts = [...texts.flatMap((text) => one.push(text)), ...one.end(false)];
    return parts.map((part) => part.content ?? (part.call && `[${part.call}]`) ?? "").join("");
  };
  const deepseek = [
    "So.",
    control("<｜tool▁calls▁begin｜>"),
    control("<｜tool▁call▁begin｜>"),
    "book",
    control("<｜tool▁sep｜>"),
    '{"days": 1}',
  ];
  const ends = [control("<｜tool▁call▁end｜>"), control("<｜tool▁calls▁end｜>")];
  assert.equal(all(reader("<｜tool▁call▁begin｜>"), ...deepseek, ...ends), "So.[book]");
  assert.equal(all(reader("<｜tool▁call▁begin｜>", []), ...deepseek, ...ends), 'So.book{"days": 1}');
  assert.equal(
    all(reader("[TOOL_CALLS]"), "a ", control("[TOOL_CALLS]"), "b", control("</s>"), " [TOOL_CALLS] c"),
    "a b [TOOL_CALLS] c",
  );
  assert.equal(all(reader(undefined), "a", control("<unk>"), "🐀", control("<|im_end|>"), "b"), "a🐀b");
});

test("a call that is cut is none, or has no arguments; what isn't cut is content", () => {
  const begun = '<tool_call>\n{"name": "bo';
  assert.deepEqual(read("<tool_call>", begun, { isCut: true }), { content: "", reasoning: "", calls: [] });
  assert.equal(read("<tool_call>", begun).content, begun);
  assert.equal(read("<tool_call>", '<tool_call>\n{"name": "Bo', { isCut: true }).content, '<tool_call>\n{"name": "Bo');
  assert.deepEqual(read(QWEN, qwen([["city", "Bergen"]]).slice(0, -40), { isCut: true }).calls, [""]);
});
