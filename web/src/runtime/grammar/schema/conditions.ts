// Keywords about some values only, as schemas with anyOf and allOf: if, dependentRequired, dependentSchemas, dependencies,
// contains. What they allow may be less than the keyword does, as said at each.
import type { Dict } from "../../../core/base/dict.js";
import { listOf } from "../../../core/base/lists.js";
import { lengthOf } from "./strings.js";
import { failTooLarge } from "../work.js";

/** The most elements, in all their positions together, that contains and prefixItems may have. */
const MAX_PLACED = 5000;

/** Schemas that hold together instead of the conditions. @throws INVALID_ARGUMENT @internal */
export function conditionsOf(schema: Dict, path: string): unknown[] {
  const { if: condition, then = true, else: otherwise = true } = schema;
  const isUsed = condition !== undefined && (then !== true || otherwise !== true);
  return [
    ...(isUsed ? [{ anyOf: [{ allOf: [condition, then] }, { allOf: [{ not: condition }, otherwise] }] }] : []),
    ...["dependentRequired", "dependentSchemas", "dependencies"].flatMap((keyword) => dependent(schema, keyword, path)),
    ...contained(schema, path),
  ];
}

/** If a property is present, others are required, or another schema holds. */
function dependent(schema: Dict, keyword: string, path: string): Dict[] {
  return Object.entries((schema[keyword] ?? {}) as Dict).map(([name, needed]) => ({
    anyOf: [
      { properties: { [name]: false } },
      Array.isArray(needed)
        ? { required: [name, ...listOf(needed, `${path}.${keyword}.${name}`, "a list of names")] }
        : { allOf: [{ required: [name] }, needed] },
    ],
  }));
}

/** Matching elements are adjacent, right after the prefix of the array or in it. */
function contained(schema: Dict, path: string): Dict[] {
  const { contains, prefixItems } = schema;
  if (contains === undefined) return [];
  const least = lengthOf(schema["minContains"], 1);
  const most = lengthOf(schema["maxContains"], Infinity);
  if (least === 0 && most === Infinity) return [];
  const prefix = Array.isArray(prefixItems) ? prefixItems.length : 0;
  const others = most === Infinity ? true : { not: contains };
  const after = most === Infinity ? {} : { items: others };
  if (least > most) return [{ enum: [] }];
  if ((prefix + 1) * (prefix + least) > MAX_PLACED)
    failTooLarge(
      `${path}.${least > prefix ? "minContains" : "prefixItems"}`,
      "use smaller limits, or check the result",
    );
  const placed = (first: number): Dict => ({
    ...after,
    minItems: first + least,
    prefixItems: [...Array<unknown>(first).fill(others), ...Array<unknown>(least).fill(contains)],
  });
  if (least === 0) return [{ ...after, prefixItems: Array<unknown>(prefix).fill(others) }];
  return [{ anyOf: Array.from({ length: prefix + 1 }, (_, first) => placed(first)) }];
}
