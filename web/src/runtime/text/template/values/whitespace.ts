// Python's whitespace, and what it removes from the ends of a text.

/** Python's whitespace. JavaScript's has U+FEFF, and lacks U+001C to U+001F and U+0085. */
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const isSpace = new RegExp(`^[${SPACE}]$`);

/** Removes characters at the start and the end: whitespace, or those of `characters`. */
export function strip(text: string, side: "both" | "left" | "right" = "both", characters?: string): string {
  const set = characters === undefined ? undefined : new Set(characters);
  const isStripped = (character: string): boolean => (set === undefined ? isSpace.test(character) : set.has(character));
  const all = set !== undefined && /[\ud800-\udfff]/.test(text + (characters ?? "")) ? Array.from(text) : text;
  let start = 0;
  let end = all.length;
  if (side !== "right") while (start < end && isStripped(all[start]!)) start += 1;
  if (side !== "left") while (end > start && isStripped(all[end - 1]!)) end -= 1;
  const rest = all.slice(start, end);
  return typeof rest === "string" ? rest : rest.join("");
}
