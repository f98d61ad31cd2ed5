// Reads a model's config.json or GGUF metadata through one set of keys, with every value checked.
import { type Dict, isDict } from "../base/dict.js";
import { show } from "../base/show.js";
import { fail } from "../base/errors.js";
import { fieldOf } from "../files/errors.js";
import type { ModelFiles } from "../files/model_files.js";
import { MAX_LAYERS } from "./limits.js";

/**
 * A key in config.json (or several, of which the first present one counts), and in GGUF without the architecture
 * prefix.
 */
export type ConfigKey = readonly [config: string | readonly string[], gguf: string];

/**
 * Defaults of transformers' config classes, by `model_type`, for keys that released config.json files omit. The
 * multimodal Gemma 3 models omit every key whose value is that of the 4B model.
 * @internal
 */
export const CLASS_DEFAULTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  gemma3_text: {
    vocab_size: 262208,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    head_dim: 256,
    rms_norm_eps: 1e-6,
    max_position_embeddings: 131072,
    query_pre_attn_scalar: 256,
  },
};

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
  /** The whole config.json or metadata, as ropeConfig() takes it. */
  readonly source: Dict;
  readonly #values: Dict;
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
    this.#values =
      this.isGguf || !Object.hasOwn(CLASS_DEFAULTS, name) ? values : { ...CLASS_DEFAULTS[name], ...values };
    this.#prefix = this.isGguf ? `${name}.` : "";
  }

  /** The unchecked value of a key, and the path where it was found. */
  find([config, gguf]: ConfigKey): { value: unknown; path: string } {
    const names = this.isGguf ? [this.#prefix + gguf] : [config].flat();
    const path = names.find((name) => this.#values[name] !== undefined && this.#values[name] !== null) ?? names[0]!;
    return { value: this.#values[path] ?? undefined, path };
  }

  /** Whether config.json has a key and says null, which isn't the default of its class. */
  isNull([config]: ConfigKey): boolean {
    const names = [config].flat();
    return (
      !this.isGguf &&
      names.every((name) => this.#values[name] == null) &&
      names.some((name) => this.#values[name] === null)
    );
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
    if (value === undefined) return fallback;
    if (typeof value !== "boolean") this.refuse("INVALID_FILE", path, `must be true or false (got ${show(value)})`);
    return value;
  }

  /** A list with a value for each layer, or for some of them. Undefined if there is none. */
  list(key: ConfigKey): readonly unknown[] | undefined {
    const { value, path } = this.find(key);
    if (!Array.isArray(value)) return undefined;
    if (value.length > MAX_LAYERS)
      this.refuse("INVALID_FILE", path, `must have at most ${MAX_LAYERS} values (got ${value.length})`);
    return value as unknown[];
  }

  /** Throws an error that names the file and a key or tensor in it. */
  refuse(code: "INVALID_FILE" | "UNSUPPORTED_MODEL", field: string, message: string): never {
    fail(code, fieldOf(this.file, field), message);
  }
}
