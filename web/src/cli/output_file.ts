import { randomUUID } from "node:crypto";
import { type FileHandle, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { RopewalkError, type RopewalkErrorCode } from "../base/errors.js";
import { interruptible } from "./interrupt.js";

/**
 * Writes a file under another name and gives it its own when it is whole, so that a failure or Ctrl-C leaves what was there before. Links are
 * followed, and the mode of a file that is replaced is kept.
 * @param field - what named it, for messages.
 * @throws {@link RopewalkError} INVALID_ARGUMENT where it cannot be begun, INVALID_FILE where it cannot be written to its end, as on a full
 * disk; what `write` throws.
 */
export async function writeFileWhole(
  path: string,
  write: (file: FileHandle, signal: AbortSignal) => Promise<void>,
  field = "--output",
): Promise<void> {
  const failed = (code: RopewalkErrorCode, cause: unknown): never => {
    throw new RopewalkError(code, field, `${path} cannot be written: ${(cause as Error).message}`, { cause });
  };
  const before = await stat(path).catch(() => undefined);
  if (before?.isDirectory()) throw new RopewalkError("INVALID_ARGUMENT", field, `${path} is a folder; name a file`);
  // a device or a pipe takes what is written, and must not give its name to a file
  const isReplaced = before === undefined || before.isFile();
  const target = isReplaced
    ? await fileBehind(path).catch((cause: unknown) => failed("INVALID_ARGUMENT", cause))
    : path;
  const unfinished = isReplaced ? join(dirname(target), `.${basename(target)}.${randomUUID()}.unfinished`) : path;
  const mode = before?.isFile() ? before.mode & 0o777 : undefined;
  const file = await open(unfinished, isReplaced ? "wx" : "w", mode).catch((cause: unknown) =>
    failed("INVALID_ARGUMENT", cause),
  );
  try {
    try {
      await interruptible((signal) => write(file, signal));
      if (mode !== undefined) await file.chmod(mode); // open() leaves out what the umask does
    } finally {
      await file.close();
    }
    if (isReplaced) await rename(unfinished, target);
  } catch (error) {
    if (isReplaced) await rm(unfinished, { force: true });
    if (error instanceof Error && "syscall" in error) failed("INVALID_FILE", error);
    throw error;
  }
}

/** Keeps what is read from being written over, by whatever name. @throws {@link RopewalkError} INVALID_ARGUMENT */
export async function refuseInputs(output: string, inputs: readonly string[]): Promise<void> {
  const same = await Promise.all(inputs.map((input) => areSame(input, output)));
  if (same.includes(true)) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--output",
      "is the input itself, or a file that is read with it; name another file",
    );
  }
}

async function areSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

/** Where the links of a path lead, also to a file that is not there yet, of which realpath() does not tell. */
async function fileBehind(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const folder = await realpath(dirname(path));
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? join(folder, basename(path)) : fileBehind(resolve(folder, link));
  }
}
