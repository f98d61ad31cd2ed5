// Reads literals out of Python's source text: the fields of classes, dictionaries and lists of names. Nothing is run.

/**
 * The classes of a file by name: { bases, fields, constants, text }. Fields are annotated, as in a dataclass, and constants aren't. Both are
 * maps of names to values, undefined for what isn't a literal.
 */
export function classesOf(text) {
  const classes = new Map();
  for (const [, name, bases, body] of text.matchAll(/^class (\w+)(?:\(([^)]*)\))?:\n((?:(?: {4}.*)?\n)*)/gm)) {
    const [fields, constants] = [new Map(), new Map()];
    for (const [, field, type, literal] of withoutTexts(body).matchAll(/^ {4}(\w+)(\s*:[^=\n]+)?\s*=\s*(.+)$/gm))
      (type === undefined ? constants : fields).set(field, literalOf(literal));
    classes.set(name, { bases: bases?.split(",").map((base) => base.trim()) ?? [], fields, constants, text: body });
  }
  return classes;
}

const withoutTexts = (body) => body.replace(/r?"""[\s\S]*?"""/g, "");

/** The value of a literal on one line; undefined for anything else. */
export function literalOf(text) {
  const [, string] = /^"([^"\\]*)"(?:\s*#.*)?$/.exec(text.trim().replaceAll("'", '"')) ?? [];
  if (string !== undefined) return string;
  const json = text
    .replace(/\s*#.*$/, "")
    .trim()
    .replace(/^\((.*?),?\)$/, "[$1]")
    .replaceAll("'", '"')
    .replace(/\bTrue\b/g, "true")
    .replace(/\bFalse\b/g, "false")
    .replace(/\bNone\b/g, "null")
    .replace(/(\d)_(?=\d)/g, "$1")
    .replace(/(\d)\.(?!\d)/g, "$1.0");
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** All strings in quotation marks in a text. */
export const stringsIn = (text) => [...text.matchAll(/"([^"\n]*)"|'([^'\n]*)'/g)].map(([, a, b]) => a ?? b);

/** The text from a line that starts with `start` to the first line that is `end`. */
export function block(text, start, end) {
  const from = text.indexOf(start);
  if (from < 0) throw new Error(`"${start}" isn't in the source: its layout has changed, and drift must learn it`);
  const to = text.indexOf(`\n${end}`, from);
  return text.slice(from, to < 0 ? undefined : to);
}
