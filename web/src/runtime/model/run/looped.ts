// Generators of pieces that say what to do where someone takes them for a whole result.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";

/** What people read of a result in other packages, and what spreads or sends it. */
const READ = ["text", "tokens", "finish", "content", "choices", "generated_text", "toJSON", Symbol.iterator] as const;

/**
 * The pieces of a call. Printing them gives what to do, and reading a result of them throws it: `await model.generate(prompt)` without a loop
 * runs nothing, and would end in `undefined`. They have no `then`, so that an async function can return them.
 * @internal
 */
export function looped<Piece>(
  call: string,
  pieces: AsyncGenerator<Piece, void, void>,
): AsyncGenerator<Piece, void, void> {
  const todo = `read them with for await (const piece of ${call}(…)), or await model.complete() for the whole text`;
  const get = (): never => fail("INVALID_ARGUMENT", call, "gives pieces one by one", advise.code(todo));
  for (const name of READ) Object.defineProperty(pieces, name, { get });
  const value = (): string => `[pieces of ${call}(): ${todo}]`;
  for (const name of ["toString", Symbol.for("nodejs.util.inspect.custom")])
    Object.defineProperty(pieces, name, { value });
  return pieces;
}
