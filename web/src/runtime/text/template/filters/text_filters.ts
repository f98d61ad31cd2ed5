// Filters of text and JSON.
import { escapeText } from "../escape.js";
import { filter, type Filter, type FilterCall } from "./filter_call.js";
import { format } from "../format/format_percent.js";
import { type JsonStyle, toJson } from "../values/json_text.js";
import { prettyText } from "../values/pretty_text.js";
import { concatenate, toText } from "../values/python_text.js";
import { linesOf, replaceText, split } from "../string_search.js";
import { methodOfText } from "../string_methods.js";
import { integerOf, isTrue, itemsOf, lengthOf, sizeOf, typeName } from "../values/types.js";
import { Dict, Markup, stringOf, tuple, Undefined, undefinedError, type Value } from "../values/values.js";
import { SPACE } from "../values/whitespace.js";
import { wrapped } from "./wrap.js";

/** Spaces of an indentation, and characters of a separator. */
const MAX_REPEATED = 100;

/** A value as text: a safe one stays safe. */
function soft(operand: Value, { budget }: FilterCall): string | Markup {
  return typeof operand === "string" || operand instanceof Markup ? operand : concatenate([operand], budget);
}

/** A filter that is a method of the operand's text. */
function asMethod(name: string, parameters: string): Filter {
  return filter(parameters, (operand, call) =>
    methodOfText(soft(operand, call), name, call.budget)!.parts.call!(call.args, new Map()),
  );
}

function mustBeText(operand: Value, filterName: string): string {
  const text = stringOf(operand);
  if (operand instanceof Undefined) throw undefinedError(operand);
  if (text === undefined) throw new TypeError(`${filterName} needs a text (got ${typeName(operand)})`);
  return text;
}

function like(operand: Value, text: string): Value {
  return operand instanceof Markup ? new Markup(text) : text;
}

function limited(count: number): number {
  if (count > MAX_REPEATED) throw new RangeError(`an indentation must be at most ${MAX_REPEATED}`);
  return Math.max(0, count);
}

function indent(operand: Value, { args: [width, first, blank], budget }: FilterCall): Value {
  const text = mustBeText(operand, "indent");
  const spaces = stringOf(width) ?? " ".repeat(limited(integerOf(width!, "width")));
  limited(spaces.length);
  const lines = linesOf(`${text}\n`);
  budget.checkLength(text.length + spaces.length * lines.length);
  const isBlank = isTrue(blank!);
  const rest = lines.map((line, i) => (i === 0 || (line === "" && !isBlank) ? line : spaces + line)).join("\n");
  return like(operand, isTrue(first!) ? spaces + rest : rest);
}

function tojson(operand: Value, { args, budget }: FilterCall): string {
  const [ensureAscii, indentation, given, sortKeys] = args as [Value, Value, Value, Value];
  const spaces = stringOf(indentation) ?? (indentation === null ? undefined : integerOf(indentation, "indent"));
  const width = typeof spaces === "string" ? spaces.length : spaces;
  const [item, key, ...more] =
    given === null
      ? [spaces === undefined ? ", " : ",", ": "]
      : itemsOf(given).map((part) => mustBeText(part, "tojson"));
  if (item === undefined || key === undefined || more.length > 0) throw new TypeError("separators must be two strings");
  if (Math.max(item.length, key.length) > MAX_REPEATED)
    throw new RangeError(`a separator must have at most ${MAX_REPEATED} characters`);
  budget.serialized(operand, limited(width ?? 0));
  const style: JsonStyle = {
    ensureAscii: isTrue(ensureAscii),
    indent: typeof spaces === "number" ? " ".repeat(Math.max(0, spaces)) : spaces,
    separators: [item, key],
    sortKeys: isTrue(sortKeys),
  };
  return toJson(operand, style);
}

function title(operand: Value, call: FilterCall): string {
  const words = toText(soft(operand, call)).split(new RegExp(`([-${SPACE}({[<]+)`));
  return words
    .map((word) => {
      const [first = ""] = word;
      return first.toUpperCase() + word.slice(first.length).toLowerCase();
    })
    .join("");
}

function truncate(operand: Value, { args }: FilterCall): Value {
  const [length, killwords, end, leeway] = args as [Value, Value, Value, Value];
  const [most, more] = [integerOf(length, "length"), leeway === null ? 5 : integerOf(leeway, "leeway")];
  const ending = mustBeText(end, "truncate");
  if (most < lengthOf(ending)) throw new RangeError(`expected length >= ${lengthOf(ending)}, got ${most}`);
  if (more < 0) throw new RangeError(`expected leeway >= 0, got ${more}`);
  const size = sizeOf(operand);
  if (size !== undefined && size <= most + more) return operand;
  const text = mustBeText(operand, "truncate");
  const start = Array.from(text)
    .slice(0, most - lengthOf(ending))
    .join("");
  const kept = isTrue(killwords) ? start : (split(start, " ", 1, true)[0] ?? "");
  return like(operand, kept + (operand instanceof Markup ? escapeText(end) : ending));
}

export const TEXT_FILTERS: Readonly<Record<string, Filter>> = {
  capitalize: asMethod("capitalize", ""),
  center: asMethod("center", "width=80"),
  format: filter(undefined, (operand, call) => {
    const { args, keywords, budget } = call;
    if (args.length > 0 && keywords.size > 0)
      throw new TypeError("can't handle positional and keyword arguments at the same time");
    return format(soft(operand, call), keywords.size > 0 ? new Dict(keywords) : tuple(args), budget);
  }),
  indent: filter("width=4, first=False, blank=False", indent),
  lower: asMethod("lower", ""),
  pprint: filter("", (operand, { budget }) => {
    budget.serialized(operand);
    return prettyText(operand);
  }),
  replace: filter("old, new, count=None", (operand, call) => {
    const { args, budget } = call;
    const [old, given, count] = args as [Value, Value, Value];
    const most = count === null ? -1 : integerOf(count, "count");
    const text = concatenate([operand], budget);
    return replaceText(text, concatenate([old], budget), concatenate([given], budget), most, budget);
  }),
  safe: filter("", (operand, { budget }) => new Markup(concatenate([operand], budget))),
  string: filter("", soft),
  title: filter("", title),
  tojson: filter("ensure_ascii=False, indent=None, separators=None, sort_keys=False", tojson),
  trim: asMethod("strip", "chars=None"),
  truncate: filter("length=255, killwords=False, end='...', leeway=None", truncate),
  upper: asMethod("upper", ""),
  wordcount: filter("", (operand, call) => toText(soft(operand, call)).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0),
  wordwrap: filter(
    "width=79, break_long_words=True, wrapstring=None, break_on_hyphens=True",
    (operand, { args: [width, breaksWords, end, breaksHyphens], budget }) => {
      const text = mustBeText(operand, "wordwrap");
      budget.spend(text.length / 8);
      const style = {
        width: integerOf(width!, "width"),
        breaksWords: isTrue(breaksWords!),
        breaksHyphens: isTrue(breaksHyphens!),
      };
      const separator = end === null ? "\n" : mustBeText(end!, "wordwrap");
      return linesOf(text)
        .map((line) => wrapped(line, style).join(separator))
        .join(separator);
    },
  ),
};
