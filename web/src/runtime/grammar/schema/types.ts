// The types of values that a schema allows.
import type { Dict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { type JsonType, KEYWORDS_OF_TYPE, TYPES } from "./nodes.js";

/**
 * The types in `type`; all of them without it. A number may be an integer, so both are listed.
 * @throws INVALID_ARGUMENT
 */
export function typesOf(type: unknown, path: string): JsonType[] {
  if (type === undefined) return [...TYPES];
  const names = (Array.isArray(type) ? type : [type]) as unknown[];
  const wrong = names.find((name) => !TYPES.includes(name as JsonType));
  if (wrong !== undefined || names.length === 0)
    fail(
      "INVALID_ARGUMENT",
      `${path}.type`,
      `must be one or more of ${TYPES.join(", ")} (got ${show(wrong ?? names)})`,
    );
  const types = new Set(names as JsonType[]);
  if (types.has("number")) types.add("integer");
  return [...types];
}

/**
 * The types that a text may have. Without `type`, those that other keywords speak about: a schema with `properties` alone
 * allows numbers too, but nobody means them.
 */
export function chosenTypes(schema: Dict, path: string): JsonType[] {
  const types = typesOf(schema["type"], path);
  if (schema["type"] !== undefined) return types;
  const spoken = Object.entries(KEYWORDS_OF_TYPE).filter(([, keywords]) => keywords.some((key) => key in schema));
  const names = spoken.flatMap(([name]) => (name === "number" ? ["number", "integer"] : [name]));
  return names.length === 0 ? types : (names as JsonType[]);
}
