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

/** The message of an error in the words of a request. */
export type MessageWords = (message: string) => string;

const SAME: MessageWords = (message) => message;

/** Runs what reads options under their names here. Its errors have the names of the request. */
export async function withFieldNames<Result>(
  names: FieldNames,
  run: () => Promise<Result>,
  words = SAME,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw renamed(error, names, words);
  }
}

/** An error with the field's name in the request. Errors of other kinds stay. */
export function renamed(error: unknown, names: FieldNames, words = SAME): unknown {
  if (!(error instanceof RopewalkError) || error.field === "") return error;
  const field = names(error.field);
  const problem = error.message.slice(error.field.length + 2);
  const message = words(problem);
  if (field === error.field && message === problem) return error;
  return new RopewalkError(error.code, field, message, { cause: error });
}
