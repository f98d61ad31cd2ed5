// Embeddings in OpenAI's shape.
import * as advise from "../../core/base/advice.js";
import { codeIn, wholeNumber } from "../../core/base/checks.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { EmbedOptions } from "../../runtime/model/embed/options.js";
import { withFieldNames } from "../../core/base/field_names.js";
import type { Serving } from "../serving/options.js";
import type { ServedModel } from "../serving/served_model.js";
import { withoutNulls } from "./generation_request.js";

/** Fields of a request for embeddings. Null is the same as no field. */
export interface EmbeddingRequestFields {
  /** A text, token ids, or a list of either with at most 2048 entries. */
  input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  /** Any name: a client has one model. Returned as the model's own name. */
  model?: string | null;
  /** `base64`: the bytes of little-endian f32. Default: `float`. */
  encoding_format?: "float" | "base64" | null;
  dimensions?: number | null;
  /** Not OpenAI's: as in `embed()`, the name of one of the model's prompts. */
  prompt?: string | null;
  /** Not OpenAI's: as in `embed()`. */
  pooling?: EmbedOptions["pooling"] | null;
  /** Not OpenAI's: as in `embed()`, whether texts that are too long are cut. */
  truncate?: boolean | null;
  /** Names who asks. Changes nothing here. */
  user?: string | null;
}

/** As in OpenAI's API. */
const MAX_INPUTS = 2048;

const FIELDS = optionNames<EmbeddingRequestFields>("embeddings.create()", {
  input: true,
  model: true,
  encoding_format: true,
  dimensions: true,
  prompt: true,
  pooling: true,
  truncate: true,
  user: true,
});

/** Embeddings of texts. */
export interface EmbeddingList {
  object: "list";
  data: { object: "embedding"; index: number; embedding: number[] | string }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

/** @throws UNKNOWN_KEY, INVALID_ARGUMENT; and as model.embed() */
export async function createEmbeddings(
  model: ServedModel,
  { name, adapting }: Pick<Serving, "adapting"> & { name: string },
  given: EmbeddingRequestFields,
  signal: AbortSignal | undefined,
): Promise<EmbeddingList> {
  const body = checkOptions(withoutNulls(given), FIELDS);
  const { input, encoding_format: encoding = "float", dimensions, prompt, pooling, truncate } = body;
  const isBase64 = codeIn(["float", "base64"], encoding, "encoding_format") === 1;
  const size = model.info.embedding.dimensions;
  const options: EmbedOptions = {
    ...adapting,
    ...(dimensions !== undefined && { dimensions: wholeNumber(dimensions, 1, size, "dimensions") }),
    ...(prompt != null && { prompt }),
    ...(pooling != null && { pooling }),
    ...(truncate != null && { truncate }),
    ...(signal && { signal }),
  };
  const inputs = listOfInputs(input);
  if (inputs.length > MAX_INPUTS)
    fail(
      "INVALID_ARGUMENT",
      "input",
      `must have at most ${MAX_INPUTS} texts (got ${inputs.length})`,
      advise.other("send them in several requests"),
    );
  const isOne = !Array.isArray(input) || typeof input[0] === "number";
  const fieldOf = (field: string): string => field.replace(isOne ? /^texts\[0\]/ : /^texts/, "input");
  const { vectors, tokens } = await withFieldNames(fieldOf, () => model.embedCounted(inputs, options));
  return {
    object: "list",
    data: vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: isBase64 ? base64(vector) : Array.from(vector),
    })),
    model: name,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function listOfInputs(input: unknown): (string | readonly number[])[] {
  if (typeof input === "string") return [input];
  if (!Array.isArray(input) || input.length === 0)
    fail("INVALID_ARGUMENT", "input", `must be a text, token ids, or a list of either (got ${show(input)})`);
  const items = input as unknown[];
  return typeof items[0] === "number" ? [items as number[]] : (items as (string | number[])[]);
}

function base64(vector: Float32Array): string {
  const bytes = new Uint8Array(vector.length * 4);
  const view = new DataView(bytes.buffer);
  vector.forEach((value, i) => view.setFloat32(i * 4, value, true));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
