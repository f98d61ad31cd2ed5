// Reads the text of calls whose end is missing: `max_tokens` or a stop string has cut the answer.
import type { CallFormat, CallStyle } from "./call_format.js";
import { type CalledFunction, readCalls } from "./call_text.js";

/** What comes up to the end of a call's name. */
const NAMES: Readonly<Record<CallStyle, RegExp>> = {
  json: /^[\s[,;]*\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*"(?<name>(?:[^"\\])+)"/,
  named: /^\s*(?<name>[^\s[{]+)\s*\[(?:CALL_ID|ARGS)\]/,
  separated: /^\s*(?:function<｜tool▁sep｜>(?<fenced>[^\s{<]+)\s*\n|(?!function<)(?<name>[^\s{<]+)\s*<｜tool▁sep｜>)/,
  python: /^\s*\[?\s*(?<name>[\w.-]+)\(/,
  xml: /<function=(?<name>[^>\s]+)>/,
  escaped: /^\s*call:(?<name>[\w.-]+)\{/,
};

/** What ends a call of a list, for styles whose calls are read as a whole. */
const ENDS: Partial<Record<CallStyle, string>> = { xml: "</function>", python: ")" };

/** The calls of a text that is cut. The last one has no arguments if they aren't whole, and there is none if its name isn't. */
export function cutCalls(text: string, format: CallFormat): CalledFunction[] {
  const { style } = format;
  const end = ENDS[style];
  if (end === undefined) {
    // in other styles, a name alone would be read as a call without arguments
    const whole = style === "json" || style === "escaped" ? readCalls(text, format) : undefined;
    return whole ?? begunCall(text, style);
  }
  const length = wholeLength(text, end, format);
  const whole = readCalls(text.slice(0, length), format) ?? [];
  return [...whole, ...begunCall(text.slice(length).replace(/^[\s,]+/, ""), style)];
}

function begunCall(text: string, style: CallStyle): CalledFunction[] {
  const { name, fenced } = NAMES[style].exec(text)?.groups ?? {};
  const called = name ?? fenced;
  return called === undefined ? [] : [{ name: called, arguments: "" }];
}

/** Length of the longest part that ends with `end` and is readable. */
function wholeLength(text: string, end: string, format: CallFormat): number {
  for (let at = text.lastIndexOf(end); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(end, at - 1))
    if (readCalls(text.slice(0, at + end.length), format) !== undefined) return at + end.length;
  return 0;
}
