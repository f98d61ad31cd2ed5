// Splits a template into text and tags, trims whitespace as Jinja does, and lets `@huggingface/jinja` read each tag. The library's own
// trimming takes quadratic time.
import { strip } from "./python_text.js";
import type { Jinja, Token } from "./syntax.js";
import { withTestCalls } from "./test_calls.js";

/** Far above any template of a released model, which have up to 30,000 characters. */
const MOST_CHARACTERS = 1 << 20;

interface Tag {
  /** `{%` and `{{` for tags, `{#` for comments. */
  readonly opening: string;
  /** How the library is given the tag: with as little whitespace as possible. */
  readonly source: string;
  /** Index after the tag. */
  readonly end: number;
  /** What is trimmed from the text before and after it: all whitespace, what trim_blocks and lstrip_blocks say, or nothing. */
  readonly before: Trimming;
  readonly after: Trimming;
}

type Trimming = "all" | "block" | "none";

/**
 * The tokens of a template, with trim_blocks and lstrip_blocks as in transformers. Takes linear time.
 * @throws SyntaxError
 */
export function tokensOf(jinja: Jinja, template: string): Token[] {
  if (template.length > MOST_CHARACTERS)
    throw new SyntaxError(`it has ${template.length} characters, and the limit is ${MOST_CHARACTERS}`);
  const all = template.endsWith("\n") ? template.slice(0, -1) : template;
  const tokens: Token[] = [];
  let trimming: Trimming = "none";
  for (let at = 0; at < all.length;) {
    const start = startOfTag(all, at);
    const tag = start < all.length ? readTag(all, start) : undefined;
    const text = textBetween(all, at, start, trimming, tag?.before ?? "none");
    if (text !== "") tokens.push({ value: text, type: "Text" });
    if (tag === undefined) break;
    if (tag.source === RAW) {
      const raw = readRaw(all, tag);
      if (raw.text !== "") tokens.push({ value: raw.text, type: "Text" });
      trimming = raw.after;
      at = raw.end;
      continue;
    }
    if (tag.source !== "") for (const token of withTestCalls(jinja.tokenize(tag.source))) tokens.push(token);
    trimming = tag.after;
    at = tag.end;
  }
  return tokens;
}

/** The source of a tag that starts text without tags. */
const RAW = "{% raw %}";

/** Reads text without tags, up to `{% endraw %}`. */
function readRaw(template: string, { end: start, after }: Tag): { text: string; after: Trimming; end: number } {
  for (let at = template.indexOf("{%", start); at >= 0; at = template.indexOf("{%", at + 2)) {
    const match = /^\{%[-+]?\s{0,1000}endraw\s{0,1000}[-+]?%\}/.exec(template.slice(at, at + 2100));
    if (match === null) continue;
    const tag = readTag(template, at);
    const trimmingBefore = after === "all" ? "all" : "none";
    return { text: textBetween(template, start, at, trimmingBefore, tag.before), after: tag.after, end: tag.end };
  }
  throw new SyntaxError("missing endraw");
}

function startOfTag(template: string, from: number): number {
  for (let at = template.indexOf("{", from); at >= 0; at = template.indexOf("{", at + 1)) {
    if ("%{#".includes(template.charAt(at + 1) || " ")) return at;
  }
  return template.length;
}

/** The text in [start, end), trimmed by the tags around it. */
function textBetween(template: string, start: number, end: number, afterTag: Trimming, beforeTag: Trimming): string {
  let first = start;
  if (afterTag === "block" && template[start] === "\n") first += 1;
  let last = end;
  if (beforeTag === "block") {
    let blank = end;
    while (blank > start && " \t".includes(template.charAt(blank - 1))) blank -= 1;
    if (blank === 0 || template[blank - 1] === "\n") last = blank;
  }
  let text = template.slice(first, Math.max(first, last));
  if (afterTag === "all") text = strip(text, "left");
  return beforeTag === "all" ? strip(text, "right") : text;
}

function readTag(template: string, start: number): Tag {
  const opening = template.slice(start, start + 2);
  const isExpression = opening === "{{";
  const closing = isExpression ? "}}" : opening === "{%" ? "%}" : "#}";
  const mark = template.charAt(start + 2);
  const hasMark = mark === "-" || (mark === "+" && !isExpression);
  const inside = start + (hasMark ? 3 : 2);
  const { end, content } =
    opening === "{#" ? readComment(template, inside) : readContent(template, inside, closing, isExpression);
  const lastMark = end > inside ? template.charAt(end - 1) : "";
  const endsWithMark = lastMark === "-" || (lastMark === "+" && !isExpression);
  const trimmed = (endsWithMark ? content.slice(0, -1) : content).trim();
  // {% generation %} marks text for training and has no other effect
  const known = opening === "{%" ? { generation: "if true", endgeneration: "endif" }[trimmed] : undefined;
  const byDefault: Trimming = isExpression ? "none" : "block";
  const trimmingBy = (sign: string): Trimming => (sign === "-" ? "all" : sign === "+" ? "none" : byDefault);
  return {
    opening,
    source: opening === "{#" ? "" : `${opening} ${known ?? trimmed} ${closing}`,
    end: end + 2,
    before: hasMark ? trimmingBy(mark) : byDefault,
    after: endsWithMark ? trimmingBy(lastMark) : byDefault,
  };
}

function readComment(template: string, start: number): { end: number; content: string } {
  const end = template.indexOf("#}", start);
  if (end < 0) throw new SyntaxError("missing end of comment tag");
  return { end, content: "" };
}

/** Reads a tag up to its end, with runs of whitespace as one space. */
function readContent(
  template: string,
  start: number,
  closing: string,
  isExpression: boolean,
): { end: number; content: string } {
  let content = "";
  let depth = 0; // of braces: in {{ {"a": {}} }} only the last two end the tag
  for (let at = start; at < template.length;) {
    const character = template.charAt(at);
    if (template.startsWith(closing, at) && (depth === 0 || !isExpression)) return { end: at, content };
    if (character === '"' || character === "'") {
      const string = readString(template, at);
      content += string.source;
      at = string.end;
      continue;
    }
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if (!/\s/.test(character)) content += character;
    else if (!content.endsWith(" ")) content += " ";
    at += 1;
  }
  throw new SyntaxError(`missing ${closing}`);
}

/** What may follow a backslash. Before other characters it stands for itself. */
const KNOWN_ESCAPES = "ntrbfv'\"\\xu";

/** Reads a string literal. Runs of whitespace and percent signs are escaped, because the library looks for tags in them. */
function readString(template: string, start: number): { end: number; source: string } {
  const quote = template.charAt(start);
  let source = quote;
  let afterSpace = false;
  for (let at = start + 1; at < template.length; at++) {
    const character = template.charAt(at);
    if (character === quote) return { end: at + 1, source: source + quote };
    const isSpace = /\s/.test(character);
    if (character === "\\") {
      const next = template.charAt((at += 1));
      source += (KNOWN_ESCAPES.includes(next) ? "\\" : "\\\\") + next;
    } else if (character === "%" || (isSpace && afterSpace)) source += escaped(character);
    else source += character;
    afterSpace = isSpace;
  }
  throw new SyntaxError("unexpected end of a string");
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
