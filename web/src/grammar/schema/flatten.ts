// Resolves what combines schemas ($ref, allOf, anyOf, oneOf) into alternatives without it.
import { fail } from "../../base/errors.js";
import { isDict, type Dict } from "../../base/dict.js";
import { listOf } from "../../base/lists.js";
import { checkDisjoint } from "./disjoint.js";
import { mergeSchemas } from "./merge.js";
import { readSchema, referredSchema, type Schema } from "./nodes.js";

/** The most alternatives that a schema may have after its parts are combined. */
const MOST_ALTERNATIVES = 500;

/** The alternatives of schemas, in which only keywords about values are left. @internal */
export class Flattener {
  readonly #root: Schema;

  constructor(root: Schema) {
    this.#root = root;
  }

  /** The schema that `$ref` names. */
  referred(ref: unknown, path: string): unknown {
    return referredSchema(this.#root, ref, path);
  }

  /**
   * The alternatives: none if nothing is allowed, an empty object where everything is.
   * @throws INVALID_ARGUMENT
   */
  alternatives(given: unknown, path: string, refs: readonly unknown[] = []): Dict[] {
    const schema = readSchema(given, path);
    if (typeof schema === "boolean") return schema ? [{}] : [];
    const { $ref, allOf, anyOf, oneOf, unevaluatedProperties, unevaluatedItems, ...own } = schema;
    const parts: Dict[][] = [[own]];
    if ($ref !== undefined) {
      if (refs.includes($ref)) fail("INVALID_ARGUMENT", `${path}.$ref`, "refers to itself with no value in between");
      parts.push(this.alternatives(this.referred($ref, path), path, [...refs, $ref]));
    }
    for (const [keyword, options] of Object.entries({ allOf, anyOf, oneOf })) {
      if (options === undefined) continue;
      const field = `${path}.${keyword}`;
      const each = listOf(options, field, "a list of schemas").map((option, i) =>
        this.alternatives(option, `${field}[${i}]`, refs),
      );
      if (keyword === "oneOf") checkDisjoint(each, (property) => this.alternatives(property, field), field);
      if (keyword === "allOf") parts.push(...each);
      else parts.push(each.flat());
    }
    const combined = parts.reduce((whole, part) => this.#product(whole, part, path));
    // What no part of this schema speaks about. From outside, it is what this schema says about all others.
    return combined.map((one) => ({
      ...one,
      ...(unevaluatedProperties !== undefined && {
        additionalProperties: one["additionalProperties"] ?? unevaluatedProperties,
      }),
      ...(unevaluatedItems !== undefined && { items: one["items"] ?? unevaluatedItems }),
    }));
  }

  /** Each alternative of one combined with each of the other. */
  #product(one: readonly Dict[], other: readonly Dict[], path: string): Dict[] {
    if (one.length * other.length > MOST_ALTERNATIVES)
      fail("INVALID_ARGUMENT", path, `has more than ${MOST_ALTERNATIVES} alternatives; use fewer anyOf together`);
    return one.flatMap((a) => other.flatMap((b) => mergeSchemas(a, b, path)));
  }
}

/** Whether a schema only refers to another, or only lists alternatives. @internal */
export function onlyKeyword(schema: Schema, keyword: "$ref" | "anyOf" | "oneOf"): boolean {
  return isDict(schema) && Object.keys(schema).length === 1 && keyword in schema;
}
