// Errors name the option as the request does: `top_p` in one shape is `topP` here.
import { RopewalkError } from "../base/errors.js";

/** From the path of an option here, such as `format.schema.items`, to its path in the request. */
export type FieldNames = (field: string) => string;

/** Names by the first part of the path. Other paths stay. */
export function fieldNames(names: Readonly<Record<string, string>>): FieldNames {
  const known = new Map(Object.entries(names));
  return (field) => {
    const [option = ""] = /^\w+/.exec(field) ?? [];
    const name = known.get(option);
    return name === undefined ? field : name + field.slice(option.length);
  };
}

/** Runs what reads options under their names here. Its errors have the names of the request. */
export async function withFieldNames<Result>(names: FieldNames, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw renamed(error, names);
  }
}

/** An error with the field's name in the request. Errors of other kinds stay. */
export function renamed(error: unknown, names: FieldNames): unknown {
  if (!(error instanceof RopewalkError) || error.field === "") return error;
  const field = names(error.field);
  if (field === error.field) return error;
  return new RopewalkError(error.code, field, error.message.slice(error.field.length + 2), { cause: error });
}
