// model.openSession(): a session from where session.keep() wrote it.
import { changed, RopewalkError } from "../../core/base/errors.js";
import { checkOptions } from "../../core/base/options.js";
import { OPEN_SESSION_OPTIONS, type OpenSessionOptions, type SessionOptions } from "./session/options.js";
import type { Session } from "./session/session.js";
import type { SessionModel } from "./session/session_model.js";

/** @internal */
export async function openSession(
  { keptFiles }: SessionModel,
  name: string | URL,
  options: OpenSessionOptions | undefined,
  newSession: (options: SessionOptions) => Session,
): Promise<Session> {
  const { rope, ...others } = checkOptions(options, OPEN_SESSION_OPTIONS);
  const session = newSession(others);
  try {
    const bytes = await (await keptFiles()).read(name);
    inFile(name, () => session.restore(bytes, rope === undefined ? {} : { rope }));
    return session;
  } catch (error) {
    session.dispose();
    throw error;
  }
}

/** Errors about the bytes name the file. */
function inFile(name: string | URL, restore: () => void): void {
  try {
    restore();
  } catch (error) {
    if (!(error instanceof RopewalkError) || error.field !== "bytes") throw error;
    throw changed(error, { field: `${String(name)}: bytes`, cause: error });
  }
}
