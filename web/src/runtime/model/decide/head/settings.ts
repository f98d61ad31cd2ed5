// How a decision checkpoint is asked: the limits, temperatures and texts of its prompt, from its files.
import * as advise from "../../../../core/base/advice.js";
import { type Dict, isDict } from "../../../../core/base/dict.js";
import { fail } from "../../../../core/base/errors.js";
import { show } from "../../../../core/base/show.js";
import { fieldOf } from "../../../files/errors.js";
import type { ModelFiles } from "../../../files/model_files.js";
import type { DecisionType } from "../questions.js";
import { QUESTION_TYPES } from "./row.js";

/** Whose texts a prompt has: those of two packages, or of a template in a GGUF file. @internal */
export type PromptForm = { readonly kind: "laya" | "julia" } | { readonly kind: "template"; readonly source: string };

/** @internal */
export interface HeadSettings {
  readonly form: PromptForm;
  /** Tokens of a question and its options together, to which they are cut. */
  readonly maxHeadTokens: number;
  /** Tokens of a prompt that the checkpoint was trained with, if its files say so. */
  readonly maxLength: number | undefined;
  /** The most options of a question. */
  readonly mostOptions: number;
  /** What scores are divided by. */
  readonly temperature: (type: DecisionType, options: number) => number;
}

/** The names of types in prompts and files. @internal */
export const TYPE_NAMES: Readonly<Record<DecisionType, string>> = { choice: "choice", score: "score", boolean: "noul" };

/** Temperatures are fitted for numbers of options up to these, and for more. */
const BUCKETS = [
  [2, "2", "2"],
  [5, "3-5", "3_5"],
  [10, "6-10", "6_10"],
  [Infinity, "11+", "11"],
] as const;
const bucketOf = (options: number): (typeof BUCKETS)[number] => BUCKETS.find(([most]) => options <= most)!;

/** What laya 0.4.15 confines temperatures to. A value that isn't a number is 1 there. */
const [COLDEST, HOTTEST] = [0.5, 5];
const clamped = (given: unknown): number =>
  typeof given === "number" && Number.isFinite(given) ? Math.min(HOTTEST, Math.max(COLDEST, given)) : 1;

/** Options of Julia-1. */
const MOST_OF_JULIA = 20;
/** What Julia-1's own loader and llama.cpp's converter take. */
const HEAD_TOKENS_OF_JULIA = 256;

/** @throws INVALID_FILE, UNSUPPORTED_MODEL @internal */
export function headSettings(files: ModelFiles): HeadSettings {
  return files.decision === undefined ? ggufSettings(files) : jsonSettings(files.decision);
}

function jsonSettings({ name, config }: NonNullable<ModelFiles["decision"]>): HeadSettings {
  if (name === "julia_config.json")
    return {
      form: { kind: "julia" },
      maxHeadTokens: HEAD_TOKENS_OF_JULIA,
      maxLength: undefined,
      mostOptions: MOST_OF_JULIA,
      temperature: () => 1,
    };
  const layout = config["option_layout"] ?? "sequential";
  if (layout !== "sequential")
    fail(
      "UNSUPPORTED_MODEL",
      fieldOf(name, "option_layout"),
      `${show(layout)} is not supported: options there share positions and don't see each other`,
      advise.other("take a checkpoint with the sequential layout, which all released ones have"),
    );
  const { temperature = [1, 1, 1], temperature_by_options: byOptions = {} } = config;
  if (!Array.isArray(temperature) || temperature.length !== QUESTION_TYPES.length)
    fail("INVALID_FILE", fieldOf(name, "temperature"), `must be a list of 3 numbers (got ${show(temperature)})`);
  if (!isDict(byOptions))
    fail("INVALID_FILE", fieldOf(name, "temperature_by_options"), `must be an object (got ${show(byOptions)})`);
  const temperatures = temperature as unknown[];
  return {
    form: { kind: "laya" },
    maxHeadTokens: whole(config, "head_max_len", 192, name),
    maxLength: whole(config, "max_len", 512, name),
    mostOptions: Infinity,
    temperature: (type, options) => {
      const key = `${TYPE_NAMES[type]}:${bucketOf(options)[1]}`;
      return clamped(Object.hasOwn(byOptions, key) ? byOptions[key] : temperatures[QUESTION_TYPES.indexOf(type)]);
    },
  };
}

function ggufSettings({ name, metadata }: ModelFiles): HeadSettings {
  const prefix = `${String(metadata["general.architecture"])}.decision.`;
  const source = metadata["tokenizer.chat_template.systemone"];
  if (typeof source !== "string")
    return fail("INVALID_FILE", fieldOf(name, "tokenizer.chat_template.systemone"), "is missing: it writes the prompt");
  const start = `${prefix}temperature.`;
  const temperatures = new Map<string, number>();
  for (const [key, given] of Object.entries(metadata)) {
    if (!key.startsWith(start)) continue;
    const value = Number(given); // some converters write text
    if (!(value > 0 && Number.isFinite(value)))
      fail("INVALID_FILE", fieldOf(name, key), `must be a number above 0 (got ${show(given)})`);
    temperatures.set(key.slice(start.length), value);
  }
  return {
    form: { kind: "template", source },
    maxHeadTokens: whole(metadata, `${prefix}max_head_tokens`, undefined, name),
    maxLength: undefined,
    mostOptions: Infinity,
    temperature: (type, options) => {
      const own = TYPE_NAMES[type];
      return temperatures.get(`${own}.${bucketOf(options)[2]}`) ?? temperatures.get(own) ?? 1;
    },
  };
}

function whole(values: Readonly<Dict>, key: string, fallback: number | undefined, file: string): number {
  const value = values[key] ?? fallback;
  if (!Number.isInteger(value) || (value as number) < 1)
    fail("INVALID_FILE", fieldOf(file, key), `must be an integer from 1 on (got ${show(value)})`);
  return value as number;
}
