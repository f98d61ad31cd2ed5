// Sends a RopewalkError between threads with all that it has but its cause.
import { transferHandlers } from "comlink";
import type { Advice } from "../../core/base/advice.js";
import { fail, RopewalkError, type RopewalkErrorCode } from "../../core/base/errors.js";

interface SerializedError {
  readonly code: RopewalkErrorCode;
  readonly field: string;
  readonly problem: string;
  readonly advice: Advice | undefined;
  readonly words: string;
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
      const { code, field, problem, advice, words } = value;
      return [{ ropewalk: { code, field, problem, advice, words } satisfies SerializedError }, []];
    },
    deserialize: (serialized) => {
      const { ropewalk } = serialized as { ropewalk?: SerializedError };
      if (ropewalk === undefined) return defaultHandler.deserialize(serialized);
      const { code, field, problem, advice, words } = ropewalk;
      fail(code, field, problem, { words, ...(advice && { advice }) });
    },
  });
}
