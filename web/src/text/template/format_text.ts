// Python's two ways of putting values into a text: "%s" % value, and "{}".format(value).
import type { Budget } from "./budget.js";
import { concatenate, repr } from "./python_text.js";
import { type Arguments, type Keywords, numberOf, type Value } from "./values.js";

/** `text % values`, with the conversions s, r, d, i and f. @throws TypeError */
export function format(text: string, values: Arguments, budget: Budget): string {
  let next = 0;
  const parts: Value[] = [];
  let end = 0;
  for (const match of text.matchAll(/%(0?)(\d*)(?:\.(\d+))?([a-zA-Z%])/g)) {
    const [all, zero, width, digits, conversion] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + all.length;
    if (conversion === "%") parts.push("%");
    else {
      if (next === values.length) throw new TypeError("not enough arguments for format string");
      const written = converted(
        values[next++]!,
        conversion!,
        digits === undefined ? undefined : Number(digits),
        budget,
      );
      parts.push(written.padStart(Math.min(Number(width), 100), zero === "" ? " " : "0"));
    }
  }
  if (next < values.length) throw new TypeError("not all arguments converted during string formatting");
  return concatenate([...parts, text.slice(end)], budget);
}

function converted(value: Value, conversion: string, digits: number | undefined, budget: Budget): string {
  if (conversion === "s") return concatenate([value], budget);
  if (conversion === "r") {
    budget.serialized(value);
    return repr(value);
  }
  const number = numberOf(value);
  if (number === undefined || !"dif".includes(conversion))
    throw new TypeError(`unsupported format %${conversion} for this value`);
  return conversion === "f" ? number.toFixed(Math.min(digits ?? 6, 100)) : Math.trunc(number).toFixed(0);
}

/** `text.format(...)`, with fields such as {}, {0}, {name} and {:.2f}. @throws TypeError */
export function formatFields(text: string, values: Arguments, keywords: Keywords, budget: Budget): string {
  let next = 0;
  const parts: Value[] = [];
  let end = 0;
  for (const match of text.matchAll(/\{\{|\}\}|\{(\w*)(?::(?:(0?)(\d+))?(?:\.(\d+))?([sdf]?))?\}|[{}]/g)) {
    const [all, name, zero, width, digits, conversion] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + all.length;
    if (all === "{{" || all === "}}") parts.push(all.charAt(0));
    else {
      if (name === undefined) throw new TypeError("this format is not supported");
      const value = /^\d*$/.test(name) ? values[name === "" ? next++ : Number(name)] : keywords.get(name);
      if (value === undefined) throw new TypeError(`the format's field ${name} has no value`);
      const kind = conversion === undefined || conversion === "" ? (digits === undefined ? "s" : "f") : conversion;
      const written = converted(value, kind, digits === undefined ? undefined : Number(digits), budget);
      const least = Math.min(Number(width ?? 0), 100);
      const isNumber = numberOf(value) !== undefined;
      parts.push(isNumber ? written.padStart(least, zero === "0" ? "0" : " ") : written.padEnd(least));
    }
  }
  return concatenate([...parts, text.slice(end)], budget);
}
