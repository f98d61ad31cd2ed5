// The texts of JSON arrays.
import type { Dict } from "../../base/dict.js";
import { fail } from "../../base/errors.js";
import { listOf } from "../../base/lists.js";
import { choice, EMPTY, type Expression, isNothing, NOTHING, optional, repeat, sequence, text } from "../expression.js";
import { COMMA, SPACE } from "./space.js";
import { lengthOf } from "./strings.js";

/** The texts of a schema. */
export type Convert = (schema: unknown, path: string) => Expression;

/** @throws INVALID_ARGUMENT: `uniqueItems`, which a grammar can't follow */
export function arrayExpression(schema: Dict, path: string, convert: Convert): Expression {
  const prefix = listOf(schema["prefixItems"] ?? [], `${path}.prefixItems`, "a list of schemas");
  const least = lengthOf(schema["minItems"], 0, `${path}.minItems`);
  const given = lengthOf(schema["maxItems"], Infinity, `${path}.maxItems`);
  const most = schema["items"] === false ? Math.min(given, prefix.length) : given;
  if (schema["uniqueItems"] !== undefined && most > 1)
    fail(
      "INVALID_ARGUMENT",
      `${path}.uniqueItems`,
      "can't be followed while text is generated; check the result instead",
    );
  const first = prefix.slice(0, most).map((item, i) => convert(item, `${path}.prefixItems[${i}]`));
  const item = most > prefix.length ? convert(schema["items"] ?? true, `${path}.items`) : NOTHING;
  return sequence(text("["), SPACE, elements(first, item, least, most), SPACE, text("]"));
}

/** Elements with commas between them. */
function elements(first: readonly Expression[], item: Expression, least: number, most: number): Expression {
  const [head, ...others] = first;
  if (head === undefined) {
    if (isNothing(item) || most === 0) return least === 0 ? EMPTY : NOTHING;
    const all = sequence(item, repeat(sequence(COMMA, item), Math.max(0, least - 1), most - 1));
    return least === 0 ? optional(all) : all;
  }
  // From the last element to the first: an array may end where it has enough elements.
  let rest = repeat(sequence(COMMA, item), Math.max(0, least - first.length), most - first.length);
  if (isNothing(item)) rest = least <= first.length ? EMPTY : NOTHING;
  for (let i = others.length - 1; i >= 0; i--) {
    const more = sequence(COMMA, others[i]!, rest);
    rest = i + 1 >= least ? choice(EMPTY, more) : more;
  }
  const all = sequence(head, rest);
  return least === 0 ? choice(EMPTY, all) : all;
}
