// Writes output files so that a failure never leaves a partial or damaged file.
import * as advise from "../../core/base/advice.js";
import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { type FileHandle, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type RopewalkErrorCode, fail } from "../../core/base/errors.js";
import { interruptible } from "./interrupt.js";

/**
 * Writes a file under a temporary name and renames it when it's complete. After a failure or Ctrl-C, an existing file
 * is unchanged. Symbolic links are followed, and a replaced file keeps its mode.
 * @param field - name of the option with the path, for messages
 * @throws {@link RopewalkError} INVALID_ARGUMENT (the file can't be opened), INVALID_FILE (writing fails, for example
 * because the disk is full); and what `write` throws.
 */
export async function writeFileAtomically(
  path: string,
  write: (file: FileHandle, signal: AbortSignal) => Promise<void>,
  field = "--output",
): Promise<void> {
  const failed = (code: RopewalkErrorCode, cause: unknown): never => failWriting(code, field, path, cause);
  const existing = await checkOutputFile(path, field);
  // a device or pipe is written directly: renaming a file onto it would replace it
  const isReplaced = existing === undefined || existing.isFile();
  const target = isReplaced
    ? await resolveLinks(path).catch((cause: unknown) => failed("INVALID_ARGUMENT", cause))
    : path;
  const unfinished = isReplaced ? join(dirname(target), `.${basename(target)}.${randomUUID()}.unfinished`) : path;
  const mode = existing?.isFile() ? existing.mode & 0o777 : undefined;
  const file = await open(unfinished, isReplaced ? "wx" : "w", mode).catch((cause: unknown) =>
    failed("INVALID_ARGUMENT", cause),
  );
  try {
    try {
      await interruptible((signal) => write(file, signal));
      if (mode !== undefined) await file.chmod(mode); // open() applies the umask
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

/** Throws an error that says why a file can't be written. */
export function failWriting(code: RopewalkErrorCode, field: string, path: string, cause: unknown): never {
  return fail(code, field, `${path} cannot be written: ${(cause as Error).message}`, { cause });
}

/**
 * Checks that a file can be written, before much work is done for it.
 * @returns what is at the path; undefined if there is nothing
 * @throws {@link RopewalkError} INVALID_ARGUMENT
 */
export async function checkOutputFile(path: string, field: string): Promise<Stats | undefined> {
  if (path === "") fail("INVALID_ARGUMENT", field, "is empty", advise.other("name a file"));
  const existing = await statOf(path);
  if (existing?.isDirectory()) fail("INVALID_ARGUMENT", field, `${path} is a folder`, advise.other("name a file"));
  const folder = dirname(path);
  if (existing === undefined && !(await statOf(folder))?.isDirectory())
    fail(
      "INVALID_ARGUMENT",
      field,
      `the folder ${folder} doesn't exist`,
      advise.other("make it, or name another file"),
    );
  return existing;
}

const statOf = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);

/** Resolves symbolic links like realpath(), but the file doesn't have to exist. */
async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const folder = await realpath(dirname(path));
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? join(folder, basename(path)) : resolveLinks(resolve(folder, link));
  }
}
