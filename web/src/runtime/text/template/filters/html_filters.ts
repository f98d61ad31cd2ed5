// Filters for HTML and addresses.
import { escapeText } from "../escape.js";
import { filter, type Filter } from "./filter_call.js";
import { concatenate, repr, toText } from "../values/python_text.js";
import { isTrue, itemsOf, iterate, typeName } from "../values/types.js";
import { Dict, Generator, Markup, stringOf, Undefined, undefinedError, type Value, View } from "../values/values.js";
import { SPACE, strip } from "../values/whitespace.js";

const escape = filter("", (operand, { budget }) => {
  if (stringOf(operand) === undefined) budget.serialized(operand);
  else budget.read(operand);
  return new Markup(escapeText(operand));
});

/** Entities that striptags replaces by their characters. HTML has 2,000 more. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

function unescaped(text: string): string {
  return text.replace(
    /&(?:#(?:[xX][\da-fA-F]+|\d+);?|([a-zA-Z][a-zA-Z0-9]*)(;?))/g,
    (all, name?: string, end?: string) => {
      const known = name === undefined || end === "" ? undefined : ENTITIES[name];
      if (known !== undefined) return known;
      const code = /^&#(?:[xX]([\da-fA-F]+)|(\d+));?$/.exec(all);
      const value = code === null ? NaN : code[1] === undefined ? Number(code[2]) : Number.parseInt(code[1], 16);
      // others have rules of their own
      if (value >= 0x20 && value < 0x7f) return String.fromCodePoint(value);
      if (value >= 0xa0 && value < 0xd800) return String.fromCodePoint(value);
      throw new TypeError(`striptags of a text with ${all.slice(0, 40)} is not supported`);
    },
  );
}

function withoutTags(text: string): string {
  let kept = "";
  let at = 0;
  for (let start = text.indexOf("<"); start >= 0; start = text.indexOf("<", at)) {
    const isComment = text.startsWith("<!--", start);
    const end = isComment ? text.indexOf("-->", start + 4) : text.indexOf(">", start);
    if (end < 0) break;
    kept += text.slice(at, start);
    at = end + (isComment ? 3 : 1);
  }
  return kept + text.slice(at);
}

function quotedForUrl(value: Value, forQuery: boolean): string {
  const written = encodeURIComponent(toText(value)).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return forQuery ? written.replaceAll("%20", "+") : written.replaceAll("%2F", "/");
}

function isIterable(value: Value): boolean {
  return (
    Array.isArray(value) ||
    value instanceof Dict ||
    value instanceof View ||
    value instanceof Generator ||
    value instanceof Undefined
  );
}

function urlencode(operand: Value): string {
  if (!isIterable(operand)) return quotedForUrl(operand, false);
  const items = operand instanceof Dict ? operand.entries() : Array.from(iterate(operand), (pair) => itemsOf(pair));
  return items
    .map((pair) => {
      if (pair.length !== 2) throw new TypeError("urlencode needs pairs of a name and a value");
      return `${quotedForUrl(pair[0], true)}=${quotedForUrl(pair[1], true)}`;
    })
    .join("&");
}

function xmlattr(operand: Value, hasSpace: boolean): string {
  if (operand instanceof Undefined) throw undefinedError(operand);
  if (!(operand instanceof Dict)) throw new TypeError(`xmlattr needs a dictionary (got ${typeName(operand)})`);
  const items: string[] = [];
  for (const [key, value] of operand.entries()) {
    if (value === null || value instanceof Undefined) continue;
    const name = stringOf(key);
    if (name === undefined) throw new TypeError("an attribute's name must be a text");
    if (/[\t-\r /=>]/.test(name)) throw new RangeError(`Invalid character in attribute name: ${repr(name)}`);
    items.push(`${escapeText(key)}="${escapeText(value)}"`);
  }
  return (hasSpace && items.length > 0 ? " " : "") + items.join(" ");
}

export const HTML_FILTERS: Readonly<Record<string, Filter>> = {
  e: escape,
  escape,
  forceescape: filter("", (operand, { budget }) => new Markup(escapeText(concatenate([operand], budget)))),
  striptags: filter("", (operand, { budget }) => {
    const text = withoutTags(concatenate([operand], budget));
    const words = strip(text).split(new RegExp(`[${SPACE}]+`));
    return unescaped(words.join(" "));
  }),
  urlencode: filter("", (operand, { budget }) => {
    budget.serialized(operand);
    return urlencode(operand);
  }),
  xmlattr: filter("autospace=True", (operand, { args: [autospace], budget }) => {
    budget.serialized(operand);
    return xmlattr(operand, isTrue(autospace!));
  }),
};
