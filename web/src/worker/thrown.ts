import { transferHandlers } from "comlink";
import { RopewalkError, type RopewalkErrorCode } from "../base/errors.js";

interface Sent {
  readonly code: RopewalkErrorCode;
  readonly field: string;
  readonly message: string;
}

const usual = transferHandlers.get("throw")!;

/** Lets a RopewalkError arrive as one, with its code and field; other errors arrive by name and message. @internal */
export function passErrors(): void {
  transferHandlers.set("throw", {
    canHandle: (thrown): thrown is unknown => usual.canHandle(thrown),
    serialize: (thrown) => {
      const { value } = thrown as { value: unknown };
      if (!(value instanceof RopewalkError)) return usual.serialize(thrown);
      const { code, field, message } = value;
      const text = field === "" ? message : message.slice(field.length + 2); // which the constructor puts before it again
      return [{ ropewalk: { code, field, message: text } satisfies Sent }, []];
    },
    deserialize: (sent) => {
      const { ropewalk } = sent as { ropewalk?: Sent };
      if (ropewalk === undefined) return usual.deserialize(sent);
      throw new RopewalkError(ropewalk.code, ropewalk.field, ropewalk.message);
    },
  });
}
