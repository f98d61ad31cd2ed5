// A pattern of a tokenizer.json, with a limit on steps: a text, or a regular expression of Oniguruma.
import { compileOniguruma, type Search, type Steps } from "./matcher.js";
import { parseOniguruma } from "./oniguruma.js";

/** Calls `found` for each match in a text, from its start to its end. As in the Rust library, a text of nothing has none. */
export type EachMatch = (text: string, found: (start: number, end: number) => void) => void;

/** The matches of a text, which may be empty. */
export function matchesOfText(wanted: string): EachMatch {
  if (wanted === "") return matchesOf("", { left: Infinity, longest: Infinity });
  return (text, found) => {
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
      found(at, at + wanted.length);
  };
}

/**
 * The matches of a regular expression. As in the Rust library, none is empty where the last one ends.
 * @throws UnknownSyntax, InvalidPattern
 */
export function matchesOf(source: string, steps: Steps): EachMatch {
  const search: Search = compileOniguruma(parseOniguruma(source), steps);
  return (text, found) => {
    if (text === "") return;
    let last = -1;
    for (let from = 0; from <= text.length;) {
      const match = search(text, from);
      if (match === undefined) return;
      const { start, end } = match;
      if (start === end && end === last) {
        from += from < text.length && text.codePointAt(from)! > 0xffff ? 2 : 1;
        continue;
      }
      from = last = end;
      found(start, end);
    }
  };
}
