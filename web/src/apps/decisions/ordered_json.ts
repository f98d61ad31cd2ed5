// JSON whose objects keep the order of their keys: a JavaScript object lists keys that are integers first.

/** A string, and the colon after it if it is a key. */
const STRING = /"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?/g;

/** Parses JSON. Objects become Maps; of keys that are written twice, the last value counts. @throws SyntaxError */
export function parseOrdered(text: string): unknown {
  JSON.parse(text); // its messages are about the text that was sent
  const marked = text.replace(STRING, (whole, string: string, colon: string | undefined) =>
    colon === undefined ? whole : `"_${string}"${colon}`,
  );
  return withMaps(JSON.parse(marked));
}

function withMaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMaps);
  if (typeof value !== "object" || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key.slice(1), withMaps(item)]));
}

/** Writes JSON. Maps become objects with their keys in that order. `indent` puts each value on a line of its own. */
export function writeOrdered(value: unknown, indent?: string, before = "\n"): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const line = indent === undefined ? "" : before + indent;
  const inside = (item: unknown): string => writeOrdered(item, indent, line);
  const bracketed = (open: string, items: readonly string[], close: string): string =>
    items.length === 0
      ? open + close
      : open + line + items.join(`,${line}`) + (indent === undefined ? "" : before) + close;
  if (Array.isArray(value)) return bracketed("[", value.map(inside), "]");
  const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
  const space = indent === undefined ? "" : " ";
  return bracketed(
    "{",
    entries.map(([key, item]) => `${JSON.stringify(key)}:${space}${inside(item)}`),
    "}",
  );
}
