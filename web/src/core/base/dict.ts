// Objects from JSON or from a caller.

/** An object from JSON or from a caller. Nothing is known about its values yet. */
export type Dict = Readonly<Record<string, unknown>>;

/** Whether a value is an object with keys: not an array or a typed array. @internal */
export function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
