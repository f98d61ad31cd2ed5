// What the readers of calls need to know of the tools: their names, and what each parameter may be.
import { isDict } from "../../../core/base/dict.js";
import { argumentsSchema, type Tool } from "../tool.js";
import { type JsonType, propertySchemas, valueTypes } from "./schema_types.js";

export class CalledTools {
  readonly #schemas: ReadonlyMap<string, object>;
  /** Names, the longest first. */
  readonly names: readonly string[];

  constructor(tools: readonly Tool[]) {
    this.#schemas = new Map(tools.map((tool) => [tool.function.name, argumentsSchema(tool)]));
    this.names = longestFirst([...this.#schemas.keys()]);
  }

  has(name: string): boolean {
    return this.#schemas.has(name);
  }

  /** The parameters that the schema names, the longest first. */
  keysOf(name: string): readonly string[] {
    const schema = this.#schemas.get(name);
    const { properties } = (schema ?? {}) as { properties?: unknown };
    return longestFirst(isDict(properties) ? Object.keys(properties) : []);
  }

  /** The types that the value of a parameter may have. */
  typesOf(name: string, key: string): ReadonlySet<JsonType> {
    const schema = this.#schemas.get(name) ?? {};
    return valueTypes(propertySchemas(schema, key), schema);
  }
}

function longestFirst(names: readonly string[]): string[] {
  return [...names].sort((a, b) => b.length - a.length);
}
