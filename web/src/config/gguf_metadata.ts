import { fail } from "../base/errors.js";
import { integerAt, isAbsent, numberAt, stringAt, type Dict } from "./check.js";

/** A file's metadata, and the architecture whose name its keys begin with. */
export interface Metadata {
  metadata: Dict;
  arch: string;
}

/** The keys below `<architecture>.rope.`; any other one would change the rotation in a way this package does not know. */
const ROPE_KEYS = new Set([
  "dimension_count",
  "dimension_count_swa",
  "dimension_sections",
  "freq_base",
  "freq_base_swa",
  "scale_linear",
  "scaling.type",
  "scaling.factor",
  "scaling.alpha",
  "scaling.attn_factor",
  "scaling.original_context_length",
  "scaling.finetuned",
  "scaling.yarn_log_multiplier",
  "scaling.yarn_ext_factor",
  "scaling.yarn_attn_factor",
  "scaling.yarn_beta_fast",
  "scaling.yarn_beta_slow",
]);

/** @throws UNKNOWN_KEY for a key below `<architecture>.rope.` that llama.cpp does not have */
export function openMetadata(metadata: Dict): Metadata {
  const arch = stringAt(metadata["general.architecture"], "general.architecture");
  const prefix = `${arch}.rope.`;
  for (const key of Object.keys(metadata)) {
    if (key.startsWith(prefix) && !ROPE_KEYS.has(key.slice(prefix.length))) {
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

/** A count that some architectures give for each layer: the first layer that has any. */
export function firstCountOf(file: Metadata, key: string): number | undefined {
  const value = valueOf(file, key);
  if (!Array.isArray(value) && !ArrayBuffer.isView(value)) return integerOf(file, key);
  const counts = Array.from(value as ArrayLike<unknown>, (item, i) => integerAt(item, `${file.arch}.${key}[${i}]`));
  return counts.find((count) => count > 0);
}

/**
 * The decimal of at most six digits that a 32-bit float stands for, if there is one: 0.1 and not 0.10000000149011612.
 * Files keep the constants of a config.json in 32 bits, and this gives them back; a computed value stays as it is.
 */
export function decimalOf(value: number): number {
  if (Number.isInteger(value) || Math.fround(value) !== value) return value;
  const decimal = Number(value.toPrecision(6));
  return Math.fround(decimal) === value ? decimal : value;
}
