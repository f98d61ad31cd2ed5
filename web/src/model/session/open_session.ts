// model.openSession(): a session from where session.keep() wrote it.
import { checkOptions } from "../../base/options.js";
import { OPEN_SESSION_OPTIONS, type OpenSessionOptions, type SessionOptions } from "./options.js";
import type { Session } from "./session.js";
import type { SessionModel } from "./session_model.js";

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
    session.restore(await (await keptFiles()).read(name), rope === undefined ? {} : { rope });
    return session;
  } catch (error) {
    session.dispose();
    throw error;
  }
}
