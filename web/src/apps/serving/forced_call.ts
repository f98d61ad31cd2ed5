// Makes a model call a function.
import { fail } from "../../core/base/errors.js";
import type { OutputFormat } from "../../runtime/grammar/format.js";
import type { AnswerFormat } from "./calls/call_format.js";
import type { FieldNames } from "../../core/base/field_names.js";
import { argumentsSchema, type ForcedCall, type Tool } from "./tool.js";

/**
 * How a model is made to call a function: the text that begins its answer, and the format of what follows. Errors in the
 * format are errors in the schemas of tools: `fieldOf` names them, as `tools[0].parameters` with the number in `allTools`.
 * @throws UNSUPPORTED_MODEL: the model's calls aren't JSON
 */
export function forcedCall(
  { tools, isParallel }: ForcedCall,
  { calls, isHarmony }: AnswerFormat,
  allTools: readonly Tool[],
): { lead: string; format: OutputFormat; fieldOf: FieldNames } {
  if (calls?.style !== "json" || isHarmony)
    return fail(
      "UNSUPPORTED_MODEL",
      "toolChoice",
      "must be auto or none for this model: its template writes calls in a form that can't be required",
    );
  const { nameKey, argumentsKey, isList } = calls;
  const keyOf = ({ function: { name } }: Tool): string => argumentsKey ?? name;
  const call = {
    anyOf: tools.map((tool, i) => ({
      type: "object",
      properties: {
        ...(argumentsKey !== undefined && { [nameKey]: { const: tool.function.name } }),
        [keyOf(tool)]: { $id: `https://tool${i}.invalid/`, ...argumentsSchema(tool) }, // its references start at it
      },
      required: [...(argumentsKey === undefined ? [] : [nameKey]), keyOf(tool)],
      additionalProperties: false,
    })),
  };
  const list = { type: "array", items: call, minItems: 1, ...(!isParallel && { maxItems: 1 }) };
  const fieldOf = (field: string): string => {
    const places = tools.map(
      (tool, i) => `format.schema${isList ? ".items" : ""}.anyOf[${i}].properties.${keyOf(tool)}`,
    );
    if (field === "format.schema")
      return tools.length === 1 ? `tools[${allTools.indexOf(tools[0]!)}].parameters` : "tools";
    const i = places.findIndex((place) => field === place || field.startsWith(`${place}.`));
    return i < 0 ? field : `tools[${allTools.indexOf(tools[i]!)}].parameters${field.slice(places[i]!.length)}`;
  };
  return {
    lead: calls.isBare ? "" : calls.open + calls.lead,
    format: { schema: isList ? list : call },
    fieldOf,
  };
}
