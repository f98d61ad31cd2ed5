// The chat templates of a model, of which there may be several with names, and which one a chat uses.
import * as advise from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";

/** Jinja sources by name. The usual one is `default`. */
export type ChatTemplates = Readonly<Record<string, string>>;

/** Where the templates of a model are. */
export interface TemplateFiles {
  /** chat_template.jinja as `default`, and those of additional_chat_templates/ by the names of their files */
  readonly chatTemplates?: ChatTemplates;
  /** tokenizer_config.json */
  readonly tokenizerConfig?: Dict;
  /** Of GGUF */
  readonly metadata: Dict;
}

const GGUF_KEY = "tokenizer.chat_template";

/**
 * The templates of a model. As in transformers, files of templates count, and else tokenizer_config.json, which has one or a list.
 * @throws INVALID_FILE: neither
 */
export function templatesOf({ chatTemplates, tokenizerConfig, metadata }: TemplateFiles): ChatTemplates {
  if (chatTemplates !== undefined) return chatTemplates;
  const named = Object.keys(metadata).filter((key) => key.startsWith(`${GGUF_KEY}.`));
  const given: unknown = metadata[GGUF_KEY] ?? tokenizerConfig?.["chat_template"];
  checkTemplates(given, metadata[GGUF_KEY] === undefined ? "tokenizer_config.json chat_template" : GGUF_KEY);
  const entries: (readonly [unknown, unknown])[] = Array.isArray(given)
    ? given.filter(isDict).map(({ name, template }) => [name, template])
    : [["default", given], ...named.map((key) => [key.slice(GGUF_KEY.length + 1), metadata[key]] as const)];
  return byName(entries);
}

/** @throws INVALID_FILE: neither a template nor a list of them with names */
function checkTemplates(given: unknown, field: string): void {
  const isNamed = (entry: unknown): boolean =>
    isDict(entry) && typeof entry["name"] === "string" && typeof entry["template"] === "string";
  const isGood = given === undefined || given === null || typeof given === "string";
  if (!isGood && !(Array.isArray(given) && given.every(isNamed)))
    fail(
      "INVALID_FILE",
      field,
      `must be a template, or a list of templates with name and template (got ${show(given)})`,
    );
}

/** Templates by name; entries of other types are left out. @internal */
export function byName(entries: readonly (readonly [name: unknown, template: unknown])[]): ChatTemplates {
  const texts = entries.filter(([name, template]) => typeof name === "string" && typeof template === "string");
  return Object.assign(Object.create(null), Object.fromEntries(texts)) as ChatTemplates; // no inherited names
}

/**
 * The source of the template for a chat, chosen as transformers does.
 * @throws INVALID_ARGUMENT (templateName): there is none of that name. UNSUPPORTED_MODEL (chat_template): there is no default
 */
export function templateFor(templates: ChatTemplates, name: string | undefined, hasTools: boolean): string {
  const names = Object.keys(templates);
  if (name !== undefined) {
    if (typeof name !== "string" || !Object.hasOwn(templates, name))
      fail("INVALID_ARGUMENT", "templateName", `must be one of ${names.join(", ")} (got ${show(name)})`);
    return templates[name]!;
  }
  const chosen = hasTools && Object.hasOwn(templates, "tool_use") ? "tool_use" : "default";
  if (!Object.hasOwn(templates, chosen))
    fail("UNSUPPORTED_MODEL", "chat_template", "none is the default", advise.template({ names }));
  return templates[chosen]!;
}
