// Reads the options of a model, each of them once.
import { codeIn, optionalFunction, optionalSignal } from "../../../core/base/checks.js";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { checkOptions, type OptionNames, optionNames } from "../../../core/base/options.js";
import { show } from "../../../core/base/show.js";
import { checkKeyMode } from "../../../core/cache/options.js";
import { CACHE_DTYPES } from "../../../core/memory/elements.js";
import type { AttentionKind, ModelRopeOverrides } from "../plan/model_plan.js";
import { KV_OPTIONS, MODEL_OPTIONS, type ModelOptions, TOKENIZER_FILES } from "./options.js";
import { quantizeFormat } from "../../../core/quantize/quantize_formats.js";

const KINDS: OptionNames = optionNames<Record<AttentionKind, unknown>>("rope", {
  full_attention: true,
  sliding_attention: true,
});

/** A copy of the options of rw.model() or rw.modelInfo(). Throws UNKNOWN_KEY, INVALID_ARGUMENT. @internal */
export function readModelOptions(options: ModelOptions | undefined, known = MODEL_OPTIONS): ModelOptions {
  const given = checkOptions(options, known);
  const { signal, onProgress, onWarning, rope, kv, quantize, tokenizer, chatTemplate, ...others } = given;
  const { call } = known;
  if (chatTemplate !== undefined && (typeof chatTemplate !== "string" || chatTemplate === ""))
    fail("INVALID_ARGUMENT", "chatTemplate", `must be a template, not empty (got ${show(chatTemplate)})`);
  const read: { [Name in keyof ModelOptions]: ModelOptions[Name] | undefined } = {
    ...others,
    signal: optionalSignal(signal),
    onProgress: optionalFunction(onProgress, "onProgress"),
    onWarning: optionalFunction(onWarning, "onWarning"),
    rope: readRopeOverrides(rope),
    kv: kv === undefined ? undefined : readCacheOptions(checkOptions(kv, { ...KV_OPTIONS, call }, "kv")),
    quantize: quantize === undefined ? undefined : quantizeFormat(quantize, "quantize"),
    tokenizer:
      tokenizer === undefined ? undefined : { ...checkOptions(tokenizer, { ...TOKENIZER_FILES, call }, "tokenizer") },
    chatTemplate,
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}

function readCacheOptions({ dtype, keys }: NonNullable<ModelOptions["kv"]>): NonNullable<ModelOptions["kv"]> {
  checkKeyMode(keys, dtype, "kv.keys");
  return {
    ...(dtype !== undefined && { dtype: CACHE_DTYPES[codeIn(CACHE_DTYPES, dtype, "kv.dtype", "INVALID_DTYPE")]! }),
    ...(keys !== undefined && { keys }),
  };
}

/** A copy of RoPE overrides, for a model or by kind of layer. Throws UNKNOWN_KEY, INVALID_ARGUMENT. @internal */
export function readRopeOverrides(given: ModelRopeOverrides | undefined): ModelRopeOverrides | undefined {
  if (given === undefined) return undefined;
  const copy = isDict(given)
    ? { ...given }
    : fail("INVALID_ARGUMENT", "rope", `must be an object (got ${show(given)})`);
  const isByKind = Object.keys(KINDS.names).some((kind) => kind in copy);
  return isByKind ? checkOptions(copy, KINDS, "rope") : copy;
}
