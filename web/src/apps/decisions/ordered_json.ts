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

/** Writes JSON. Maps become objects with their keys in that order. */
export function writeOrdered(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeOrdered).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${writeOrdered(item)}`).join(",")}}`;
}
