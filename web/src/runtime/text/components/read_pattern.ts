// Reads the pattern of a component: a text, or a regular expression.
import { isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import { type EachMatch, matchesOf, matchesOfText } from "../pattern/limited_pattern.js";
import type { Steps } from "../pattern/matcher.js";
import { InvalidPattern } from "../pattern/oniguruma.js";
import { UnknownSyntax } from "../pattern/parse.js";
import { type Options, unsupported } from "./options.js";

/** The matches of a component's pattern. @throws INVALID_FILE, UNSUPPORTED_MODEL (the part of tokenizer.json) */
export function readPattern(options: Options, steps: Steps): EachMatch {
  const pattern = options.value("pattern");
  const { Regex: source, String: text } = isDict(pattern) ? pattern : {};
  const keys = isDict(pattern) ? Object.keys(pattern).length : 0;
  if (typeof text === "string" && keys === 1) return matchesOfText(text);
  if (typeof source !== "string" || keys !== 1) return options.wrong("pattern", "{ Regex } or { String }", pattern);
  try {
    return matchesOf(source, steps);
  } catch (error) {
    if (error instanceof InvalidPattern)
      return options.wrong("pattern", `a regular expression, but ${error.message}`, pattern);
    if (error instanceof UnknownSyntax)
      return unsupported(
        options.part,
        `${options.type} has the pattern ${show(source)}, which is not supported: ${error.message}`,
      );
    throw error;
  }
}
