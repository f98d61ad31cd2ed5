// Sends a RopewalkError between threads with its code and field.
import { transferHandlers } from "comlink";
import { fail, problemOf, RopewalkError, type RopewalkErrorCode } from "../base/errors.js";

interface SerializedError {
  readonly code: RopewalkErrorCode;
  readonly field: string;
  readonly message: string;
}

const defaultHandler = transferHandlers.get("throw")!;

/**
 * Makes comlink restore a RopewalkError as one. Other errors keep their name and message, comlink's default.
 * @internal
 */
export function registerErrorTransfer(): void {
  transferHandlers.set("throw", {
    canHandle: (thrown): thrown is unknown => defaultHandler.canHandle(thrown),
    serialize: (thrown) => {
      const { value } = thrown as { value: unknown };
      if (!(value instanceof RopewalkError)) return defaultHandler.serialize(thrown);
      const { code, field } = value;
      // the constructor adds "field: " again
      return [{ ropewalk: { code, field, message: problemOf(value) } satisfies SerializedError }, []];
    },
    deserialize: (serialized) => {
      const { ropewalk } = serialized as { ropewalk?: SerializedError };
      if (ropewalk === undefined) return defaultHandler.deserialize(serialized);
      fail(ropewalk.code, ropewalk.field, ropewalk.message);
    },
  });
}
