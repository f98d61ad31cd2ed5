// A schema as a part of another one.
import { isDict } from "../base/dict.js";

/** Keywords whose values are schemas by name. */
const SCHEMAS_BY_NAME = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]);
/** Keywords whose values are data, in which `$ref` is a key like any other. */
const DATA = new Set(["const", "enum", "default", "example", "examples"]);

/** The schema with references that lead to the same places when it lies at `place` in another one, such as `#/items`. */
export function nestedSchema(schema: object, place: string): object {
  const { $id, ...unnamed } = schema as { $id?: unknown };
  const moved = (ref: string): string => {
    const local = typeof $id === "string" && ref.startsWith($id) ? ref.slice($id.length) || "#" : ref;
    return /^#(?:\/|$)/.test(local) ? place + local.slice(1) : ref;
  };
  const part = (value: unknown, isByName: boolean): unknown => {
    if (Array.isArray(value)) return value.map((one) => part(one, false));
    if (!isDict(value)) return value;
    const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
      if (!isByName && DATA.has(key)) return [key, inner];
      if (!isByName && key === "$ref" && typeof inner === "string") return [key, moved(inner)];
      return [key, part(inner, !isByName && SCHEMAS_BY_NAME.has(key))];
    });
    return Object.fromEntries(entries);
  };
  return part(unnamed, false) as object;
}
