// From `response_format` to the option `format` of a generation.
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { show } from "../../core/base/show.js";
import type { OutputFormat } from "../../runtime/grammar/format.js";

/** What a request says about the form of the answer. */
export type ResponseFormat =
  | { type: "text" }
  | { type: "json_object" }
  | {
      type: "json_schema";
      json_schema: { name?: string; description?: string; schema?: object; strict?: boolean | null };
    };

const FORMAT = optionNames<{ type: string; json_schema: object }>("response_format", { type: true, json_schema: true });
const SCHEMA = optionNames<Extract<ResponseFormat, { type: "json_schema" }>["json_schema"]>("json_schema", {
  name: true,
  description: true,
  schema: true,
  strict: true,
});

/** The format that a request's `response_format` means; undefined for text. Schemas are followed with or without `strict`. */
export function responseFormat(given: unknown): OutputFormat | undefined {
  if (given === undefined) return undefined;
  if (!isDict(given)) fail("INVALID_ARGUMENT", "response_format", `must be an object (got ${show(given)})`);
  const { type, json_schema: described } = checkOptions(
    given as { type: unknown; json_schema?: object },
    FORMAT,
    "response_format",
  );
  if (type === "text") return undefined;
  if (type === "json_object") return "json";
  if (type !== "json_schema")
    fail("INVALID_ARGUMENT", "response_format.type", `must be text, json_object or json_schema (got ${show(type)})`);
  if (!isDict(described))
    fail("INVALID_ARGUMENT", "response_format.json_schema", `must be an object with a schema (got ${show(described)})`);
  const { schema } = checkOptions(described as { schema?: object }, SCHEMA, "response_format.json_schema");
  return schema === undefined ? "json" : { schema };
}
