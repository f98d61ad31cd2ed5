// Python's == and <.
import { compareNumbers } from "./numbers.js";
import { numberOf, typeName } from "./types.js";
import { Dict, Range, stringOf, Undefined, undefinedError, type Value, View } from "./values.js";

export function areEqual(a: Value, b: Value): boolean {
  if (a === b) return true;
  const number = numberOf(a);
  if (number !== undefined) {
    const other = numberOf(b);
    return other !== undefined && compareNumbers(number, other) === 0;
  }
  const text = stringOf(a);
  if (text !== undefined) return text === stringOf(b);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Dict && b instanceof Dict) {
    if (a.size !== b.size) return false;
    return a.entries().every(([key, value]) => {
      const other = b.get(key);
      return other !== undefined && areEqual(value, other);
    });
  }
  if (a instanceof View && b instanceof View) return areViewsEqual(a, b);
  if (!Array.isArray(a) || !Array.isArray(b) || typeName(a) !== typeName(b)) return false;
  return a.length === b.length && a.every((value, i) => areEqual(value, b[i]!));
}

/** Keys and items are compared as sets, and values are never equal. */
function areViewsEqual(a: View, b: View): boolean {
  if (a.kind === "dict_values" || b.kind === "dict_values" || a.items.length !== b.items.length) return false;
  return a.items.every((item) => b.items.some((other) => areEqual(item, other)));
}

/** Negative, zero or positive; NaN if a number is NaN. @throws TypeError: the values have no order */
export function compare(a: Value, b: Value): number {
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return compareNumbers(left, right);
  const [text, other] = [stringOf(a), stringOf(b)];
  if (text !== undefined && other !== undefined) return compareText(text, other);
  if (Array.isArray(a) && Array.isArray(b) && typeName(a) === typeName(b) && !(a instanceof Range)) {
    const first = a.findIndex((value, i) => i >= b.length || !areEqual(value, b[i]!));
    return first < 0 || first >= b.length ? a.length - b.length : compare(a[first]!, b[first]!);
  }
  for (const value of [a, b]) if (value instanceof Undefined) throw undefinedError(value);
  throw new TypeError(`'<' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`);
}

/** Compares by code points, as Python does. JavaScript compares UTF-16 code units. */
function compareText(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    if (a[i] !== b[i]) {
      const start = i > 0 && /[\udc00-\udfff]/.test(a.charAt(i)) ? i - 1 : i;
      return a.codePointAt(start)! - b.codePointAt(start)!;
    }
  }
  return a.length - b.length;
}
