// Decodes many short strings at once. Starting a decoder takes longer than decoding a token of a vocabulary.

/** Throws a TypeError for bytes that aren't UTF-8. @internal */
export const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/**
 * Decodes UTF-8 strings that follow each other. String i is at `ranges[2 i]` to `ranges[2 i + 1]` of `bytes`. Returns undefined if one of them
 * isn't valid UTF-8.
 * @internal
 */
export function decodeStrings(bytes: Uint8Array, ranges: Uint32Array): string[] | undefined {
  const joined = new Uint8Array((ranges.at(-1) ?? 0) - (ranges[0] ?? 0)); // no larger, because a file can have many arrays
  const ends = new Uint32Array(ranges.length / 2); // in UTF-16, as strings are indexed
  let [length, units] = [0, 0];
  for (let i = 0; i < ends.length; i++) {
    const [start, end] = [ranges[2 * i]!, ranges[2 * i + 1]!];
    if (start < end && isContinuation(bytes[start]!)) return undefined; // joined, it could complete the string before it
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      joined[length++] = byte;
      if (!isContinuation(byte)) units += byte < 0xf0 ? 1 : 2;
    }
    ends[i] = units;
  }
  try {
    const text = UTF8.decode(joined.subarray(0, length));
    const strings: string[] = [];
    for (let i = 0; i < ends.length; i++) strings.push(text.substring(ends[i - 1] ?? 0, ends[i]));
    return strings;
  } catch {
    return undefined;
  }
}
