// Finds what the references of a schema name: paths, anchors, and parts with an $id of their own.
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { spend } from "../work.js";

/** Where a schema without $id is. */
const NOWHERE = "schema:/root";

/** Keywords whose values are data, not schemas. */
const DATA = new Set(["enum", "const", "default", "examples", "example"]);
/** Keywords whose values are schemas by name. */
const BY_NAME = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/** A schema in which each `$ref` is the key of what it names. */
export interface ResolvedSchema {
  readonly schema: unknown;
  /** The schema of a key. @throws INVALID_ARGUMENT */
  readonly referred: (ref: unknown, path: string) => unknown;
  /** Whether any part has unevaluatedProperties or unevaluatedItems. */
  readonly hasUnevaluated: boolean;
}

/** Follows references inside of a schema. One that leads nowhere is an error only where it is used. */
export function resolveReferences(root: unknown): ResolvedSchema {
  return new Resolver(root).resolved();
}

type Part = Record<string, unknown>;

class Resolver {
  readonly #root: unknown;
  /** In drafts up to 7, keywords beside `$ref` mean nothing. The first of them call `$id` `id`. */
  readonly #isOld: boolean;
  /** Resources and anchors, by their address. */
  readonly #places = new Map<string, Part>();
  readonly #bases = new Map<Part, string>();
  readonly #dynamic = new Map<string, Part[]>();
  readonly #copies = new Map<Part, Part>();
  readonly #keys = new Map<unknown, string>();
  readonly #targets = new Map<string, unknown>();

  constructor(root: unknown) {
    this.#root = root;
    const draft = isDict(root) && typeof root["$schema"] === "string" ? root["$schema"] : "";
    this.#isOld = draft === "" || /draft-0[4-7]/.test(draft);
  }

  resolved(): ResolvedSchema {
    if (isDict(this.#root)) this.#places.set(NOWHERE, this.#root);
    walk(this.#root, NOWHERE, (part, base) => this.#enter(part, base));
    this.#keys.set(this.#root, "#");
    const schema = this.#copied(this.#root);
    this.#targets.set("#", schema);
    return {
      schema,
      hasUnevaluated: [...this.#bases.keys()].some(
        (part) => "unevaluatedProperties" in part || "unevaluatedItems" in part,
      ),
      referred: (ref, path) => {
        const target = this.#targets.get(ref as string);
        if (target instanceof Dangling) fail("INVALID_ARGUMENT", `${path}.$ref`, target.message);
        return target;
      },
    };
  }

  /** Notes the address and the anchors of a part. Returns the address that its references start from. */
  #enter(part: Part, outer: string): string {
    const id = part["$id"] ?? (this.#isOld ? part["id"] : undefined);
    let base = outer;
    if (typeof id === "string" && !(this.#isOld && "$ref" in part)) {
      const address = addressOf(id, outer);
      const [resource = "", anchor = ""] = address?.split("#") ?? [];
      if (id.startsWith("#")) this.#place(`${outer}${id}`, part);
      else if (address !== undefined) {
        base = resource;
        this.#place(base, part);
        if (anchor !== "") this.#place(address, part);
      }
    }
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const anchor = part[keyword];
      if (typeof anchor === "string") this.#place(`${base}#${anchor}`, part);
    }
    for (const keyword of ["$dynamicAnchor", "$recursiveAnchor"])
      if (typeof part[keyword] === "string" || part[keyword] === true) this.#addDynamic(String(part[keyword]), part);
    this.#bases.set(part, base);
    return base;
  }

  #place(address: string, part: Part): void {
    if (!this.#places.has(address)) this.#places.set(address, part);
  }

  #addDynamic(name: string, part: Part): void {
    const parts = this.#dynamic.get(name) ?? [];
    this.#dynamic.set(name, parts);
    parts.push(part);
  }

  /** A copy with the keys of references. Each part has one copy, so that references to it find the same. */
  #copied(value: unknown): unknown {
    spend(5);
    if (Array.isArray(value)) return value.map((item) => this.#copied(item));
    if (!isDict(value)) return value;
    const part = value as Part;
    const known = this.#copies.get(part);
    if (known !== undefined) return known;
    const copy: Part = {};
    this.#copies.set(part, copy);
    for (const [keyword, given] of Object.entries(this.#withoutDynamic(part))) {
      const value =
        keyword === "$ref" && typeof given === "string"
          ? this.#keyOf(given, this.#bases.get(part) ?? NOWHERE)
          : DATA.has(keyword) && this.#bases.has(part)
            ? given
            : this.#copied(given);
      // a property may have the name __proto__
      Object.defineProperty(copy, keyword, { value, enumerable: true, writable: true, configurable: true });
    }
    return copy;
  }

  /** `$dynamicRef` and `$recursiveRef` as `$ref`, where only one part can be meant. */
  #withoutDynamic(part: Part): Part {
    if (!this.#bases.has(part)) return part;
    const { $dynamicRef, $recursiveRef, $recursiveAnchor, ...others } = part;
    const name =
      $recursiveRef === "#" ? "true" : typeof $dynamicRef === "string" ? $dynamicRef.split("#")[1] : undefined;
    const isPlain = (this.#dynamic.get(name ?? "") ?? []).length <= 1;
    const ref = $dynamicRef ?? $recursiveRef;
    if (ref !== undefined && ("$ref" in part || !isPlain)) return part;
    return {
      ...others,
      ...(ref !== undefined && { $ref: ref }),
      ...($recursiveAnchor === true && (this.#dynamic.get("true") ?? []).length > 1 && { $recursiveAnchor }),
    };
  }

  #keyOf(ref: string, base: string): string {
    const target = this.#find(ref, base);
    const identity = target instanceof Dangling ? ref : target;
    const known = this.#keys.get(identity);
    if (known !== undefined) return known;
    const key = `#${this.#keys.size}`;
    this.#keys.set(identity, key);
    this.#targets.set(key, target instanceof Dangling ? target : this.#copied(target));
    return key;
  }

  /** What an address names: a part of this schema. */
  #find(ref: string, base: string): unknown {
    spend(20 + ref.length + base.length);
    const [resource = "", fragment = ""] = (addressOf(ref, base) ?? "").split("#");
    const start = this.#places.get(resource);
    if (start === undefined)
      return new Dangling(`must be a path in the same schema, such as #/$defs/name (got ${show(ref)})`);
    if (fragment !== "" && !fragment.startsWith("/"))
      return (
        this.#places.get(`${resource}#${unescaped(fragment)}`) ?? new Dangling(`leads to nothing (got ${show(ref)})`)
      );
    let found: unknown = start;
    for (const step of fragment.split("/").slice(1)) {
      const key = unescaped(step).replaceAll("~1", "/").replaceAll("~0", "~");
      const isInside = (isDict(found) || Array.isArray(found)) && Object.hasOwn(found, key);
      if (!isInside) return new Dangling(`leads to nothing (got ${show(ref)})`);
      found = (found as Part)[key];
    }
    return found;
  }
}

/** What a reference that leads nowhere says when it is used. */
class Dangling {
  constructor(readonly message: string) {}
}

/** Calls `enter` for each schema with the address that applies around it; it returns the one inside. */
function walk(value: unknown, base: string, enter: (part: Part, base: string) => string): void {
  const open: { value: unknown; base: string; isSchema: boolean }[] = [{ value, base, isSchema: true }];
  const seen = new Set<unknown>();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: given, isSchema } = next;
    spend(2);
    if (typeof given !== "object" || given === null || seen.has(given)) continue;
    seen.add(given);
    if (Array.isArray(given)) {
      for (const item of given as unknown[]) open.push({ value: item, base: next.base, isSchema });
      continue;
    }
    const own = isSchema ? enter(given as Part, next.base) : next.base;
    for (const [keyword, inside] of Object.entries(given))
      if (!isSchema || !DATA.has(keyword))
        open.push({ value: inside, base: own, isSchema: !isSchema || !BY_NAME.has(keyword) });
  }
}

/** The whole address of a reference; undefined if it isn't one. */
function addressOf(ref: string, base: string): string | undefined {
  spend(20 + ref.length + base.length);
  if (ref.startsWith("#") || ref === "") return `${base}${ref}`;
  try {
    return new URL(ref, base).href.replace(/#$/, "");
  } catch {
    return /^[a-z][a-z0-9+.-]*:/i.test(ref) ? ref : undefined;
  }
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // it has a % that isn't an escape
  }
}
