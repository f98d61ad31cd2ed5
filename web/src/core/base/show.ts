// Values of any type as text for a message.

/** The longest string that a message quotes whole, in UTF-16 code units, and the most elements of an array that it lists. */
const QUOTED = 60;
const LISTED = 8;

/**
 * A value for a message: numbers and names as JavaScript writes them, strings in quotes and cut if they are long, short arrays with their
 * elements, other objects by their kind.
 * @internal
 */
export function show(value: unknown): string {
  if (typeof value !== "object" || value === null) return showPrimitive(value);
  if (ArrayBuffer.isView(value)) return "a typed array";
  return Array.isArray(value) ? showArray(value) : "an object";
}

/** The message of what was thrown, which can be any value. @internal */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : show(thrown);
}

function showPrimitive(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "function" ? "a function" : String(value); // numbers, booleans, null, undefined and symbols
}

function showArray(array: readonly unknown[]): string {
  const listed = array
    .slice(0, LISTED)
    .map((item) => (typeof item === "object" && item !== null ? "…" : showPrimitive(item)));
  return `[${listed.join(", ")}${array.length > LISTED ? ", …" : ""}]`;
}

/** A string in quotes, cut if it is long. @internal */
export function quote(text: string): string {
  return printable(JSON.stringify(text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text));
}

/** Escapes control characters and marks that reverse text: strings of files could change a terminal. Line feeds stay. @internal */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    escaped,
  );
}

/**
 * Escapes the control characters in a text that people write and read, such as a model's answer. Line feeds, tabs and marks of right-to-left
 * scripts stay.
 * @internal
 */
export function printableText(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
