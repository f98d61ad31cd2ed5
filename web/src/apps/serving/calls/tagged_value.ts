// The values of arguments between tags, where texts have no quotes: the schema says what they are.
import { parsed } from "./json_stream.js";
import { pythonValue } from "./python_literal.js";
import { type JsonType, typeOf } from "./schema_types.js";

/** Literals that models write as Python or as JSON does, in any case. */
const LITERALS: readonly (readonly [type: JsonType, written: RegExp, value: string])[] = [
  ["boolean", /^true$/i, "true"],
  ["boolean", /^false$/i, "false"],
  ["null", /^(?:null|none)$/i, "null"],
];

/**
 * The JSON of a value. A parameter that may be a string is text, unless it may also be what the text is as JSON. Numbers, lists and
 * objects stay as they are written. Text that has none of the types is a string, so that nothing is lost.
 */
export function taggedValue(text: string, types: ReadonlySet<JsonType>): string {
  if (types.has("string")) {
    const value = types.size === 1 ? undefined : parsed(text);
    const isOther = value !== undefined && typeof value !== "string" && types.has(typeOf(value));
    return isOther ? text : JSON.stringify(text);
  }
  const trimmed = text.trim();
  const literal = LITERALS.find(([type, written]) => types.has(type) && written.test(trimmed));
  if (literal !== undefined) return literal[2];
  if (parsed(trimmed) !== undefined) return trimmed;
  return pythonValue(trimmed) ?? JSON.stringify(text);
}
