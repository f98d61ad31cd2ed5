// Functions that a model may call.
import { isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { show } from "../../core/base/show.js";

/** A function that the model may call. */
export interface Tool {
  type: "function";
  function: { name: string; description?: string; parameters?: object; strict?: boolean | null };
}

/** The functions of which one must be called. */
export interface ForcedCall {
  readonly tools: readonly Tool[];
  /** Whether more than one call may follow. */
  readonly isParallel: boolean;
}

/** Names that every form of calls can write. */
const NAME = /^[\w.-]{1,64}$/;

/** Tools are `tools[0].name` and `tools[0].parameters` in errors. @throws INVALID_ARGUMENT */
export function checkTools(tools: readonly Tool[]): void {
  const names = new Set<string>();
  for (const [i, { function: called }] of tools.entries()) {
    const { name } = called;
    if (!NAME.test(name))
      fail(
        "INVALID_ARGUMENT",
        `tools[${i}].name`,
        `must be 1 to 64 letters, digits, "_", "-" or "." (got ${show(name)})`,
      );
    if (names.has(name))
      fail("INVALID_ARGUMENT", `tools[${i}].name`, `must differ from the others (got ${show(name)} twice)`);
    names.add(name);
    const parameters: unknown = called.parameters ?? {};
    if (!isDict(parameters))
      fail("INVALID_ARGUMENT", `tools[${i}].parameters`, `must be a JSON schema (got ${show(parameters)})`);
    const type = parameters["type"] ?? "object";
    if (type !== "object" && !(Array.isArray(type) && type.includes("object")))
      fail("INVALID_ARGUMENT", `tools[${i}].parameters.type`, `must be "object", as arguments are (got ${show(type)})`);
  }
}

/** The schema of the arguments. As OpenAI's, a function without `parameters` has none. */
export function argumentsSchema({ function: { parameters } }: Tool): object {
  if (parameters === undefined) return { type: "object", properties: {}, additionalProperties: false };
  const { $ref: reference, allOf = [], ...schema } = parameters as { $ref?: unknown; allOf?: readonly unknown[] };
  if (reference === undefined) return { ...parameters, type: "object" };
  return { ...schema, allOf: [...allOf, { $ref: reference }], type: "object" }; // beside a $ref, an $id names nothing
}
