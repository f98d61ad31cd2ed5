// Methods of strings.
import type { Budget } from "./budget.js";
import { formatFields } from "./format_text.js";
import { SPACE, strip } from "./python_text.js";
import {
  type Arguments,
  integerOf,
  itemsOf,
  type Keywords,
  stringOf,
  tuple,
  Tuple,
  typeName,
  type Value,
} from "./values.js";

/** A method of `text`. */
type Method = (text: string, args: Arguments, keywords: Keywords, budget: Budget) => Value;

/** Characters of a text that is replaced or split at. */
const MOST_SEARCHED = 10_000;

const space = `[${SPACE}]`;
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

export const capitalize = (text: string): string => {
  const [first = ""] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
};

/** A text's lines, without their ends. */
export function linesOf(text: string): string[] {
  const lines = text.split(LINE_ENDS);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Replaces a text by another, at most `count` times. @throws OverBudget, RangeError */
export function replaceText(text: string, from: string, to: string, count: number, budget: Budget): string {
  checkSearched(from);
  if (count < 0 && text.length + (text.length + 1) * to.length <= 1000) return text.replaceAll(from, () => to);
  const parts: string[] = [];
  let end = 0;
  if (from === "") {
    const characters = Array.from(text);
    const most = count < 0 ? characters.length + 1 : Math.min(count, characters.length + 1);
    budget.checkLength(text.length + most * to.length);
    budget.spend(characters.length / 8);
    return (
      characters.map((character, i) => (i < most ? to : "") + character).join("") + (most > characters.length ? to : "")
    );
  }
  for (let at = text.indexOf(from); at >= 0 && parts.length !== count; at = text.indexOf(from, end)) {
    parts.push(text.slice(end, at));
    end = at + from.length;
  }
  budget.checkLength(text.length + parts.length * (to.length - from.length));
  budget.spend(parts.length / 8);
  return [...parts, text.slice(end)].join(to);
}

function checkSearched(text: string): void {
  if (text.length > MOST_SEARCHED)
    throw new RangeError(`a text to replace must have at most ${MOST_SEARCHED} characters`);
}

function textArgument(value: Value | undefined, method: string): string {
  const text = stringOf(value);
  if (text === undefined)
    throw new TypeError(`${method}() needs a string (got ${value === undefined ? "nothing" : typeName(value)})`);
  return text;
}

/** The pieces between separators: whitespace, or the text `separator`. At most `most` cuts are made. */
function split(text: string, separator: string | undefined, most: number, fromRight: boolean): Value[] {
  if (separator === "") throw new RangeError("empty separator");
  const cuts: [number, number][] = [];
  let whole = text;
  if (separator === undefined) {
    whole = strip(text);
    if (whole === "") return [];
    for (const { 0: match, index } of whole.matchAll(new RegExp(`${space}+`, "g")))
      cuts.push([index, index + match.length]);
  } else {
    checkSearched(separator);
    const find = (from: number): number =>
      fromRight ? text.lastIndexOf(separator, from) : text.indexOf(separator, from);
    for (let at = find(fromRight ? Infinity : 0); at >= 0;) {
      cuts.push([at, at + separator.length]);
      if (fromRight && at < separator.length) break;
      at = find(fromRight ? at - separator.length : at + separator.length);
    }
    if (fromRight) cuts.reverse();
  }
  const made = most < 0 ? cuts : fromRight ? cuts.slice(Math.max(0, cuts.length - most)) : cuts.slice(0, most);
  const starts = [0, ...made.map(([, end]) => end)];
  const ends = [...made.map(([start]) => start), whole.length];
  const pieces = starts.map((start, i) => whole.slice(start, ends[i]));
  if (separator === undefined && made.length === most) {
    // whitespace at the outer end stays in the piece that isn't cut
    if (fromRight) pieces[0] = text.slice(0, text.length - strip(text, "left").length) + pieces[0]!;
    else pieces.push(pieces.pop()! + text.slice(strip(text, "right").length));
  }
  return pieces;
}

function splitter(fromRight: boolean): Method {
  return (text, args, keywords, budget) => {
    const separator = args[0] ?? keywords.get("sep") ?? null;
    const most = integerOf(args[1] ?? keywords.get("maxsplit") ?? -1, "maxsplit");
    budget.spend(text.length / 32);
    return split(text, separator === null ? undefined : textArgument(separator, "split"), most, fromRight);
  };
}

function stripper(side: "both" | "left" | "right"): Method {
  return (text, [characters]) =>
    strip(text, side, characters === undefined || characters === null ? undefined : textArgument(characters, "strip"));
}

function beginsOrEnds(method: "startsWith" | "endsWith"): Method {
  return (text, [part, start, end]) => {
    const whole =
      start === undefined
        ? text
        : text.slice(integerOf(start, "start"), end === undefined ? undefined : integerOf(end, "end"));
    const parts = part instanceof Tuple ? part : [part];
    return parts.some((item) => whole[method](textArgument(item, method.toLowerCase())));
  };
}

function finder(last: boolean, isRequired: boolean): Method {
  return (text, [part]) => {
    const searched = textArgument(part, "find");
    const at = last ? text.lastIndexOf(searched) : text.indexOf(searched);
    if (at < 0 && isRequired) throw new RangeError("substring not found");
    return at < 0 ? -1 : Array.from(text.slice(0, at)).length;
  };
}

function partition(last: boolean): Method {
  return (text, [separator]) => {
    const cut = textArgument(separator, "partition");
    if (cut === "") throw new RangeError("empty separator");
    const at = last ? text.lastIndexOf(cut) : text.indexOf(cut);
    if (at < 0) return tuple(last ? ["", "", text] : [text, "", ""]);
    return tuple([text.slice(0, at), cut, text.slice(at + cut.length)]);
  };
}

function padder(where: "left" | "right" | "both", fill?: string): Method {
  return (text, [width, character = " "], _keywords, budget) => {
    const least = integerOf(width ?? 0, "width");
    budget.checkLength(least);
    const missing = Math.max(0, least - Array.from(text).length);
    const left = where === "both" ? Math.floor(missing / 2) + (missing & least & 1) : where === "left" ? missing : 0;
    const padding = fill ?? textArgument(character, "padding");
    const sign = fill === "0" ? /^[+-]?/.exec(text)![0] : "";
    return sign + padding.repeat(left) + text.slice(sign.length) + padding.repeat(missing - left);
  };
}

const all =
  (pattern: RegExp): Method =>
  (text) =>
    pattern.test(text);
const hasCase = /[\p{Lu}\p{Ll}\p{Lt}]/u;

export const STRING_METHODS: Readonly<Record<string, Method>> = {
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  casefold: (text) => text.toLowerCase().replaceAll("ß", "ss"),
  swapcase: (text) => Array.from(text, (c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase())).join(""),
  capitalize,
  title: (text) => text.replace(/\p{L}[\p{L}\p{M}]*/gu, capitalize),
  strip: stripper("both"),
  lstrip: stripper("left"),
  rstrip: stripper("right"),
  startswith: beginsOrEnds("startsWith"),
  endswith: beginsOrEnds("endsWith"),
  split: splitter(false),
  rsplit: splitter(true),
  splitlines(text, [keep], keywords) {
    if (keep !== true && keywords.get("keepends") !== true) return linesOf(text);
    return text.match(new RegExp(`[^]*?(?:${LINE_ENDS.source})|[^]+$`, "g")) ?? [];
  },
  replace: (text, [from, to, count], keywords, budget) =>
    replaceText(
      text,
      textArgument(from, "replace"),
      textArgument(to, "replace"),
      integerOf(count ?? keywords.get("count") ?? -1, "count"),
      budget,
    ),
  removeprefix: (text, [part]) => {
    const prefix = textArgument(part, "removeprefix");
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  },
  removesuffix: (text, [part]) => {
    const suffix = textArgument(part, "removesuffix");
    return suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  },
  find: finder(false, false),
  rfind: finder(true, false),
  index: finder(false, true),
  rindex: finder(true, true),
  count: (text, [part]) => {
    const searched = textArgument(part, "count");
    return searched === "" ? Array.from(text).length + 1 : text.split(searched).length - 1;
  },
  join(text, [list], _keywords, budget) {
    const items = itemsOf(list ?? null).map((item) => textArgument(item, "join"));
    budget.checkLength(text.length * items.length + items.reduce((sum, { length }) => sum + length, 0));
    return items.join(text);
  },
  format: (text, args, keywords, budget) => formatFields(text, args, keywords, budget),
  partition: partition(false),
  rpartition: partition(true),
  ljust: padder("right"),
  rjust: padder("left"),
  center: padder("both"),
  zfill: padder("left", "0"),
  isdigit: all(/^[\p{Nd}\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089]+$/u),
  isdecimal: all(/^\p{Nd}+$/u),
  isnumeric: all(/^\p{N}+$/u),
  isalpha: all(/^\p{L}+$/u),
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isspace: all(new RegExp(`^${space}+$`)),
  isascii: all(/^[\0-\x7f]*$/),
  isupper: (text) => hasCase.test(text) && text === text.toUpperCase(),
  islower: (text) => hasCase.test(text) && text === text.toLowerCase(),
};
