// Objects from JSON or from a caller.
import { isRevoked } from "./typed_arrays.js";

/** An object from JSON or from a caller. Nothing is known about its values yet. */
export type Dict = Readonly<Record<string, unknown>>;

/** Whether a value is an object with keys: not an array, a typed array or a revoked Proxy. @internal */
export function isDict(value: unknown): value is Dict {
  return (
    typeof value === "object" &&
    value !== null &&
    !isRevoked(value) &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}
