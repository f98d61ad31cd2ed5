// Fuzzes chat templates: a mutated template renders, or is refused with a RopewalkError, in a second.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { renderChat } from "../../../build/package/runtime/text/chat_template.js";
import { endsWell, mutateJson, mutateText } from "../mutate_json.mjs";

export const name = "chat_template";

/** Templates of this project, and those in the folder that ROPEWALK_TEMPLATES names. */
const FOLDERS = [fileURLToPath(new URL("../../text", import.meta.url)), process.env.ROPEWALK_TEMPLATES];
const TEMPLATES = [];

/** Pieces that have made interpreters hang, and the syntax that templates use. */
const PIECES = [
  "{% for i in range(100000) %}",
  "{% endfor %}",
  "{{ 'a' * 3 }}",
  "{% set ns = namespace(x='ab') %}",
  "{% set ns.x = ns.x ~ ns.x %}",
  "{% set ns.x = [ns.x, ns.x] %}",
  "{{ ns.x }}",
  "{% macro f(a, b=1) %}",
  "{% endmacro %}",
  "{{ f(f(1)) }}",
  "{{ f(1) }}{{ f(1) }}",
  ".replace('a', ns.x)",
  "| replace('', 'bb')",
  "| tojson(indent=4)",
  "| indent(9)",
  "| join(ns.x)",
  ".split('')",
  ".split(' ')[-1]",
  "[::-1]",
  "[1:]",
  "| sort",
  "| list",
  "is defined",
  "is string",
  "in messages",
  "not ",
  " if true else ",
  "{% if ",
  "{%- else -%}",
  "{% endif %}",
  "{% break %}",
  "{% continue %}",
  "{# ",
  " #}",
  "{% generation %}",
  "{% call f() %}",
  "{% endcall %}",
  "{{-",
  "-}}",
  "{{",
  "}}",
  "%}",
  "(",
  ")",
  "[",
  "]",
  "'",
  '"',
  "\\",
  "{'a': 1}",
  " ".repeat(3000),
  "\n".repeat(300),
  "loop.index0",
  "messages",
  "raise_exception('x')",
  "strftime_now('%Y')",
  "*messages",
  "**tools",
  "true",
  "none",
  "1e9",
  "99999999999",
  "| selectattr('role')",
];
const MESSAGES = [
  { role: "system", content: "Be short." },
  { role: "user", content: "What is hemp?" },
  {
    role: "assistant",
    content: "<think>x</think>A fibre.",
    tool_calls: [{ function: { name: "f", arguments: { a: [1, 2.5, null] } } }],
  },
  { role: "tool", content: "{}" },
];
const TOOLS = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];

export function setUp() {
  if (TEMPLATES.length > 0) return;
  for (const folder of FOLDERS.filter(Boolean))
    for (const file of readdirSync(folder).filter((path) => path.endsWith(".jinja")))
      TEMPLATES.push(readFileSync(join(folder, file), "utf8"));
  for (let i = 0; i < 4; i++) TEMPLATES.push(PIECES.slice(0, 12).join(""));
}

export async function run(random) {
  let template = random.pick(TEMPLATES);
  for (let rounds = random.int(4); rounds >= 0; rounds--) template = mutateText(random, template, PIECES);
  const messages = random.chance(0.5) ? MESSAGES.slice(0, random.between(1, 4)) : mutateJson(random, MESSAGES, PIECES);
  const options = {
    addGenerationPrompt: random.chance(0.5),
    beginToken: "<s>",
    ...(random.chance(0.3) && { tools: TOOLS }),
  };
  await endsWell(async () => {
    const text = await renderChat(template, messages, { ...options, onWarning: () => {} });
    if (typeof text !== "string") throw new Error("renderChat() returned no text");
  }, JSON.stringify({ template, messages }));
}
