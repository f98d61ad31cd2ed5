// Reads the options of a component of tokenizer.json.
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { isArray } from "../../../core/base/typed_arrays.js";

/** Throws INVALID_FILE for a part of tokenizer.json. */
export function invalid(part: string, message: string): never {
  fail("INVALID_FILE", `tokenizer.json ${part}`.trimEnd(), `${message}; the file is damaged or not a tokenizer.json`);
}

/** Throws UNSUPPORTED_MODEL for a part of tokenizer.json. */
export function unsupported(part: string, message: string): never {
  fail("UNSUPPORTED_MODEL", `tokenizer.json ${part}`, message);
}

/** The options of a component, which it names `part` in errors. Others than those that are asked for are refused by `end`. */
export class Options {
  readonly type: string;
  readonly #known = new Set(["type"]);

  constructor(
    private readonly values: Dict,
    readonly part: string,
  ) {
    const { type } = values;
    this.type = typeof type === "string" ? type : invalid(part, `must have a type (got ${show(type)})`);
  }

  /** Of a value of the file. @throws INVALID_FILE: it isn't an object with a type */
  static of(value: unknown, part: string): Options {
    return new Options(isDict(value) ? value : invalid(part, `must be an object (got ${show(value)})`), part);
  }

  /** A value; undefined for one that is missing or null. */
  value(key: string): unknown {
    this.#known.add(key);
    return this.values[key] ?? undefined;
  }

  /** Without `otherwise`, the option is required. As for the others, a missing one is INVALID_FILE. */
  boolean(key: string, otherwise?: boolean): boolean {
    const value = this.value(key) ?? otherwise;
    return typeof value === "boolean" ? value : this.wrong(key, "true or false", value);
  }

  text(key: string, otherwise?: string): string {
    const value = this.value(key) ?? otherwise;
    return typeof value === "string" ? value : this.wrong(key, "a string", value);
  }

  /** A text of one character. */
  character(key: string, otherwise?: string): string {
    const value = this.text(key, otherwise);
    return Array.from(value).length === 1 ? value : this.wrong(key, "one character", value);
  }

  /** An integer from `least` to `most`. */
  integer(key: string, least: number, most: number, otherwise?: number): number {
    const value = this.value(key) ?? otherwise;
    return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? (value as number)
      : this.wrong(key, `an integer from ${least} to ${most}`, value);
  }

  oneOf<T extends string>(key: string, names: readonly T[], otherwise?: T): T {
    const value = this.value(key) ?? otherwise;
    return names.find((name) => name === value) ?? this.wrong(key, `one of ${names.join(", ")}`, value);
  }

  list(key: string): readonly unknown[] {
    const value = this.value(key);
    return isArray(value) ? value : this.wrong(key, "an array", value);
  }

  wrong(key: string, wanted: string, value: unknown): never {
    return invalid(this.part, `${key} of ${this.type} must be ${wanted} (got ${show(value)})`);
  }

  /** @throws UNSUPPORTED_MODEL: there is an option that nothing asked for */
  end(): void {
    const unknown = Object.keys(this.values).find((key) => !this.#known.has(key));
    if (unknown !== undefined) unsupported(this.part, `${this.type} has the option ${show(unknown)}, which is unknown`);
  }
}
