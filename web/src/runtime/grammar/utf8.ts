// Ranges of characters as ranges of UTF-8 bytes.
import type { Range } from "./expression.js";

/** Ranges of bytes that follow each other. */
export type ByteRanges = readonly Range[];

/** The largest code point with so many bytes. */
const LAST = [0x7f, 0x7ff, 0xffff, 0x10ffff];

/**
 * The sequences of bytes that are the UTF-8 of a range of code points, without surrogates. Each matches bytes that no
 * other does. Source: Russ Cox, "Regular Expression Matching in the Wild" (2010).
 */
export function utf8Sequences([first, last]: Range): ByteRanges[] {
  for (const end of LAST)
    if (first <= end && last > end) return [...utf8Sequences([first, end]), ...utf8Sequences([end + 1, last])];
  if (last <= 0x7f) return [[[first, last]]];
  // Split until all bytes but the first differing one run through their whole range.
  for (let bits = 6; bits <= 18; bits += 6) {
    const mask = (1 << bits) - 1;
    if ((first & ~mask) === (last & ~mask)) break;
    if ((first & mask) !== 0)
      return [...utf8Sequences([first, first | mask]), ...utf8Sequences([(first | mask) + 1, last])];
    if ((last & mask) !== mask)
      return [...utf8Sequences([first, (last & ~mask) - 1]), ...utf8Sequences([last & ~mask, last])];
  }
  const [low, high] = [utf8Of(first), utf8Of(last)];
  return [low.map((byte, i): Range => [byte, high[i]!])];
}

function utf8Of(point: number): number[] {
  const continued = (shift: number): number => 0x80 | ((point >> shift) & 0x3f);
  if (point <= 0x7f) return [point];
  if (point <= 0x7ff) return [0xc0 | (point >> 6), continued(0)];
  if (point <= 0xffff) return [0xe0 | (point >> 12), continued(6), continued(0)];
  return [0xf0 | (point >> 18), continued(12), continued(6), continued(0)];
}
