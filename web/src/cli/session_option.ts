// What commands with --session share.
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { fail } from "../base/errors.js";
import { RopewalkError } from "../index.node.js";

/** @throws INVALID_ARGUMENT: the file couldn't be written at the end, when it would be too late for what was generated */
export async function checkSessionFile(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const kindOf = (name: string) => stat(name).catch(() => undefined);
  if (path === "") fail("INVALID_ARGUMENT", "--session", "is empty; name a file");
  const existing = await kindOf(path);
  if (existing?.isDirectory()) fail("INVALID_ARGUMENT", "--session", `${path} is a folder; name a file`);
  const folder = dirname(path);
  if (existing === undefined && !(await kindOf(folder))?.isDirectory())
    fail("INVALID_ARGUMENT", "--session", `the folder ${folder} doesn't exist; make it, or name another file`);
}

/** Errors of `act` name `field`. */
export async function withField<T>(field: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    if (!(cause instanceof RopewalkError)) throw cause;
    fail(cause.code, field, cause.message.slice(cause.field.length + 2), { cause });
  }
}
