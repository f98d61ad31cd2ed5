// Reads the text of tool calls in the styles of CallFormat.
import { isDict } from "../../base/dict.js";
import type { CallFormat } from "./call_format.js";

/** A call that a model wrote. */
export interface CalledFunction {
  readonly name: string;
  /** As JSON. */
  readonly arguments: string;
}

/** The calls in a text between two markers; undefined if the text has another form. */
export function readCalls(text: string, { style }: CallFormat): CalledFunction[] | undefined {
  const readers = { json, named, separated, python, xml, escaped };
  return readers[style](text.trim());
}

function json(text: string): CalledFunction[] | undefined {
  const values = jsonValues(text);
  if (values === undefined) return undefined;
  const calls = values.flat().map((value) => {
    const called = isDict(value) && isDict(value["function"]) ? value["function"] : value;
    if (!isDict(called) || typeof called["name"] !== "string") return undefined;
    return call(called["name"], called["arguments"] ?? called["parameters"] ?? {});
  });
  return calls.length > 0 && calls.every((one) => one !== undefined) ? calls : undefined;
}

/** One JSON value, or several with `;` or line breaks between them. */
function jsonValues(text: string): unknown[] | undefined {
  const whole = parsed(text);
  if (whole !== undefined) return [whole];
  const parts = text.split(/\s*;\s*(?=\{)|\n\s*(?=\{)/).map(parsed);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

function named(text: string): CalledFunction[] | undefined {
  return splitCall(text, text.includes("[CALL_ID]") ? /\[CALL_ID\][^[]*\[ARGS\]/ : /\[ARGS\]/);
}

function separated(text: string): CalledFunction[] | undefined {
  const plain = text.replace(/^function<｜tool▁sep｜>(?=[^{]*```)/, "");
  const fenced = /^([^\n]+)\n```(?:json)?\n([\s\S]*?)\n?(?:```)?$/.exec(plain);
  return fenced === null ? splitCall(text, /<｜tool▁sep｜>/) : jsonCall(fenced[1]!, fenced[2]!);
}

function splitCall(text: string, separator: RegExp): CalledFunction[] | undefined {
  const found = separator.exec(text);
  return found === null ? undefined : jsonCall(text.slice(0, found.index), text.slice(found.index + found[0].length));
}

function jsonCall(name: string, text: string): CalledFunction[] | undefined {
  const given = parsed(text.trim() || "{}");
  return given === undefined || name.trim() === "" ? undefined : [call(name.trim(), given)];
}

function xml(text: string): CalledFunction[] | undefined {
  const calls = [...text.matchAll(/<function=([^>\s]+)>([\s\S]*?)(?:<\/function>|$)/g)].map(([, name, body]) => {
    const values = [...body!.matchAll(/<parameter=([^>\s]+)>\n?([\s\S]*?)\n?<\/parameter>/g)];
    return call(name!, Object.fromEntries(values.map(([, key, value]) => [key!, jsonOrText(value!)])));
  });
  return calls.length > 0 ? calls : undefined;
}

/** The value of a parameter in XML, where texts have no quotes. */
function jsonOrText(text: string): unknown {
  return parsed(text) ?? text;
}

function escaped(text: string): CalledFunction[] | undefined {
  const [, name, body] = /^call:([\w.-]+)(\{[\s\S]*\})$/.exec(text) ?? [];
  if (name === undefined) return undefined;
  const texts: string[] = [];
  const keyed = body!
    .replace(/<escape>([\s\S]*?)<escape>/g, (_all, value: string) => `"\u0000${texts.push(value) - 1}"`)
    .replace(/([{,]\s*)([\w.-]+)\s*:/g, '$1"$2":');
  const given = parsed(keyed.replace(/"\0(\d+)"/g, (_all, index: string) => JSON.stringify(texts[Number(index)])));
  return given === undefined ? undefined : [call(name, given)];
}

/** A list of calls as Python writes them. Values are Python's literals. */
function python(text: string): CalledFunction[] | undefined {
  const calls: CalledFunction[] = [];
  let rest = text.replace(/^\[/, "").replace(/\]$/, "").trim();
  while (rest !== "") {
    const [, name] = /^([\w.-]+)\(/.exec(rest) ?? [];
    if (name === undefined) return undefined;
    rest = rest.slice(name.length + 1).trimStart();
    const given: Record<string, unknown> = {};
    while (!rest.startsWith(")")) {
      const [head, key] = /^([\w-]+)\s*=\s*/.exec(rest) ?? [];
      if (head === undefined) return undefined;
      const literal = literalAt(rest.slice(head.length));
      const value = parsed(asJson(literal));
      if (value === undefined) return undefined;
      given[key!] = value;
      rest = rest.slice(head.length + literal.length).replace(/^\s*,\s*/, "");
    }
    calls.push(call(name, given));
    rest = rest.slice(1).replace(/^\s*,\s*/, "");
  }
  return calls.length > 0 ? calls : undefined;
}

/** The text of a literal at the beginning, up to the comma or parenthesis after it. */
function literalAt(text: string): string {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[[\]{}(),]/g)) {
    if (depth === 0 && (token === "," || token === ")")) return text.slice(0, index).trimEnd();
    if ("[{(".includes(token)) depth += 1;
    if ("]})".includes(token)) depth -= 1;
  }
  return text;
}

function asJson(literal: string): string {
  return literal.replace(/"(?:\\.|[^"\\])*"|'((?:\\.|[^'\\])*)'|\b(?:True|False|None)\b/g, (token, single?: string) => {
    if (single !== undefined) return JSON.stringify(single.replaceAll("\\'", "'").replaceAll("\\n", "\n"));
    return { True: "true", False: "false", None: "null" }[token] ?? token;
  });
}

function call(name: string, given: unknown): CalledFunction {
  return { name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
