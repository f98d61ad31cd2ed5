// Methods of strings.
import type { Budget } from "./values/budget.js";
import { escapeText } from "./escape.js";
import { bind, signature, type Signature } from "./signature.js";
import { count, find, linesOf, partition, replaceText, split, within } from "./string_search.js";
import { capitalize, caseFolded, isLower, isTitle, isUpper, titled, withCasesSwapped } from "./values/text_case.js";
import { integerOf, iterate, lengthOf, typeName } from "./values/types.js";
import { callable, Generator, type Instance, Markup, stringOf, tuple, Tuple, type Value } from "./values/values.js";
import { SPACE, strip } from "./values/whitespace.js";

/** What a method gets besides the text and its arguments. */
interface Context {
  readonly name: string;
  readonly budget: Budget;
  /** Escapes a text that is put into a safe one. */
  safe(value: Value): string;
}

/** A method of a text, with its arguments. */
interface Method {
  readonly parameters: Signature;
  run(text: string, args: Value[], context: Context): Value;
}

function method(parameters: string, run: Method["run"]): Method {
  return { parameters: signature(parameters), run };
}

function textArgument(value: Value | undefined, { name }: Context): string {
  const text = stringOf(value);
  if (text === undefined) throw new TypeError(`${name}() argument must be str, not ${typeName(value ?? null)}`);
  return text;
}

const changed = (change: (text: string) => Value): Method => method("", change);

function splitter(fromRight: boolean): Method {
  return method("sep=None, maxsplit=-1", (text, [separator, most], context) => {
    context.budget.spend(text.length / 32);
    const cut = separator === null ? undefined : textArgument(separator, context);
    return split(text, cut, integerOf(most!, "maxsplit"), fromRight);
  });
}

function stripper(side: "both" | "left" | "right"): Method {
  return method("chars=None, /", (text, [characters], context) =>
    strip(text, side, characters === null ? undefined : textArgument(characters, context)),
  );
}

function beginsOrEnds(check: "startsWith" | "endsWith"): Method {
  return method("prefix, start=None, end=None, /", (text, [part, start, end], context) => {
    const parts = (part instanceof Tuple ? Array.from(part) : [part]).map((item) => textArgument(item, context));
    const found = within(text, start!, end!);
    return found !== undefined && parts.some((item) => found.part[check](item));
  });
}

function finder(isLast: boolean, isRequired: boolean): Method {
  return method("sub, start=None, end=None, /", (text, [part, start, end], context) => {
    const at = find(text, textArgument(part, context), start!, end!, isLast);
    if (at < 0 && isRequired) throw new RangeError("substring not found");
    return at;
  });
}

function partitioner(isLast: boolean): Method {
  return method("sep, /", (text, [separator], context) =>
    tuple(partition(text, textArgument(separator, context), isLast)),
  );
}

function padder(where: "left" | "right" | "both"): Method {
  return method("width, fillchar=' ', /", (text, [width, character], context) => {
    const least = integerOf(width!, "width");
    const padding = context.safe(textArgument(character, context));
    if (lengthOf(padding) !== 1) throw new TypeError("The fill character must be exactly one character long");
    context.budget.checkLength(least);
    const missing = Math.max(0, least - lengthOf(text));
    const left = where === "both" ? Math.floor(missing / 2) + (missing & least & 1) : where === "left" ? missing : 0;
    return padding.repeat(left) + text + padding.repeat(missing - left);
  });
}

const all = (pattern: RegExp): Method => changed((text) => pattern.test(text));

/** Digits that aren't decimal, and Chinese numbers, which are letters with a number. */
const DIGITS =
  "²³¹፩-፱᧚⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}";
const NUMBERS =
  "㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零參拾兩零六陸什𠀁𠁤𠃢𠄡𠤪𠦃𠦌𠦜𠫪𠫽𠬙𢎐𢦘𣬛𦉭廾";

const METHODS: Readonly<Record<string, Method>> = {
  upper: changed((text) => text.toUpperCase()),
  lower: changed((text) => text.toLowerCase()),
  casefold: changed(caseFolded),
  swapcase: changed(withCasesSwapped),
  capitalize: changed(capitalize),
  title: changed(titled),
  strip: stripper("both"),
  lstrip: stripper("left"),
  rstrip: stripper("right"),
  startswith: beginsOrEnds("startsWith"),
  endswith: beginsOrEnds("endsWith"),
  split: splitter(false),
  rsplit: splitter(true),
  splitlines: method("keepends=False", (text, [keep]) => linesOf(text, integerOf(keep!, "keepends") !== 0)),
  replace: method("old, new, count=-1, /", (text, [from, to, most], context) => {
    const [old, given] = [textArgument(from, context), context.safe(textOrSafe(to!, context))];
    return replaceText(text, old, given, integerOf(most!, "count"), context.budget);
  }),
  removeprefix: method("prefix, /", (text, [part], context) => {
    const prefix = textArgument(part, context);
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  }),
  removesuffix: method("suffix, /", (text, [part], context) => {
    const suffix = textArgument(part, context);
    return suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  }),
  find: finder(false, false),
  rfind: finder(true, false),
  index: finder(false, true),
  rindex: finder(true, true),
  count: method("sub, start=None, end=None, /", (text, [part, start, end], context) =>
    count(text, textArgument(part, context), start!, end!),
  ),
  join: method("iterable, /", (text, [list], context) => {
    const { budget } = context;
    const items: string[] = [];
    let length = 0;
    for (const item of iterate(list!)) {
      const part = context.safe(textOrSafe(item, context));
      length += part.length + text.length;
      budget.checkLength(length);
      budget.spend(1 / 32);
      items.push(part);
    }
    return items.join(text);
  }),
  partition: partitioner(false),
  rpartition: partitioner(true),
  ljust: padder("right"),
  rjust: padder("left"),
  center: padder("both"),
  zfill: method("width, /", (text, [width], { budget }) => {
    const least = integerOf(width!, "width");
    budget.checkLength(least);
    const sign = /^[+-]?/.exec(text)![0];
    return sign + "0".repeat(Math.max(0, least - lengthOf(text))) + text.slice(sign.length);
  }),
  expandtabs: method("tabsize=8", (text, [size], { budget }) => withSpaces(text, integerOf(size!, "tabsize"), budget)),
  isdigit: all(new RegExp(`^[\\p{Nd}${DIGITS}]+$`, "u")),
  isdecimal: all(/^\p{Nd}+$/u),
  isnumeric: all(new RegExp(`^[\\p{N}${NUMBERS}]+$`, "u")),
  isalpha: all(/^\p{L}+$/u),
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isspace: all(new RegExp(`^[${SPACE}]+$`)),
  isascii: all(/^[\0-\x7f]*$/),
  isprintable: all(/^(?: |[^\p{C}\p{Z}])*$/u),
  isidentifier: all(/^[\p{XID_Start}_]\p{XID_Continue}*$/u),
  isupper: changed(isUpper),
  islower: changed(isLower),
  istitle: changed(isTitle),
};

/** A text, or any value if it is escaped. */
function textOrSafe(value: Value, context: Context): Value {
  return context.safe === escapeText ? value : textArgument(value, context);
}

function withSpaces(text: string, size: number, budget: Budget): string {
  let column = 0;
  let written = "";
  for (const character of text) {
    const isTab = character === "\t";
    const width = size > 0 ? size - (column % size) : 0;
    written += isTab ? " ".repeat(width) : character;
    column = character === "\n" || character === "\r" ? 0 : column + (isTab ? width : 1);
    budget.checkLength(written.length);
  }
  return written;
}

/** A method of a text by its name; undefined if there is none. */
export function methodOfText(value: string | Markup, name: string, budget: Budget): Instance | undefined {
  const isSafe = value instanceof Markup;
  const text = isSafe ? value.text : value;
  const found = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
  if (found === undefined) return undefined;
  return callable((args, keywords) => {
    budget.read(text);
    for (const argument of args) if (!(argument instanceof Generator)) budget.read(argument);
    const context: Context = { name, budget, safe: isSafe ? escapeText : (other) => stringOf(other)! };
    const result = found.run(text, bind(`str.${name}()`, found.parameters, args, keywords), context);
    budget.written(result);
    return isSafe ? marked(result) : result;
  });
}

/** Texts of a safe text are safe. */
function marked(value: Value): Value {
  if (typeof value === "string") return new Markup(value);
  if (value instanceof Tuple) return tuple(Array.from(value, marked));
  return Array.isArray(value) ? value.map(marked) : value;
}
