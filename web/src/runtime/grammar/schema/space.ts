// The space between the parts of JSON: none, a space, or a new line with its indent.
import { choice, EMPTY, repeat, rule, sequence, set, text } from "../expression.js";

/** The longest indent. A model that never stopped writing space would never end. */
const LONGEST_INDENT = 24;

/** The rule {@link SPACE}. */
export const SPACE_RULE = choice(
  EMPTY,
  text(" "),
  sequence(text("\n"), repeat(set([[0x20, 0x20]]), 0, LONGEST_INDENT)),
  sequence(text("\n"), repeat(set([[0x09, 0x09]]), 1, LONGEST_INDENT / 2)),
);
export const SPACE = rule("space");

/** A comma, and the space after it. */
export const COMMA = sequence(text(","), SPACE);
