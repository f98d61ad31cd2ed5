// Reads numbers from a GGUF file's metadata by their key without the architecture's prefix.
import { type Dict } from "../base/dict.js";
import { fail } from "../base/errors.js";
import { isArray } from "../base/typed_arrays.js";
import { integerAt, isAbsent, numberAt, stringAt } from "./values.js";

/** A file's metadata and its architecture, the prefix of its keys. */
export interface Metadata {
  metadata: Dict;
  arch: string;
}

/**
 * All keys that llama.cpp has below `<architecture>.rope.`. Any other key might change the rotation in an unknown
 * way. llama.cpp reads freq_base_spatial for sensenova_u1 only, which this package doesn't have.
 * @internal
 */
export const ROPE_KEYS =
  /^(dimension_(count(_swa)?|sections)|section_order|freq_base(_swa|_spatial)?|scale_linear|scaling\.(type|factor|alpha|attn_factor|original_context_length|finetuned|yarn_(log_multiplier|(ext|attn)_factor|beta_(fast|slow))))$/;

/** @throws UNKNOWN_KEY for a key below `<architecture>.rope.` that llama.cpp doesn't have */
export function openMetadata(metadata: Dict): Metadata {
  const arch = stringAt(metadata["general.architecture"], "general.architecture");
  const prefix = `${arch}.rope.`;
  for (const key of Object.keys(metadata)) {
    if (key.startsWith(prefix) && !ROPE_KEYS.test(key.slice(prefix.length))) {
      fail("UNKNOWN_KEY", key, "is not a RoPE key of GGUF");
    }
  }
  return { metadata, arch };
}

export function valueOf({ metadata, arch }: Metadata, key: string): unknown {
  return metadata[`${arch}.${key}`];
}

export function numberOf(file: Metadata, key: string): number | undefined {
  const value = valueOf(file, key);
  return isAbsent(value) ? undefined : decimalOf(numberAt(value, `${file.arch}.${key}`));
}

export function integerOf(file: Metadata, key: string): number | undefined {
  const value = valueOf(file, key);
  return isAbsent(value) ? undefined : integerAt(value, `${file.arch}.${key}`);
}

/** A count, or the first nonzero one of architectures that list a count per layer. */
export function firstCountOf(file: Metadata, key: string): number | undefined {
  const value = valueOf(file, key);
  if (!isArray(value) && !ArrayBuffer.isView(value)) return integerOf(file, key);
  const counts = Array.from(value as ArrayLike<unknown>, (item, i) => integerAt(item, `${file.arch}.${key}[${i}]`));
  return counts.find((count) => count > 0);
}

/**
 * The decimal with at most six digits that rounds to this 32-bit float, if there is one: 0.1 for 0.10000000149011612.
 * Files store the constants of a config.json in 32 bits; this restores them. Computed values stay as they are.
 */
export function decimalOf(value: number): number {
  if (Number.isInteger(value) || Math.fround(value) !== value) return value;
  const decimal = Number(value.toPrecision(6));
  return Math.fround(decimal) === value ? decimal : value;
}
