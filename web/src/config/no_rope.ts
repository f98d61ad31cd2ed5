// Errors about models without RoPE, which some callers expect.
import { fail, RopewalkError } from "../base/errors.js";

const NO_ROPE = "this model has no RoPE";

/** Throws INVALID_CONFIG for a model without RoPE. `reason` says which value of the field shows that. */
export function failWithoutRope(field: string, reason: string): never {
  fail("INVALID_CONFIG", field, `${reason}: ${NO_ROPE}`);
}

/** Whether an error is about a model without RoPE. */
export function isAboutNoRope(error: unknown): error is RopewalkError {
  return error instanceof RopewalkError && error.code === "INVALID_CONFIG" && error.message.endsWith(NO_ROPE);
}
