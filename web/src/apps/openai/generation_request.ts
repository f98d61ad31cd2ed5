// The fields that chat completions and completions have in common.
import { isDict } from "../../core/base/dict.js";
import { finiteNumber, trueOrFalse, wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { listOf } from "../../core/base/lists.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { GenerateOptions } from "../../runtime/model/session/options.js";
import { type FieldNames, fieldNames } from "../../core/base/field_names.js";

/** Fields of a request for generated text. Null is the same as no field. */
export interface GenerationFields {
  /** Any name: a client has one model. Returned as the model's own name. */
  model?: string | null;
  stream?: boolean | null;
  /** `include_obfuscation` can only be false: chunks aren't padded. */
  stream_options?: { include_usage?: boolean | null; include_obfuscation?: false | null } | null;
  /** Number of answers, 1 to 128. The prompt is read once. */
  n?: number | null;
  seed?: number | null;
  stop?: string | readonly string[] | null;
  temperature?: number | null;
  top_p?: number | null;
  frequency_penalty?: number | null;
  presence_penalty?: number | null;
  /** By token id. */
  logit_bias?: Readonly<Record<string, number>> | null;
  /** Not OpenAI's: as other servers name it. */
  top_k?: number | null;
  /** Not OpenAI's: as other servers name it. */
  min_p?: number | null;
  /** Not OpenAI's: as other servers name it. */
  repetition_penalty?: number | null;
  /** Names who asks. Changes nothing here. */
  user?: string | null;
}

export const GENERATION_FIELDS = {
  model: true,
  stream: true,
  stream_options: true,
  n: true,
  seed: true,
  stop: true,
  temperature: true,
  top_p: true,
  frequency_penalty: true,
  presence_penalty: true,
  logit_bias: true,
  top_k: true,
  min_p: true,
  repetition_penalty: true,
  user: true,
} as const;

const STREAM_OPTIONS = optionNames<NonNullable<GenerationFields["stream_options"]>>("stream_options", {
  include_usage: true,
  include_obfuscation: true,
});

/** These fields, checked. */
export interface GenerationRequest {
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  readonly count: number;
  readonly options: GenerateOptions;
  readonly fieldOf: FieldNames;
}

/**
 * Leaves out fields that are null.
 * @param field - of the object, for the error
 */
export function withoutNulls<Fields extends object>(given: Fields, field = "body"): Fields {
  if (!isDict(given)) fail("INVALID_ARGUMENT", field, `must be an object (got ${show(given)})`);
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null && value !== undefined),
  ) as Fields;
}

/** Numbers: the field, the option of `generate()`, the least and the most. */
const NUMBERS = [
  ["temperature", "temperature", 0, 2],
  ["top_p", "topP", 0, 1],
  ["frequency_penalty", "frequencyPenalty", -2, 2],
  ["presence_penalty", "presencePenalty", -2, 2],
  ["top_k", "topK", 0, 2 ** 24],
  ["min_p", "minP", 0, 1],
  ["repetition_penalty", "repetitionPenalty", 0, 1e6],
] as const;

/** The fields of options that have other names in a request. */
const NAMES = fieldNames({
  ...Object.fromEntries(NUMBERS.map(([field, option]) => [option, field])),
  logitBias: "logit_bias",
  toolChoice: "tool_choice",
  variables: "chat_template_kwargs",
});

/** The names of fields for errors in options. */
const fieldOf: FieldNames = (field) =>
  NAMES(
    field
      .replace(/^format\.schema/, "response_format.json_schema.schema")
      .replace(/^format\b/, "response_format")
      .replace(/^(tools\[\d+\])\.(?=name|parameters)/, "$1.function."),
  );

/** @throws INVALID_ARGUMENT */
export function readGeneration(body: GenerationFields): GenerationRequest {
  const { stream, stream_options: streaming, n, stop, seed, logit_bias: biases } = body;
  if (body.model !== undefined && typeof body.model !== "string")
    fail("INVALID_ARGUMENT", "model", `must be a string (got ${show(body.model)})`);
  const isStream = trueOrFalse(stream ?? false, "stream");
  if (streaming !== undefined && !isStream) fail("INVALID_ARGUMENT", "stream_options", "needs stream: true");
  const { include_usage: includesUsage, include_obfuscation: isPadded } = checkOptions(
    withoutNulls(streaming ?? {}, "stream_options"),
    STREAM_OPTIONS,
    "stream_options",
  );
  if (isPadded !== undefined && trueOrFalse(isPadded, "stream_options.include_obfuscation"))
    fail("INVALID_ARGUMENT", "stream_options.include_obfuscation", "must be false: chunks aren't padded here");
  const numbers = NUMBERS.flatMap(([field, option, least, most]) =>
    body[field] === undefined ? [] : [[option, between(body[field], least, most, field)] as const],
  );
  const stops = listOf(typeof stop === "string" ? [stop] : (stop ?? []), "stop", "a string or strings");
  return {
    isStream,
    includesUsage: trueOrFalse(includesUsage ?? false, "stream_options.include_usage"),
    count: wholeNumber(n ?? 1, 1, 128, "n"),
    fieldOf,
    options: {
      ...Object.fromEntries(numbers),
      ...(stops.length > 0 && { stop: stops as string[] }),
      ...(seed !== undefined && { seed: wholeNumber(seed, 0, Number.MAX_SAFE_INTEGER, "seed") }),
      ...(biases !== undefined && { logitBias: readBiases(biases) }),
    },
  };
}

function between(value: unknown, least: number, most: number, field: string): number {
  const number = finiteNumber(value, field);
  if (number < least || number > most)
    fail("INVALID_ARGUMENT", field, `must be a number from ${least} to ${most} (got ${show(value)})`);
  return number;
}

/** OpenAI's −100 and 100 forbid a token and choose it only; biases here are exact, and −100 does the same in practice. */
function readBiases(given: unknown): Map<number, number> {
  if (!isDict(given))
    fail("INVALID_ARGUMENT", "logit_bias", `must be an object of numbers by token id (got ${show(given)})`);
  return new Map(
    Object.entries(given).map(([token, bias]) => {
      const field = `logit_bias.${token.slice(0, 60)}`;
      if (!/^\d+$/.test(token)) fail("INVALID_ARGUMENT", field, `must be named by a token id (got ${show(token)})`);
      return [wholeNumber(Number(token), 0, 2 ** 31 - 1, field), between(bias, -100, 100, field)];
    }),
  );
}
