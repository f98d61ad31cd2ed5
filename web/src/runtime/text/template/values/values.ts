// Values of a running template. They behave as Python's do.
import { Float, type Integer } from "./numbers.js";

/** What a name, key or attribute that doesn't exist stands for. Most uses of it are errors. */
export class Undefined {
  constructor(readonly reason: string) {}
}

/** Text that is safe in HTML. Adding other text to it escapes that text. */
export class Markup {
  constructor(readonly text: string) {}
}

export class Tuple extends Array<Value> {
  /** What its methods make are lists. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  /** Names of the items, if they have names. */
  names?: readonly string[];
}

/** What `range()` returns. */
export class Range extends Array<Value> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  start = 0;
  stop = 0;
  step = 1;
}

/** What filters such as `map` and `select` return. Its items are made when they are read, and can be read once. */
export class Generator {
  constructor(
    readonly items: Iterator<Value>,
    readonly kind = "generator",
  ) {}
}

/** Keys, values or items of a dictionary. */
export class View {
  constructor(
    readonly kind: "dict_keys" | "dict_values" | "dict_items",
    readonly items: Value[],
  ) {}
}

export class Namespace {
  constructor(readonly attributes: Dict) {}
}

export type Arguments = readonly Value[];
export type Keywords = ReadonlyMap<string, Value>;

type Call = (args: Arguments, keywords: Keywords) => Value;

/** An object of Jinja or a function, with its attributes. */
export class Instance {
  constructor(
    readonly type: string,
    readonly parts: {
      readonly attribute?: (name: string) => Value | undefined;
      readonly call?: Call;
      /** What Python's str() gives. Without it, that has an address in memory. */
      readonly text?: () => string;
    },
  ) {}
}

export function callable(call: Call): Instance {
  return new Instance("function", { call });
}

/** `number` and `bigint` are Python's integers ({@link Integer}), and null is its None. */
export type Value =
  | string
  | Integer
  | boolean
  | null
  | Float
  | Undefined
  | Markup
  | Generator
  | View
  | Namespace
  | Instance
  | Value[]
  | Dict;

/** The first value that isn't missing; `??` would also skip None. */
export function firstOf<Last extends Value | undefined>(...options: [...(Value | undefined)[], Last]): Value | Last {
  return options.find((option) => option !== undefined) as Value | Last;
}

export function tuple(items: Iterable<Value>): Tuple {
  const made = new Tuple();
  for (const item of items) made.push(item);
  return made;
}

/** The text of a string; undefined for other values. */
export function stringOf(value: Value | undefined): string | undefined {
  return typeof value === "string" ? value : value instanceof Markup ? value.text : undefined;
}

export function undefinedError(value: Undefined): Error {
  return new Error(value.reason);
}

/** A dictionary in the order of its insertions. 1, 1.0 and True are the same key, and tuples can be keys. */
export class Dict {
  readonly #entries = new Map<unknown, readonly [Value, Value]>();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** @throws TypeError: the key can't be hashed */
  get(key: Value): Value | undefined {
    return this.#entries.get(hashOf(key))?.[1];
  }

  has(key: Value): boolean {
    return this.#entries.has(hashOf(key));
  }

  /** Sets a value. An equal key that is there stays as it is. */
  set(key: Value, value: Value): void {
    const hash = hashOf(key);
    this.#entries.set(hash, [this.#entries.get(hash)?.[0] ?? key, value]);
  }

  delete(key: Value): void {
    this.#entries.delete(hashOf(key));
  }

  keys(): Value[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }

  values(): Value[] {
    return Array.from(this.#entries.values(), ([, value]) => value);
  }

  entries(): (readonly [Value, Value])[] {
    return Array.from(this.#entries.values());
  }
}

/** The same for values that Python's dict takes for the same key. @throws TypeError */
export function hashOf(value: Value): unknown {
  if (typeof value === "string") return value.startsWith("\0") ? `\0s${value}` : value;
  if (value instanceof Markup) return hashOf(value.text);
  if (typeof value === "boolean") return Number(value);
  if (value instanceof Float) {
    const { value: number } = value;
    if (Number.isNaN(number)) return value;
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number;
  }
  if (value instanceof Tuple) return `\0t${Array.from(value, partOfHash).join("")}`;
  if (value instanceof Undefined) return Undefined;
  if (typeof value !== "object" || value === null || value instanceof Instance || value instanceof Namespace)
    return value;
  throw new TypeError(
    `unhashable type: '${Array.isArray(value) ? "list" : value instanceof Dict ? "dict" : "object"}'`,
  );
}

function partOfHash(value: Value): string {
  const hash = hashOf(value);
  if (typeof hash === "object" && hash !== null) throw new TypeError("a tuple that holds this can't be a key");
  const text = String(hash);
  return `${typeof hash},${text.length},${text}`;
}
