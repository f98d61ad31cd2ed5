// Makes a model call a function.
import { fail } from "../base/errors.js";
import type { OutputFormat } from "../grammar/format.js";
import type { AnswerFormat } from "./calls/call_format.js";
import type { ForcedCall } from "./tool.js";

/**
 * How a model is made to call a function: the text that begins its answer, and the format of what follows.
 * @throws UNSUPPORTED_MODEL: the model's calls aren't JSON
 */
export function forcedCall(
  { tools, isParallel }: ForcedCall,
  { calls, isHarmony }: AnswerFormat,
): { lead: string; format: OutputFormat } {
  if (calls?.style !== "json" || isHarmony)
    return fail(
      "UNSUPPORTED_MODEL",
      "tool_choice",
      "must be auto or none for this model: its template writes calls in a form that can't be required",
    );
  const call = {
    anyOf: tools.map(({ function: { name, parameters } }) => ({
      type: "object",
      properties: { name: { const: name }, [calls.argumentsKey]: parameters ?? { type: "object" } },
      required: ["name", calls.argumentsKey],
      additionalProperties: false,
    })),
  };
  const list = { type: "array", items: call, minItems: 1, ...(!isParallel && { maxItems: 1 }) };
  return { lead: calls.isBare ? "" : calls.open + calls.lead, format: { schema: calls.isList ? list : call } };
}
