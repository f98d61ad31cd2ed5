// Filters of text, numbers and JSON.
import { itemsView } from "./attributes.js";
import { argument, type FilterCall, type FilterFunction } from "./filter_call.js";
import { format } from "./format_text.js";
import { LIST_FILTERS } from "./list_filters.js";
import { escapeText } from "./operators.js";
import { concatenate, type JsonStyle, SPACE, strip, toJson, toText } from "./python_text.js";
import { capitalize, linesOf, replaceText, STRING_METHODS } from "./string_methods.js";
import {
  firstOf,
  Float,
  Generator,
  integerOf,
  isTrue,
  itemsOf,
  Markup,
  numberOf,
  sizeOf,
  stringOf,
  typeName,
  Undefined,
  undefinedError,
  type Value,
} from "./values.js";

/** Spaces of an indentation, and characters of a separator. */
const MOST_REPEATED = 100;

/** A filter of the operand's text. Safe text stays safe. */
function ofText(change: (text: string, call: FilterCall) => string): FilterFunction {
  return (operand, call) => {
    call.budget.read(operand);
    const text = change(stringOf(operand) ?? concatenate([operand], call.budget), call);
    return operand instanceof Markup ? new Markup(text) : text;
  };
}

function indent(text: string, call: FilterCall): string {
  const width = argument(call, 0, "width") ?? 4;
  const spaces = typeof width === "string" ? width : " ".repeat(limited(integerOf(width, "width")));
  const isFirst = isTrue(argument(call, 1, "first") ?? false);
  const isBlank = isTrue(argument(call, 2, "blank") ?? false);
  const lines = linesOf(`${text}\n`);
  call.budget.checkLength(text.length + limited(spaces.length) * lines.length);
  const rest = lines.map((line, i) => (i === 0 || (line === "" && !isBlank) ? line : spaces + line)).join("\n");
  return isFirst ? spaces + rest : rest;
}

function limited(count: number): number {
  if (count > MOST_REPEATED) throw new RangeError(`an indentation must be at most ${MOST_REPEATED}`);
  return Math.max(0, count);
}

function tojson(operand: Value, call: FilterCall): string {
  const { budget } = call;
  const indentation = argument(call, 1, "indent") ?? null;
  const spaces = stringOf(indentation) ?? (indentation === null ? undefined : integerOf(indentation, "indent"));
  const width = typeof spaces === "string" ? spaces.length : spaces;
  const given = argument(call, 2, "separators") ?? null;
  const [item, key, ...more] = given === null ? [spaces === undefined ? ", " : ",", ": "] : itemsOf(given).map(toText);
  if (item === undefined || key === undefined || more.length > 0) throw new TypeError("separators must be two strings");
  if (Math.max(item.length, key.length) > MOST_REPEATED)
    throw new RangeError(`a separator must have at most ${MOST_REPEATED} characters`);
  budget.serialized(operand, limited(width ?? 0));
  const style: JsonStyle = {
    ensureAscii: isTrue(argument(call, 0, "ensure_ascii") ?? false),
    indent: typeof spaces === "number" ? " ".repeat(Math.max(0, spaces)) : spaces,
    separators: [item, key],
    sortKeys: isTrue(argument(call, 3, "sort_keys") ?? false),
  };
  return toJson(operand, style);
}

/** Rounds to the nearest number with `digits` decimals, and to the even one of two. */
function roundHalfEven(number: number, digits: number): number {
  const scaled = number * 10 ** digits;
  const floor = Math.floor(scaled);
  const up = scaled - floor > 0.5 || (scaled - floor === 0.5 && floor % 2 !== 0);
  return Number(((up ? floor + 1 : floor) / 10 ** digits).toFixed(Math.max(0, Math.min(digits, 100))));
}

function round(operand: Value, call: FilterCall): Value {
  const number = numberOf(operand);
  if (number === undefined) throw new TypeError(`type ${typeName(operand)} doesn't define a rounding`);
  const digits = integerOf(argument(call, 0, "precision") ?? 0, "precision");
  const method = stringOf(argument(call, 1, "method") ?? "common");
  if (method === "common") return operand instanceof Float ? new Float(roundHalfEven(number, digits)) : number;
  if (method !== "ceil" && method !== "floor") throw new TypeError("method must be common, ceil or floor");
  return new Float(Math[method](number * 10 ** digits) / 10 ** digits);
}

/** The integer that a text or number starts from; undefined if it is neither. */
function toInteger(operand: Value, base: number): number | undefined {
  const number = numberOf(operand);
  if (number !== undefined) return Number.isFinite(number) ? Math.trunc(number) : undefined;
  const text = strip(stringOf(operand) ?? "").replace(/(?<=[0-9a-z])_(?=[0-9a-z])/gi, "");
  const digits = base === 16 ? text.replace(/^([+-]?)0x/i, "$1") : text;
  const pattern = { 2: /^[+-]?[01]+$/, 8: /^[+-]?[0-7]+$/, 10: /^[+-]?\d+$/, 16: /^[+-]?[0-9a-f]+$/i }[base];
  if (pattern?.test(digits) === true) return Number.parseInt(digits, base);
  const float = toFloat(operand);
  return float === undefined || !Number.isFinite(float) ? undefined : Math.trunc(float);
}

function toFloat(operand: Value): number | undefined {
  const number = numberOf(operand);
  if (number !== undefined) return number;
  const text = strip(stringOf(operand) ?? "");
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  return /^[+-]?inf(?:inity)?$/i.test(text) ? (text.startsWith("-") ? -Infinity : Infinity) : undefined;
}

function failIfUndefined(operand: Value): void {
  if (operand instanceof Undefined) throw undefinedError(operand);
}

function titled(text: string): string {
  return text
    .split(new RegExp(`([-${SPACE}({[<]+)`))
    .map(capitalize)
    .join("");
}

const escape: FilterFunction = (operand, { budget }) => {
  budget.read(operand);
  const text = escapeText(operand);
  budget.written(text);
  return new Markup(text);
};

const otherwise: FilterFunction = (operand, call) => {
  const isBoolean = isTrue(argument(call, 1, "boolean") ?? false);
  const isMissing = operand instanceof Undefined || (isBoolean && !isTrue(operand));
  return isMissing ? firstOf(argument(call, 0, "default_value"), "") : operand;
};

const length: FilterFunction = (operand, { budget }) => {
  if (stringOf(operand) !== undefined) budget.read(operand);
  const size = sizeOf(operand);
  if (size === undefined) throw new TypeError(`object of type '${typeName(operand)}' has no len()`);
  return size;
};

const TEXT_FILTERS: Readonly<Record<string, FilterFunction>> = {
  abs(operand) {
    const number = numberOf(operand);
    if (number === undefined) throw new TypeError(`bad operand type for abs(): '${typeName(operand)}'`);
    return operand instanceof Float ? new Float(Math.abs(number)) : Math.abs(number);
  },
  capitalize: ofText(capitalize),
  center: ofText((text, call) => {
    const width = argument(call, 0, "width") ?? 80;
    return STRING_METHODS["center"]!(text, [width], new Map(), call.budget) as string;
  }),
  count: length,
  d: otherwise,
  default: otherwise,
  e: escape,
  escape,
  float(operand, call) {
    failIfUndefined(operand);
    const number = toFloat(operand);
    return number === undefined ? firstOf(argument(call, 0, "default"), new Float(0)) : new Float(number);
  },
  forceescape: (operand, call) => escape(operand instanceof Markup ? operand.text : operand, call),
  format: (operand, { args, budget }) => format(concatenate([operand], budget), args, budget),
  indent: ofText(indent),
  int(operand, call) {
    failIfUndefined(operand);
    const base = integerOf(argument(call, 1, "base") ?? 10, "base");
    return firstOf(toInteger(operand, base), argument(call, 0, "default"), 0);
  },
  items(operand) {
    if (operand instanceof Undefined) return new Generator([]);
    if (!(operand instanceof Map)) throw new TypeError("Can only get item pairs from a mapping.");
    return new Generator(itemsView(operand).items);
  },
  length,
  lower: ofText((text) => text.toLowerCase()),
  replace: ofText((text, call) => {
    const [from, to] = [argument(call, 0, "old"), argument(call, 1, "new")];
    if (from === undefined || to === undefined) throw new TypeError("replace needs the old and the new text");
    const count = argument(call, 2, "count") ?? null;
    for (const value of [from, to]) call.budget.read(value);
    return replaceText(text, toText(from), toText(to), count === null ? -1 : integerOf(count, "count"), call.budget);
  }),
  round,
  safe: (operand, { budget }) => new Markup(concatenate([operand], budget)),
  string: (operand, { budget }) => (operand instanceof Markup ? operand : concatenate([operand], budget)),
  title: ofText(titled),
  tojson,
  trim: ofText((text, call) => {
    const characters = argument(call, 0, "chars") ?? null;
    return strip(text, "both", characters === null ? undefined : toText(characters));
  }),
  upper: ofText((text) => text.toUpperCase()),
  wordcount: (operand, { budget }) => concatenate([operand], budget).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0,
};

export const FILTERS: ReadonlyMap<string, FilterFunction> = new Map(
  Object.entries({ ...TEXT_FILTERS, ...LIST_FILTERS }),
);
