// Escapes text for HTML.
import { toText } from "./values/python_text.js";
import { Markup, type Value } from "./values/values.js";

const NAMES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;",
};

/** The text of a value, escaped unless it is safe. */
export function escapeText(value: Value): string {
  return value instanceof Markup ? value.text : toText(value).replace(/[&<>'"]/g, (character) => NAMES[character]!);
}
