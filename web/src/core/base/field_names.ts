// Errors name an option as the caller does: `topP` is `top_p` in a request, and a file or flag on the command line.
import { changed, RopewalkError } from "./errors.js";

/** From the path of an option here, such as `format.schema.items`, to the name that the caller gave it. */
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

/** Runs what reads options under their names here. Its errors have the names that the caller gave. */
export async function withFieldNames<Result>(names: FieldNames, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw renamed(error, names);
  }
}

/** An error with the field as the caller names it. Errors of other kinds stay. */
export function renamed(error: unknown, names: FieldNames): unknown {
  if (!(error instanceof RopewalkError) || error.field === "") return error;
  const field = names(error.field);
  return field === error.field ? error : changed(error, { field, cause: error });
}
