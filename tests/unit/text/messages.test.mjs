// Messages in the form that a template reads, and what a prompt lacks. The texts are what Jinja2 renders from that form.
import assert from "node:assert/strict";
import test from "node:test";
import { renderChat, renderPrompt } from "../../../build/package/runtime/text/chat_template.js";
import { encodeChat, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { templatesOf } from "../../../build/package/runtime/text/chat/named_templates.js";

const user = (content) => ({ role: "user", content });
const call = (args, more) => ({ type: "function", function: { name: "tie", arguments: args }, ...more });
const calls = (content, ...args) => ({ role: "assistant", content, tool_calls: args.map((given) => call(given)) });
const render = async (template, messages, options) => {
  const warnings = [];
  const onWarning = (message) => warnings.push(message);
  return [await renderChat(template, messages, { addGenerationPrompt: false, onWarning, ...options }), warnings];
};
const rendered = (template, messages, options = {}) => renderPrompt({ default: template }, messages, options);

const LOOP = `{% for m in messages %}{{ m['role'] | capitalize }}{% if m['content'][0]['type'] == 'image' %}:{% else %}: {% endif %}
{%- for line in m['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}{% endif %}{% endfor %};{% endfor %}`;
const FIRST = "{% for m in messages %}{{ m.content[0].text }};{% endfor %}";
const SELECTED =
  "{% for m in messages %}{% for p in m.content | selectattr('type', 'equalto', 'text') %}{{ p['text'] }},{% endfor %};{% endfor %}";
const TEXT = "{% for m in messages %}{{ m.role + '=' + m.content | trim }};{% endfor %}";
const BOTH =
  "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %};{% endfor %}";

test("contents: text where a template reads text, parts where it walks parts, and as given where it reads both", async () => {
  const chat = [user("a b"), { role: "assistant", content: "c" }];
  const parts = [user([{ type: "text", text: "a" }, { type: "text", text: "b" }])]; // prettier-ignore
  assert.deepEqual(await render(LOOP, chat), ["User: a b;Assistant: c;", []]);
  assert.deepEqual(await render(FIRST, chat), ["a b;c;", []]);
  assert.deepEqual(await render(SELECTED, chat), ["a b,;c,;", []]);
  assert.deepEqual(await render(SELECTED, parts), ["a,b,;", []]);
  assert.deepEqual(await render(TEXT, parts), ["user=a\nb;", []]);
  assert.deepEqual(await render(BOTH, chat), ["a b;c;", []]);
  assert.deepEqual(await render(BOTH, parts), ["<a><b>;", []]);
  const image = [user([{ type: "image" }, { type: "text", text: "b" }])];
  assert.deepEqual(await render(LOOP, image), ["User:b;", []]);
  await assert.rejects(render(TEXT, image), { code: "INVALID_ARGUMENT", field: "messages[0].content[0]" });
});

test("arguments and parts that a template leaves out are named", async () => {
  const chat = (given) => [user("hello"), { role: "assistant", content: null, tool_calls: [{ type: "function", function: { name: "delete", arguments: given } }] }]; // prettier-ignore
  const calls = (written) =>
    `{% for m in messages %}{{ m.content or '' }}{% for t in m.tool_calls or [] %}<${written}>{% endfor %}{% endfor %}`;
  for (const given of [{ file: "important.txt" }, '{"file": "important.txt"}']) {
    const [text, [warning, ...others]] = await render(calls("{{ t.function.name }}"), chat(given));
    assert.deepEqual([text, others], ["hello<delete>", []]);
    assert.match(
      warning,
      /^messages\[1\]\.tool_calls\[0\]\.function\.arguments: .* doesn't write the arguments of this call/,
    );
    const written = '{"file": "important.txt"}';
    assert.deepEqual(await render(calls("{{ t.function.arguments | tojson }}"), chat(given)), [
      `hello<${written}>`,
      [],
    ]);
    assert.deepEqual(await render(calls("{{ t.function.name }}{{ t.function.arguments.items() | list | length }}"), chat(given)), ["hello<delete1>", [warning]]); // prettier-ignore
  }
  const texts = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}";
  const image = [
    user([
      { type: "image_url", image_url: { url: "x" } },
      { type: "text", text: "b" },
    ]),
  ];
  const [text, [warning]] = await render(texts, image);
  assert.equal(text, "b");
  assert.match(warning, /^messages\[0\]\.content\[0\]: the model's chat template knows no parts of type image_url/);
});

test("arguments: JSON text where a template joins them to text, and else an object with all digits and keys as they were", async () => {
  const joins =
    "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}({{ c.function.name + ' ' + c.function.arguments }}){% endfor %}{% endfor %}";
  const writes = joins.replace("c.function.arguments", "c.function.arguments | tojson");
  const prints = joins.replace("c.function.name + ' ' + c.function.arguments", "c.function.arguments");
  const object = { city: "Paris", n: [1, null] };
  const text = '{"10": 1.0, "2": "Paris", "big": {"a": 12345678901234567890}}';
  for (const template of [joins, prints]) {
    const name = template === joins ? "tie " : "";
    assert.deepEqual(
      (await render(template, [user("a"), calls("", object)]))[0],
      `a(${name}${JSON.stringify(object)})`,
    );
    assert.deepEqual((await render(template, [user("a"), calls(null, text)]))[0], `a(${name}${text})`);
  }
  assert.deepEqual(await render(writes, [user("a"), calls(null, text)]), [`a(tie ${text})`, []]);
  assert.deepEqual(await render(writes, [user("a"), calls("b", object)]), [
    'ab(tie {"city": "Paris", "n": [1, null]})',
    [],
  ]);
  assert.deepEqual(await render(writes, [user("a"), calls("", "no JSON")]), ['a(tie "no JSON")', []]);
});

test("no content is None for a template that asks for it, and never the word None", async () => {
  const asks =
    "{% for m in messages %}{% if m['content'] is none %}{% for c in m.tool_calls %}({{ c.function.name + c.function.arguments }}){% endfor %}{% else %}{{ m.content }};{% endif %}{% endfor %}";
  const joins =
    "{% for m in messages %}{{ m['content'] + ';' }}{% for c in m.tool_calls or [] %}({{ c.function.arguments.city }}){% endfor %}{% endfor %}";
  const prints = joins.replace("m['content'] + ';'", "m['content'] ~ ';'");
  const args = '{"city":"Paris"}';
  for (const content of [null, "", undefined]) {
    assert.deepEqual(await render(asks, [user("a"), calls(content, args)]), [`a;(tie${args})`, []]);
    for (const template of [joins, prints])
      assert.deepEqual(await render(template, [user("a"), calls(content, args)]), ["a;;(Paris)", []]);
  }
  const [text, warnings] = await render(asks, [user("a"), calls("b", args)]);
  assert.equal(text, "a;b;");
  assert.match(warnings.join(), /^messages\[1\]\.tool_calls\[0\]\.function\.name: .*doesn't write this call/);
});

test("tools: functions for a template that reads functions", async () => {
  const flat = "{% for t in tools or [] %}{{ t.name }};{% endfor %}{{ messages[0].content }}";
  const nested = flat.replace("t.name", "t.function.name");
  const tool = { name: "tie", description: "Ties.", parameters: { type: "object" } };
  for (const template of [flat, nested])
    for (const given of [tool, { type: "function", ...tool }, { type: "function", function: tool }])
      assert.deepEqual(await render(template, [user("a")], { tools: [given] }), ["tie;a", []]);
  const [, warnings] = await render("{{ messages[0].content }}", [user("a")], { tools: [tool] });
  assert.deepEqual(warnings, ["tools: the model's chat template doesn't write them, so the model can't see them"]);
});

test("reasoning has the name that a template reads, once", async () => {
  for (const read of ["reasoning", "reasoning_content", "thinking"])
    for (const given of ["reasoning", "reasoning_content", "thinking"]) {
      const template = `{% for m in messages %}{{ m.${read} | default('') }}|{{ m.content }};{% endfor %}`;
      const messages = [user("a"), { role: "assistant", content: "b", [given]: "why" }];
      assert.deepEqual(await render(template, messages), ["|a;why|b;", []], `${read} ${given}`);
    }
  const all =
    "{% for m in messages %}{{ m.reasoning }}{{ m.thinking }}{{ m.get('reasoning_content', '') }}|{{ m.content }};{% endfor %}";
  const dumps = "{% for m in messages %}{{ m | tojson }};{% endfor %}";
  const same = { reasoning: "why", reasoning_content: "why", thinking: "why" };
  for (const given of [{ thinking: "why" }, { reasoning_content: "why" }, same]) {
    const messages = [user("a"), { role: "assistant", content: "b", ...given }];
    assert.deepEqual(await render(all, messages), ["|a;why|b;", []]);
    assert.equal((await render(dumps, messages))[0].split("why").length, 2);
  }
});

test("a text that a template leaves out is a warning, and for whom the model answers a problem of another kind", async () => {
  const users = "{% for m in messages if m.role == 'user' %}{{ m.content | upper }};{% endfor %}";
  const chat = [user("hello there"), { role: "system", content: "be brief" }, { role: "assistant", content: "b" }];
  const [text, warnings] = await render(users, chat);
  assert.equal(text, "HELLO THERE;");
  assert.equal(warnings.length, 2);
  assert.match(warnings[0], /^messages\[1\]\.content: .*of the role system/);
  assert.match(warnings[1], /^messages\[2\]\.content: .*of the role assistant/);
  const { problems } = await rendered(users, [user("a"), { role: "tool", content: "12 knots" }]);
  assert.deepEqual(
    problems.map(({ field, isAsked }) => [field, isAsked]),
    [["messages[1].content", true]],
  );
  // none of these loses a text
  const kept = [
    "{% for m in messages %}{{ m.content.split('</think>')[-1] | trim }};{% endfor %}",
    "{% for m in messages %}{{ m.content | tojson }}{% endfor %}",
    "{% for m in messages | reverse %}{{ m.content | title }}{% endfor %}",
  ];
  const said = [user('say "x"\nnow '), { role: "assistant", content: "<think>hm</think>\n\nx" }, user("a")];
  for (const template of kept) assert.deepEqual((await render(template, said))[1], [], template);
});

test("a system message that a template doesn't read goes before the next message, as in llama.cpp's server", async () => {
  const refuses = `{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}${TEXT}`;
  const ignores = TEXT.replace("in messages", "in messages if m.role != 'system'");
  const chat = [{ role: "system", content: "be brief" }, user("a")];
  for (const template of [refuses, ignores]) assert.deepEqual(await render(template, chat), ["user=be brief\na;", []]);
  await assert.rejects(render(refuses, chat.slice(0, 1)), { code: "INVALID_ARGUMENT", field: "messages[0]" });
  assert.equal((await render(TEXT, [{ role: "developer", content: "b" }, user("a")]))[0], "system=b;user=a;");
  const knows = `{% if messages[0].role == 'developer' %}!{% endif %}${TEXT}`;
  assert.equal((await render(knows, [{ role: "developer", content: "b" }, user("a")]))[0], "!developer=b;user=a;");
  const onlyUsers = TEXT.replace("in messages", "in messages if m.role == 'user'");
  const { text, problems } = await rendered(onlyUsers, [...chat, { role: "tool", content: "it rains" }]);
  assert.equal(text, "user=be brief\na;");
  assert.deepEqual(
    problems.map(({ field }) => field),
    ["messages[2].content"],
  );
});

test("a system message joins texts and parts, and fields keep the indices of the messages that were given", async () => {
  const noSystem = (written) => `{% for m in messages if m.role != 'system' %}{{ m.role }}=${written};{% endfor %}`;
  const parts = (...texts) => texts.map((text) => ({ type: "text", text }));
  const [system, twoSystem] = ["be brief", parts("be", "brief")];
  const texts = noSystem("{{ m.content | trim }}");
  const walks = noSystem("{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}|{% endif %}{% endfor %}");
  const firsts = noSystem("{{ m.content[0].text }}");
  const first = (content) => ({ role: "system", content });
  assert.deepEqual(await render(texts, [first(twoSystem), user(parts("a", "b"))]), ["user=be\nbrief\na\nb;", []]);
  assert.deepEqual(await render(walks, [first(twoSystem), user("a")]), ["user=be|brief|a|;", []]);
  assert.deepEqual(await render(walks, [first(system), user(parts("a", "b"))]), ["user=be brief|a|b|;", []]);
  assert.deepEqual(await render(firsts, [first(system), user(parts("a"))]), ["user=be brief\na;", []]);
  const image = { type: "image", url: "x" };
  const fieldOf = async (template, chat) => render(template, chat).then(([, [warning = ""]]) => warning.split(": ")[0], ({ field }) => field); // prettier-ignore
  assert.equal(await fieldOf(texts, [first(system), user([...parts("a"), image])]), "messages[1].content[1]");
  assert.equal(await fieldOf(texts, [first([image]), user("a")]), "messages[0].content[0]");
  assert.equal(await fieldOf(texts, [first(twoSystem), user("a"), user([image])]), "messages[2].content[0]");
  assert.equal(
    await fieldOf(walks, [first(system), user([...parts("a"), { type: "audio" }])]),
    "messages[1].content[1]",
  );
  const answer = { role: "assistant", content: "c", tool_calls: [call({ x: "y" })] };
  assert.equal(await fieldOf(walks, [first(system), user("a"), answer]), "messages[2].tool_calls[0].function.name");
});

test("a name and other fields that a template doesn't read are named, but not those that say nothing", async () => {
  const chat = [{ ...user("a"), name: "Anna" }, { role: "assistant", content: "b", tool_calls: undefined, refusal: null, flag: false }]; // prettier-ignore
  const [text, warnings] = await render(TEXT, chat);
  assert.equal(text, "user=a;assistant=b;");
  assert.match(warnings.join(), /^messages\[0\]\.name: .*doesn't read the field name of the role user[^,]*, so[^,]*$/);
  const names = "{% for m in messages %}{{ m.name | default('-') | upper }}: {{ m.content }};{% endfor %}";
  assert.deepEqual(await render(names, chat), ["ANNA: a;-: b;", []]);
  const tools = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %};{% endfor %}"; // prettier-ignore
  const results = [user("a"), calls("", { x: "y" }), { role: "tool", name: "tie", tool_call_id: "c1", content: "ok" }];
  assert.deepEqual(await render(tools, results), ['a;tie{"x": "y"};ok;', []]);
  assert.equal((await rendered(TEXT, chat)).problems[0].isAsked, false);
});

test("templates with names: tool_use with tools, default without, and the one that is chosen", async () => {
  const named = [
    { name: "default", template: "D{{ messages[0].content }}" },
    { name: "tool_use", template: "T{{ tools | tojson }}{{ messages[0].content }}" },
    { name: "rag", template: "R{{ messages[0].content }}" },
  ];
  const lists = templatesOf({ metadata: {}, tokenizerConfig: { chat_template: named } });
  const keys = named.map(({ name, template }) => [
    `tokenizer.chat_template${name === "default" ? "" : `.${name}`}`,
    template,
  ]);
  for (const broken of [5, [{ nam: "a" }], { default: "a" }, [{ name: "a", template: 1 }]])
    assert.throws(() => templatesOf({ metadata: {}, tokenizerConfig: { chat_template: broken } }), {
      code: "INVALID_FILE",
      field: "tokenizer_config.json chat_template",
    });
  assert.deepEqual({ ...templatesOf({ metadata: {}, tokenizerConfig: { chat_template: null } }) }, {});
  const gguf = templatesOf({ metadata: Object.fromEntries(keys) });
  for (const templates of [lists, gguf]) {
    assert.deepEqual(Object.keys(templates).sort(), ["default", "rag", "tool_use"]);
    const tools = [{ name: "tie" }];
    assert.equal((await render(templates, [user("a")]))[0], "Da");
    assert.equal((await render(templates, [user("a")], { tools: [] }))[0], "Da");
    assert.equal((await render(templates, [user("a")], { tools }))[0], 'T[{"name": "tie"}]a');
    assert.equal((await render(templates, [user("a")], { templateName: "rag" }))[0], "Ra");
    const unknown = render(templates, [user("a")], { templateName: "toString" });
    await assert.rejects(unknown, { code: "INVALID_ARGUMENT", field: "templateName" });
  }
  const files = { default: "F{{ messages[0].content }}" };
  assert.deepEqual(
    templatesOf({ chatTemplates: files, metadata: {}, tokenizerConfig: { chat_template: named } }),
    files,
  );
  await assert.rejects(render({ rag: "R" }, [user("a")]), { code: "UNSUPPORTED_MODEL", field: "chat_template" });
});

test("control tokens in messages are text if they aren't parsed", async () => {
  await assert.rejects(render(TEXT, [user("a")], { parseSpecial: false }), { field: "parseSpecial" });
  const letters = ["<", "|", "e", "n", "d", ">", "a", "b", "Ċ"];
  const tokenizer = await tokenizerFromJson({
    model: { type: "BPE", vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])), merges: [] },
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    added_tokens: [{ id: 9, content: "<|end|>", special: true, normalized: false }],
  });
  const template = "{% for m in messages %}{{ m.content | trim }}<|end|>{% endfor %}";
  const prompt = (content, parseSpecial) =>
    renderPrompt({ default: template }, [user(content)], { parseSpecial }, () => tokenizer.controlTokens());
  const ids = async (content, parseSpecial) => {
    const { text, pieces } = await prompt(content, parseSpecial);
    return Array.from(encodeChat(tokenizer, pieces ?? text));
  };
  assert.deepEqual(await ids("a<|end|> b<|end|>".replace(" ", ""), true), [6, 9, 7, 9, 9]);
  assert.deepEqual(await ids("a<|end|>b<|end|>", false), [6, 0, 1, 2, 3, 4, 1, 5, 7, 0, 1, 2, 3, 4, 1, 5, 9]);
  assert.equal((await prompt("a", false)).pieces, undefined);
  const cuts = "{{ messages[0].content[:4] }}";
  const cut = renderPrompt({ default: cuts }, [user("a<|end|>b")], { parseSpecial: false }, () => ["<|end|>"]);
  await assert.rejects(cut, { code: "INVALID_ARGUMENT", field: "messages" });
});

test("reasoning that differs under two names is refused", async () => {
  const chat = (more) => [user("a"), { role: "assistant", content: "b", reasoning_content: "c", ...more }];
  assert.equal((await render(TEXT, chat({ thinking: "c" })))[0], "user=a;assistant=b;");
  await assert.rejects(render(TEXT, chat({ reasoning: "d" })), {
    code: "INVALID_ARGUMENT",
    field: "messages[1].reasoning",
  });
});

test("in a long chat too, exactly the text, name or arguments that a template leaves out are named", async () => {
  const length = 48; // a text needs another word of its own than one 10, 16 or 36 later
  const chat = Array.from({ length }, (_, i) => ({ ...user(`t${i % 7}`), name: `n${i % 5}` }));
  const called = chat.map((_, i) => calls("a text that is always there", { rope: `r${i % 7}` }));
  for (let lost = 0; lost < length; lost++) {
    const texts = `{% for m in messages %}{{ m.name }}{% if loop.index0 != ${lost} %}{{ m.content }}{% endif %}{% endfor %}`;
    const names = `{% for m in messages %}{{ m.content }}{% if loop.index0 != ${lost} %}{{ m.name | upper }}{% endif %}{% endfor %}`;
    const args = `{% for m in messages %}{{ m.content }}{{ m.tool_calls[0].function.name }}{% if loop.index0 != ${lost} %}{{ m.tool_calls[0].function.arguments | string | upper }}{% endif %}{% endfor %}`;
    for (const [template, messages, field] of [
      [texts, chat, "content"],
      [names, chat, "name"],
      [args, called, "tool_calls[0].function.arguments"],
    ]) {
      const [, warnings] = await render(template, messages);
      assert.deepEqual(
        warnings.map((warning) => warning.slice(0, warning.indexOf(":"))),
        [`messages[${lost}].${field}`],
      );
      assert.doesNotMatch(warnings[0], /more/);
    }
  }
});
