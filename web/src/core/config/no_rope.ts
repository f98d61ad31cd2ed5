// Errors about models without RoPE, which some callers expect.
import { RopewalkError } from "../base/errors.js";

const reasons = new WeakMap<RopewalkError, string>();

/** Throws INVALID_CONFIG for a model without RoPE. `reason` says which value of the field shows that. */
export function failWithoutRope(field: string, reason: string): never {
  const error = new RopewalkError("INVALID_CONFIG", field, `${reason}: this model has no RoPE`);
  reasons.set(error, reason);
  throw error;
}

/** Whether an error is about a model without RoPE. */
export function isAboutNoRope(error: unknown): error is RopewalkError {
  return reasonWithoutRope(error) !== undefined;
}

/** What such an error gives as the reason; undefined for other errors. */
export function reasonWithoutRope(error: unknown): string | undefined {
  return error instanceof RopewalkError ? reasons.get(error) : undefined;
}
