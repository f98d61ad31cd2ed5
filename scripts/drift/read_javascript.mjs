// The names of templates in @huggingface/jinja, and those that the AI SDK passes to models.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const facts = (kind, where, names) => [...new Set(names)].map((name) => ({ kind, name, where }));
const matches = (text, pattern) => [...text.matchAll(pattern)].map(([, name]) => name);

/** Returns the facts of @huggingface/jinja: { kind, name, where }. */
export function readJinja(folder) {
  const where = "runtime.ts";
  const text = readFileSync(join(folder, "src", where), "utf8");
  const part = (from, to) => text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from)));
  const filters = part("applyFilter(operand", "evaluateFilterExpression(");
  return [
    ...facts(
      "template filter",
      where,
      matches(filters, /case "(\w+)"|\b(?:filter\.value|filterName) === "(\w+)"/g).filter(Boolean),
    ),
    ...facts("template test", where, matches(part("TESTS:", "]);"), /\[\s*"(\w+)",/g)),
    ...facts("template global", where, matches(text, /env\.set\("(\w+)"/g)),
  ];
}

/** The kinds of models of the AI SDK that this package provides. */
const KINDS = ["language-model", "embedding-model", "reranking-model", "decision-model"];

/** Returns the facts of @ai-sdk/provider: versions of its models, options of their calls, and types of parts. */
export function readAiSdk(folder) {
  return KINDS.flatMap((kind) => {
    const root = join(folder, "src", kind);
    if (!existsSync(root)) return [];
    const versions = readdirSync(root).filter((name) => /^v\d+$/.test(name));
    const newest = versions.sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))).at(-1);
    const where = `${kind}/${newest}`;
    const files = readdirSync(join(root, newest)).map((name) => readFileSync(join(root, newest, name), "utf8"));
    const texts = files.map((text) => text.replace(/\/\*[\s\S]*?\*\//g, ""));
    return [
      ...facts("AI SDK version", where, [where]),
      ...facts("AI SDK option", where, texts.flatMap(optionsIn)),
      ...facts(
        "AI SDK part",
        where,
        texts.flatMap((text) => matches(text, /\btype: '([\w-]+)'/g)),
      ),
    ];
  });
}

/** The members of the type of a call's options. */
function optionsIn(text) {
  const [, body = ""] = /(?:type|interface) \w*CallOptions\w* =? ?\{\n([\s\S]*?)\n\}/.exec(text) ?? [];
  return matches(body, /^ {2}(\w+)\??:/gm);
}
