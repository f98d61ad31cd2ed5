import { RopewalkError } from "../base/errors.js";
import type { ModelFiles } from "../files/model_files.js";
import { CLASS_DEFAULTS } from "./class_defaults.js";

/** Where a fact stands: its key in config.json (or several, of which the first that is there counts), and in GGUF without the architecture. */
export type Key = readonly [config: string | readonly string[], gguf: string];

type Dict = Readonly<Record<string, unknown>>;

/**
 * What a model's files say of it, by one set of questions for config.json and GGUF metadata. Every answer is checked; a question without a
 * default must have one.
 * @internal
 */
export class Facts {
  /** Name of the file, for messages. */
  readonly file: string;
  readonly isGguf: boolean;
  /** `model_type`, or `general.architecture`. */
  readonly architecture: string;
  /** What ropeConfig() reads. */
  readonly source: Dict;
  readonly #values: Dict;
  readonly #tensors: ModelFiles["tensors"];
  readonly #prefix: string;

  constructor(files: Pick<ModelFiles, "name" | "kind" | "config" | "metadata" | "tensors">) {
    this.file = files.name;
    this.isGguf = files.kind === "gguf";
    this.#tensors = files.tensors;
    this.source = this.isGguf ? files.metadata : (files.config ?? {});
    const nested = this.source["text_config"]; // of a model that sees or hears too
    const values = this.isGguf || !isDict(nested) ? this.source : nested;
    const key = this.isGguf ? "general.architecture" : "model_type";
    const name = values[key];
    if (typeof name !== "string")
      throw this.error("INVALID_FILE", key, `must name the architecture (got ${String(name)})`);
    this.architecture = name;
    this.#values =
      this.isGguf || !Object.hasOwn(CLASS_DEFAULTS, name) ? values : { ...CLASS_DEFAULTS[name], ...values };
    this.#prefix = this.isGguf ? `${name}.` : "";
  }

  /** The value at a key as it is, and where it was found. */
  at([config, gguf]: Key): { value: unknown; path: string } {
    const names = this.isGguf ? [this.#prefix + gguf] : [config].flat();
    const path = names.find((name) => this.#values[name] !== undefined && this.#values[name] !== null) ?? names[0]!;
    return { value: this.#values[path] ?? undefined, path };
  }

  hasTensor(name: string): boolean {
    return this.#tensors.has(name);
  }

  /** A whole number from `least` to `most`. */
  integer(key: Key, otherwise?: number, least = 1, most = 2 ** 31 - 1): number {
    const { value, path } = this.at(key);
    if (value === undefined && otherwise !== undefined) return otherwise;
    // some files give a number for each layer; where all are the same, that is the model's
    const one: unknown =
      Array.isArray(value) && value.length > 0 && value.every((entry) => entry === value[0]) ? value[0] : value;
    if (!Number.isInteger(one) || (one as number) < least || (one as number) > most) {
      throw this.error("INVALID_FILE", path, `must be an integer from ${least} to ${most} (got ${String(value)})`);
    }
    return one as number;
  }

  number(key: Key, otherwise?: number): number {
    const { value, path } = this.at(key);
    if (value === undefined && otherwise !== undefined) return otherwise;
    if (!Number.isFinite(value))
      throw this.error("INVALID_FILE", path, `must be a finite number (got ${String(value)})`);
    return value as number;
  }

  flag(key: Key, otherwise: boolean): boolean {
    const { value, path } = this.at(key);
    if (value === undefined) return otherwise;
    if (typeof value !== "boolean")
      throw this.error("INVALID_FILE", path, `must be true or false (got ${String(value)})`);
    return value;
  }

  text(key: Key): string | undefined {
    const { value, path } = this.at(key);
    if (value !== undefined && typeof value !== "string")
      throw this.error("INVALID_FILE", path, `must be a string (got ${String(value)})`);
    return value;
  }

  list(key: Key): readonly unknown[] | undefined {
    const { value } = this.at(key);
    return Array.isArray(value) ? (value as unknown[]) : undefined;
  }

  error(code: "INVALID_FILE" | "UNSUPPORTED_MODEL", field: string, message: string): RopewalkError {
    return new RopewalkError(code, `${this.file}: ${field}`, message);
  }
}

function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
