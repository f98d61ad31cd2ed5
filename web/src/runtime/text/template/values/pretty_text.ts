// Writes values as Python's pprint does, if they fit in a line.
import { compare } from "./comparisons.js";
import { repr } from "./python_text.js";
import { lengthOf, typeName } from "./types.js";
import { Dict, stringOf, Tuple, type Value } from "./values.js";

const LINE = 79;

/** @throws TypeError: it is longer than a line, which Python would cut */
export function prettyText(value: Value): string {
  const text = sorted(value);
  const isCut = typeof value === "string" || value instanceof Dict || ["list", "tuple"].includes(typeName(value));
  if (isCut && lengthOf(text) > LINE && /\s/.test(stringOf(value) ?? " "))
    throw new TypeError(`pprint of a value whose text is longer than ${LINE} characters is not supported`);
  return text;
}

/** The value's repr(), with the keys of dictionaries in order. */
function sorted(value: Value): string {
  if (value instanceof Dict) {
    const entries = value.entries().sort(([a], [b]) => order(a, b));
    return `{${entries.map(([key, item]) => `${sorted(key)}: ${sorted(item)}`).join(", ")}}`;
  }
  if (value instanceof Tuple)
    return value.length === 1 ? `(${sorted(value[0]!)},)` : `(${Array.from(value, sorted).join(", ")})`;
  return Array.isArray(value) && typeName(value) === "list" ? `[${value.map(sorted).join(", ")}]` : repr(value);
}

function order(a: Value, b: Value): number {
  try {
    return compare(a, b);
  } catch (cause) {
    throw new TypeError("pprint of a dictionary whose keys have no order is not supported", { cause });
  }
}
