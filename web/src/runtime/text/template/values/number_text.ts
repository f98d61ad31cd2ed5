// Numbers from text, as Python's int() and float() read them.
import { type Integer, integer } from "./numbers.js";
import { strip } from "./whitespace.js";

const MAX_DIGITS = 4300;

/** Decimal digits of any script as those of ASCII. */
function withPlainDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    let start = digit.codePointAt(0)!;
    while (/\p{Nd}/u.test(String.fromCodePoint(start - 1))) start -= 1;
    return String((digit.codePointAt(0)! - start) % 10);
  });
}

/** Python's int(text, base); undefined if the text is no integer. @throws RangeError: it has more than 4,300 digits */
export function integerIn(text: string, base: number): Integer | undefined {
  if (base !== 0 && (base < 2 || base > 36)) return undefined;
  const match = /^([-+]?)(0[bBoOxX])?(_?)([0-9a-zA-Z]+(?:_[0-9a-zA-Z]+)*)$/.exec(withPlainDigits(strip(text)));
  if (match === null) return undefined;
  const [, sign, prefix = "", underscore, rest] = match as unknown as [
    string,
    string,
    string | undefined,
    string,
    string,
  ];
  const prefixBase = { b: 2, o: 8, x: 16 }[prefix.charAt(1).toLowerCase()];
  const isPrefix = prefixBase !== undefined && (base === 0 || base === prefixBase);
  if (underscore !== "" && !isPrefix) return undefined;
  const digits = ((isPrefix ? "" : prefix) + rest).replaceAll("_", "").toLowerCase();
  const used = base === 0 ? (prefixBase ?? 10) : base;
  if (base === 0 && prefixBase === undefined && /^0+[^0]/.test(digits)) return undefined;
  if (digits.length > MAX_DIGITS) throw new RangeError(`an integer has more than ${MAX_DIGITS} digits`);
  let value = 0n;
  for (const digit of digits) {
    const number = Number.parseInt(digit, 36);
    if (number >= used) return undefined;
    value = value * BigInt(used) + BigInt(number);
  }
  return integer(sign === "-" ? -value : value);
}

/** Python's float(text); undefined if the text is no number. */
export function floatIn(text: string): number | undefined {
  const plain = withPlainDigits(strip(text));
  if (/^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i.test(plain))
    return Number(plain.replaceAll("_", ""));
  if (/^[+-]?inf(?:inity)?$/i.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  return /^[+-]?nan$/i.test(plain) ? NaN : undefined;
}
