// Reads the pattern of a component: a text, or a regular expression.
import { isDict } from "../../base/dict.js";
import type { Options } from "./options.js";

/** The source of a regular expression with the flag u. @throws INVALID_FILE (the part of tokenizer.json) */
export function readPattern(options: Options): string {
  const pattern = options.value("pattern");
  const { Regex: source, String: text } = isDict(pattern) ? pattern : {};
  if (typeof text === "string") return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const wanted = "{ Regex } or { String }";
  if (typeof source !== "string") return options.wrong("pattern", wanted, pattern);
  try {
    new RegExp(source, "u");
  } catch {
    return options.wrong("pattern", wanted, pattern);
  }
  return source;
}
