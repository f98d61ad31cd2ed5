// Values of a file by their names in both formats.
import { type Dict } from "../../core/base/dict.js";
import { RopewalkError } from "../../core/base/errors.js";
import { textConfigOf } from "../../core/config/huggingface.js";
import { ggufSourceOf } from "../../core/config/rope_config.js";
import { knownFamily, nestedFamily } from "../../core/config/family_lookup.js";
import type { Family } from "../../core/config/family.js";
import type { Opened } from "./open.js";

/** A file's keys. */
export interface Facts {
  readonly isGguf: boolean;
  /** The whole file as `ropeConfig()` takes it. */
  readonly source: Dict;
  /** The part of a config.json that describes the language model, or GGUF metadata. */
  readonly values: Dict;
  /** What the keys of `values` start with in the file: `text_config.`, or the architecture and a dot. */
  readonly prefix: string;
  /** `model_type` or `general.architecture`. */
  readonly family: string | undefined;
  readonly traits: Partial<Family>;
  /** Tensors of a GGUF file that change its RoPE; undefined if the caller passed only metadata. */
  readonly tensors: Dict | undefined;
}

/** Collects the keys of a file. Never throws: what can't be read has no keys. */
export function factsOf({ source }: Pick<Opened, "source">): Facts {
  const gguf = ggufSourceOf(source);
  if (gguf !== undefined) {
    const architecture = gguf.metadata["general.architecture"];
    const family = typeof architecture === "string" ? architecture : undefined;
    const traits = knownFamily("gguf", family);
    const tensors = gguf.tensors as Dict | undefined;
    return { isGguf: true, source, values: gguf.metadata, prefix: `${family}.`, family, traits, tensors };
  }
  try {
    const { config, path, model_type, outer } = textConfigOf(source);
    const traits = knownFamily("hf", nestedFamily(outer, model_type));
    return { isGguf: false, source, values: config, prefix: path, family: model_type, traits, tensors: undefined };
  } catch (error) {
    if (!(error instanceof RopewalkError)) throw error;
    const name = source["model_type"];
    const family = typeof name === "string" ? name : undefined;
    return { isGguf: false, source, values: source, prefix: "", family, traits: {}, tensors: undefined };
  }
}

/** A value under one of its names in config.json, or its name in GGUF without the architecture. Null counts as absent. */
export function valueOf({ isGguf, values, prefix }: Facts, names: string | readonly string[], gguf?: string): unknown {
  const keys = isGguf ? (gguf === undefined ? [] : [prefix + gguf]) : [names].flat();
  return keys.map((key) => values[key]).find((value) => value !== undefined && value !== null);
}

/** A finite number among a file's values; undefined if it is absent or of another type. */
export function numberOf(facts: Facts, names: string | readonly string[], gguf?: string): number | undefined {
  const value = valueOf(facts, names, gguf);
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** The value of GGUF's pooling_type for cross-encoders. */
const GGUF_RANK = 4;

/** Whether a file is that of a cross-encoder, which scores pairs of texts. */
export function ranksPairs(facts: Facts): boolean {
  if (facts.isGguf) return numberOf(facts, [], "pooling_type") === GGUF_RANK;
  const names = facts.source["architectures"];
  return Array.isArray(names) && names.some((name) => String(name).endsWith("ForSequenceClassification"));
}

/** A number for readers. */
export const shown = (value: number): string =>
  Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 });

/** A count of tokens for readers: all digits, in groups. */
export const tokens = (value: number): string => Math.round(value).toLocaleString("en");

/** A text that begins a sentence. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
