// What a request in OpenAI's shape asks about: text, or messages and calls, as the state of decide().
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import { type DecisionText, linesOf, textOf } from "../../runtime/model/decide/decision_text.js";

/** A part of a content or of instructions. Images are refused. */
export type DecisionPart =
  | { type: "input_text" | "output_text"; text: string }
  | { type: "input_json"; data: object }
  | { type: "input_image"; image_url: string; detail?: string | null }
  | { type: "refusal"; refusal: string };

/** Text, or parts of it. */
export type DecisionContent = string | readonly DecisionPart[];

/** A message, or a call of a tool and its output. */
export type DecisionInputItem =
  | {
      type?: "message";
      role: "user" | "developer" | "system" | "assistant";
      content: DecisionContent;
      phase?: string | null;
    }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "custom_tool_call"; call_id: string; name: string; input: string }
  | { type: "function_call_output" | "custom_tool_call_output"; call_id: string; output: DecisionContent };

const INPUT_ROLES = ["user", "developer", "system", "assistant"];
/** Fields of calls that are written. The others name a call or its state. */
const OF_CALL = {
  function_call: ["name", "arguments"],
  custom_tool_call: ["name", "input"],
  function_call_output: ["output"],
  custom_tool_call_output: ["output"],
} as const;
/** Fields that change nothing here: nothing is cached, and an id names an object of OpenAI's. */
const UNREAD = ["id", "status", "phase", "namespace", "prompt_cache_breakpoint"];

/** The state: a text, the content of a single message of the user, or a list of messages and calls as JSON. @throws INVALID_ARGUMENT, UNKNOWN_KEY */
export function stateOf(input: unknown): DecisionText {
  if (typeof input === "string") return input;
  if (!Array.isArray(input) || input.length === 0)
    return fail("INVALID_ARGUMENT", "input", `must be text, or a list of messages (got ${show(input)})`);
  const items = Array.from(input as unknown[], (item, i) => readItem(item, `input[${i}]`));
  const [only] = items;
  return items.length === 1 && only!.role === "user" ? only!.content : items.map(({ written }) => written);
}

interface ReadItem {
  readonly role: string | undefined;
  readonly content: DecisionText;
  readonly written: Record<string, string>;
}

function readItem(given: unknown, field: string): ReadItem {
  if (!isDict(given)) return fail("INVALID_ARGUMENT", field, `must be a message or a call (got ${show(given)})`);
  const { type = "message" } = given;
  if (type === "message") {
    const { role, content } = known(given, ["type", "role", "content"], field);
    if (!INPUT_ROLES.includes(role as string))
      fail("INVALID_ARGUMENT", `${field}.role`, `must be one of ${INPUT_ROLES.join(", ")} (got ${show(role)})`);
    const text = contentOf(content, `${field}.content`);
    return {
      role: role as string,
      content: text,
      written: { role: role as string, content: textOf(text, `${field}.content`) },
    };
  }
  const names = Object.hasOwn(OF_CALL, type as string) ? OF_CALL[type as keyof typeof OF_CALL] : undefined;
  if (names === undefined)
    return fail(
      "INVALID_ARGUMENT",
      `${field}.type`,
      `must be message or one of ${Object.keys(OF_CALL).join(", ")} (got ${show(type)})`,
    );
  const call = known(given, ["type", "call_id", ...names], field);
  const written: [string, string][] = [["type", type as string]];
  for (const name of ["call_id", ...names]) {
    const value = name === "output" ? textOf(contentOf(call[name], `${field}.${name}`), field) : call[name];
    if (typeof value !== "string")
      return fail("INVALID_ARGUMENT", `${field}.${name}`, `must be text (got ${show(value)})`);
    written.push([name, value]);
  }
  return { role: undefined, content: "", written: Object.fromEntries(written) };
}

function known(given: Record<string, unknown>, names: readonly string[], field: string): Record<string, unknown> {
  return onlyWith(given, [...names, ...UNREAD], field, field);
}

/**
 * An object of a request.
 * @param names - its keys
 * @param of - whose keys they are, for messages
 * @throws UNKNOWN_KEY
 */
export function onlyWith(
  given: Record<string, unknown>,
  names: readonly string[],
  field: string,
  of: string,
): Record<string, unknown> {
  const all = Object.fromEntries(names.map((name) => [name, true as const]));
  return checkOptions(given, optionNames<Record<string, unknown>>(of, all), field);
}

/** The text of a content, or its JSON. @throws INVALID_ARGUMENT */
export function contentOf(content: unknown, field: string): DecisionText {
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.length === 0)
    return fail("INVALID_ARGUMENT", field, `must be text or a list of parts (got ${show(content)})`);
  const parts = Array.from(content as unknown[], (part, i) => readPart(part, `${field}[${i}]`));
  return linesOf(parts, () => field);
}

function readPart(part: unknown, field: string): DecisionText {
  const { type } = isDict(part) ? part : {};
  if (type === "input_image") return fail("INVALID_ARGUMENT", field, "is an image, and models here read text only");
  const name = { input_text: "text", output_text: "text", refusal: "refusal", input_json: "data" }[type as string];
  if (name === undefined)
    return fail(
      "INVALID_ARGUMENT",
      field,
      `must be a part of the type input_text or input_json (got ${show(type ?? part)})`,
    );
  const value = known(part as Record<string, unknown>, ["type", name], field)[name];
  const isRight = name === "data" ? typeof value === "object" && value !== null : typeof value === "string";
  if (!isRight)
    fail(
      "INVALID_ARGUMENT",
      `${field}.${name}`,
      `must be ${name === "data" ? "an object or a list" : "text"} (got ${show(value)})`,
    );
  return value as DecisionText;
}
