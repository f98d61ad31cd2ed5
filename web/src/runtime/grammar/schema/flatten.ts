// Resolves what combines schemas ($ref, allOf, anyOf, oneOf) into alternatives without it.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { isDict, type Dict } from "../../../core/base/dict.js";
import { failTooLarge, spend } from "../work.js";
import { conditionsOf } from "./conditions.js";
import { checkDisjoint } from "./disjoint.js";
import { mergeSchemas } from "./merge.js";
import { excludedStrings, negated, withJoinedExclusions } from "./negate.js";
import { CONDITIONS, readSchema, type Schema } from "./nodes.js";
import type { ResolvedSchema } from "./references.js";

/** The most alternatives that a schema may have after its parts are combined. */
const MAX_ALTERNATIVES = 500;

/** The alternatives of schemas, in which only keywords about values are left. @internal */
export class Flattener {
  /** Whether some values that are allowed were left out, because of not and conditions. */
  hasLeftOut = false;

  /**
   * @param referred - the schema that a key of `$ref` names
   * @param hasUnevaluated - whether any part has unevaluatedProperties or unevaluatedItems
   */
  constructor(
    readonly referred: ResolvedSchema["referred"],
    private readonly hasUnevaluated: boolean,
  ) {}

  /**
   * The alternatives: none if nothing is allowed, an empty object where everything is.
   * @throws INVALID_ARGUMENT
   */
  alternatives(given: unknown, path: string, refs: readonly unknown[] = []): Dict[] {
    const schema = readSchema(given, path);
    spend(30 + refs.length, path);
    if (typeof schema === "boolean") return schema ? [{}] : [];
    const { $ref, allOf, anyOf, oneOf, not, unevaluatedProperties, unevaluatedItems, ...others } = schema;
    const own = Object.fromEntries(Object.entries(others).filter(([keyword]) => !isCondition(keyword)));
    const parts: Dict[][] = [[own]];
    this.#checkUnevaluated(schema, path);
    for (const condition of conditionsOf(schema, path)) {
      this.hasLeftOut = true;
      parts.push(this.alternatives(condition, path, refs));
    }
    if (not !== undefined) parts.push(this.#negated(not, path, refs));
    if ($ref !== undefined) {
      if (refs.includes($ref)) fail("INVALID_ARGUMENT", `${path}.$ref`, "refers to itself with no value in between");
      parts.push(this.alternatives(this.referred($ref, path), path, [...refs, $ref]));
    }
    for (const [keyword, options] of Object.entries({ allOf, anyOf, oneOf })) {
      if (options === undefined) continue;
      const field = `${path}.${keyword}`;
      const each = (options as unknown[]).map((option, i) => this.alternatives(option, `${field}[${i}]`, refs));
      if (keyword === "oneOf") checkDisjoint(each, this.#remembered(field), field);
      if (keyword === "allOf") for (const part of each) parts.push(part);
      else parts.push(each.flat());
    }
    const combined = this.#together(parts, path);
    // unevaluated* becomes additionalProperties or items where no part sets them.
    return combined.map((one) => ({
      ...one,
      ...(unevaluatedProperties !== undefined && {
        additionalProperties: one["additionalProperties"] ?? unevaluatedProperties,
      }),
      ...(unevaluatedItems !== undefined && { items: one["items"] ?? unevaluatedItems }),
    }));
  }

  /** The alternatives of properties, which are compared with those of all other options. */
  #remembered(path: string): (schema: unknown) => readonly Dict[] {
    const known = new Map<unknown, Dict[]>();
    return (schema) => {
      const found = known.get(schema) ?? this.alternatives(schema, path);
      known.set(schema, found);
      return found;
    };
  }

  /** The alternatives of what a schema doesn't allow. */
  #negated(given: unknown, path: string, refs: readonly unknown[]): Dict[] {
    this.hasLeftOut = true;
    const field = `${path}.not`;
    const schema = readSchema(given, field);
    if (isDict(schema) && Object.keys(schema).length === 1 && "not" in schema)
      return this.alternatives(schema["not"], `${field}.not`, refs);
    const strings = excludedStrings(schema);
    if (strings !== undefined) return negated({ enum: strings }, field);
    const keyword = isDict(schema)
      ? Object.keys(schema).find((name) => name === "not" || isCondition(name))
      : undefined;
    if (keyword !== undefined || (isDict(schema) && "oneOf" in schema))
      fail(
        "INVALID_ARGUMENT",
        `${field}.${keyword ?? "oneOf"}`,
        "can't be used inside of not",
        advise.other("write what is allowed instead"),
      );
    const all = this.alternatives(schema, field, refs);
    if (all.some((one) => Object.keys(one).length === 0)) return [];
    return this.#together(
      all.map((one) => {
        const without = negated(one, field).flatMap((other) => this.alternatives(other, field, refs));
        if (without.length > 0) return without;
        fail(
          "INVALID_ARGUMENT",
          field,
          `can't be followed for ${Object.keys(one).join(", ")}`,
          advise.other("write what is allowed instead"),
        );
      }),
      path,
    );
  }

  /** What no part evaluates can't be told from a schema that was rewritten. */
  #checkUnevaluated(schema: Dict, path: string): void {
    const keyword = Object.keys(schema).find((name) => name === "not" || isCondition(name));
    if (keyword === undefined || !this.hasUnevaluated) return;
    fail(
      "INVALID_ARGUMENT",
      `${path}.${keyword}`,
      "can't be used in a schema with unevaluatedProperties or unevaluatedItems",
      advise.other("use anyOf with one schema for each case"),
    );
  }

  /** The alternatives of what meets all parts. Parts of one alternative, however many, are merged at once. */
  #together(parts: readonly (readonly Dict[])[], path: string): Dict[] {
    let whole: readonly Dict[] = [{}];
    let single: Dict[] = [];
    const merge = (): void => {
      whole = this.#product(whole, [single], path);
      single = [];
    };
    for (const part of withJoinedExclusions(parts)) {
      if (part.length === 1) single.push(part[0]!);
      else {
        merge();
        whole = this.#product(whole, part.map((one) => [one]), path); // prettier-ignore
      }
    }
    merge();
    return [...whole];
  }

  /** Each alternative of one combined with each of the other, which are lists of schemas to merge. */
  #product(one: readonly Dict[], other: readonly (readonly Dict[])[], path: string): Dict[] {
    if (one.length * other.length > MAX_ALTERNATIVES)
      failTooLarge(path, "use fewer anyOf together", `: it has more than ${MAX_ALTERNATIVES} alternatives`);
    return one.flatMap((a) => other.flatMap((b) => mergeSchemas([a, ...b], path)));
  }
}

function isCondition(keyword: string): boolean {
  return (CONDITIONS as readonly string[]).includes(keyword);
}

/** Whether a schema only refers to another, or only lists alternatives. @internal */
export function onlyKeyword(schema: Schema, keyword: "$ref" | "anyOf" | "oneOf"): boolean {
  return isDict(schema) && Object.keys(schema).length === 1 && keyword in schema;
}
