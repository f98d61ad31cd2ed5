// Reads a model's config.json or GGUF metadata through one set of keys, with every value checked.
import { type Dict, isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import { fail, type RopewalkErrorOptions } from "../../../core/base/errors.js";
import { fieldOf } from "../../files/errors.js";
import type { ModelFiles } from "../../files/model_files.js";
import { CLASS_ALIASES } from "./class_aliases.js";
import { CLASS_DEFAULTS } from "./class_defaults.js";
import { MAX_LAYERS } from "./limits.js";

/**
 * A key in config.json (or several, of which the first present one counts), and in GGUF without the architecture
 * prefix.
 */
export type ConfigKey = readonly [config: string | readonly string[], gguf: string];

/**
 * Reads values from config.json or GGUF metadata. A value of the wrong type, or a missing value without a fallback,
 * throws INVALID_FILE.
 * @internal
 */
export class ConfigReader {
  /** Name of the file, for messages. */
  readonly file: string;
  readonly isGguf: boolean;
  /** `model_type`, or `general.architecture`. */
  readonly architecture: string;
  /** The whole config.json or metadata, as ropeConfig() takes it, with the sizes that a config.json leaves out. */
  readonly source: Dict;
  readonly #values: Dict;
  /** What the class of transformers has for keys that config.json leaves out. */
  readonly #defaults: Dict;
  readonly #tensors: ModelFiles["tensors"];
  readonly #prefix: string;

  constructor(files: Pick<ModelFiles, "name" | "kind" | "config" | "metadata" | "tensors">) {
    this.file = files.name;
    this.isGguf = files.kind === "gguf";
    this.#tensors = files.tensors;
    this.source = this.isGguf ? files.metadata : (files.config ?? {});
    const nested = this.source["text_config"]; // multimodal models
    const values = this.isGguf || !isDict(nested) ? this.source : nested;
    const key = this.isGguf ? "general.architecture" : "model_type";
    const name = values[key];
    if (typeof name !== "string") this.refuse("INVALID_FILE", key, `must name the architecture (got ${show(name)})`);
    this.architecture = name;
    this.#defaults = (this.isGguf ? undefined : rowOf(CLASS_DEFAULTS, name)) ?? {};
    const aliases = (this.isGguf ? undefined : rowOf(CLASS_ALIASES, name)) ?? {};
    this.#values = withoutAliases(values, aliases);
    this.#prefix = this.isGguf ? `${name}.` : "";
    if (this.isGguf) return;
    const complete = { ...values, ...sizesOf({ ...(hasOwnNames(values) ? {} : this.#defaults), ...this.#values }) };
    this.source = values === nested ? { ...this.source, text_config: complete } : complete;
  }

  /**
   * The unchecked value of a key, and the path where it was found. A key that the file leaves out has the default of its class in
   * transformers. A null is none.
   */
  find([config, gguf]: ConfigKey): { value: unknown; path: string } {
    const written = this.isGguf ? [gguf].map((key) => key && this.#prefix + key) : [config].flat();
    const names = written.filter(Boolean); // "" stands for no key, and files may have one of that name
    const present = names.filter((name) => Object.hasOwn(this.#values, name) && this.#values[name] !== undefined);
    const path = present.find((name) => this.#values[name] !== null) ?? present[0];
    if (path !== undefined) return { value: this.#values[path] ?? undefined, path };
    const name = names.find((key) => Object.hasOwn(this.#defaults, key)) ?? names[0] ?? "";
    return { value: Object.hasOwn(this.#defaults, name) ? this.#defaults[name] : undefined, path: name };
  }

  /** Whether config.json has a key and says null, which isn't the default of its class. */
  isNull([config]: ConfigKey): boolean {
    const names = [config].flat().filter(Boolean);
    return (
      !this.isGguf &&
      names.every((name) => this.#values[name] == null) &&
      names.some((name) => this.#values[name] === null)
    );
  }

  /** Whether config.json has a key, null included. */
  has(key: ConfigKey): boolean {
    return this.find(key).value !== undefined || this.isNull(key);
  }

  hasTensor(name: string): boolean {
    return this.#tensors.has(name);
  }

  /** Rows of a tensor; 0 if there is none. */
  rowsOfTensor(name: string): number {
    const [rows, ...others] = this.#tensors.get(name)?.shape ?? [0];
    return others.length === 0 ? 0 : rows!;
  }

  /** Rows of the first tensor whose name matches; 0 if there is none. */
  rowsOf(name: RegExp): number {
    const found = [...this.#tensors.values()].find((tensor) => name.test(tensor.name));
    return found?.shape.slice(0, -1).reduce((product, extent) => product * extent, 1) ?? 0;
  }

  /** An integer from `min` to `max`. So is the fallback, which may be computed from other values. */
  integer(key: ConfigKey, fallback?: number, min = 1, max = 2 ** 31 - 1): number {
    const { value = fallback, path } = this.find(key);
    // some files have a number for each layer, 0 for recurrent ones; accepted if the others are equal
    const given = Array.isArray(value) ? value.filter((entry) => entry !== 0) : [];
    const single: unknown = given.length > 0 && given.every((entry) => entry === given[0]) ? given[0] : value;
    if (!Number.isInteger(single) || (single as number) < min || (single as number) > max) {
      this.refuse("INVALID_FILE", path, `must be an integer from ${min} to ${max} (got ${show(value)})`);
    }
    return single as number;
  }

  number(key: ConfigKey, fallback?: number): number {
    const { value, path } = this.find(key);
    if (value === undefined && fallback !== undefined) return fallback;
    if (!Number.isFinite(value)) this.refuse("INVALID_FILE", path, `must be a finite number (got ${show(value)})`);
    return value as number;
  }

  boolean(key: ConfigKey, fallback: boolean): boolean {
    const { value, path } = this.find(key);
    if (value === undefined) return fallback && !this.isNull(key); // Python's None is false
    if (typeof value !== "boolean") this.refuse("INVALID_FILE", path, `must be true or false (got ${show(value)})`);
    return value;
  }

  /** A list with a value for each layer, or for some of them. Undefined if there is none, or one number for all. */
  list(key: ConfigKey): readonly unknown[] | undefined {
    const { value, path } = this.find(key);
    if (!Array.isArray(value)) {
      const isOther = !this.isGguf && value !== undefined && typeof value !== "number";
      if (isOther) this.refuse("INVALID_FILE", path, `must be a list (got ${show(value)})`);
      return undefined;
    }
    if (value.length > MAX_LAYERS)
      this.refuse("INVALID_FILE", path, `must have at most ${MAX_LAYERS} values (got ${value.length})`);
    return value as unknown[];
  }

  /** Throws an error that names the file and a key or tensor in it. */
  refuse(
    code: "INVALID_FILE" | "UNSUPPORTED_MODEL",
    field: string,
    problem: string,
    options?: RopewalkErrorOptions,
  ): never {
    fail(code, fieldOf(this.file, field), problem, options);
  }
}

function rowOf<Row>(table: Readonly<Record<string, Row>>, name: string): Row | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Values by the names of the class's fields. As in transformers, another name of a key wins over its own. */
function withoutAliases(values: Dict, aliases: Readonly<Record<string, string>>): Dict {
  const renamed = Object.entries(aliases).filter(([alias]) => Object.hasOwn(values, alias));
  return { ...values, ...Object.fromEntries(renamed.map(([alias, key]) => [key, values[alias]])) };
}

/** Sizes by which a RoPE is computed. */
const SIZES =
  "hidden_size num_attention_heads num_hidden_layers n_embd n_head n_layer qk_nope_head_dim qk_rope_head_dim";

/** Whether sizes have the names of GPT-2, which configs of other code have for classes with the usual names. */
const hasOwnNames = (values: Dict): boolean => "n_embd" in values || "n_head" in values || "n_layer" in values;

function sizesOf(values: Dict): Dict {
  const present = SIZES.split(" ").filter((key) => Object.hasOwn(values, key));
  return Object.fromEntries(present.map((key) => [key, values[key]]));
}
