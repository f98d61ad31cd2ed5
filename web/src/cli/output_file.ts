import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname, basename, join } from "node:path";
import { RopewalkError } from "../errors.js";
import { interruptible } from "./interrupt.js";

/**
 * Writes a file under another name and gives it its own when it is whole, so that a failure or Ctrl-C leaves what was there before.
 * @param field - what named it, for messages.
 * @throws {@link RopewalkError} INVALID_ARGUMENT where it cannot be written; what `write` throws.
 */
export async function writeFileWhole(path: string, write: (file: FileHandle, signal: AbortSignal) => Promise<void>, field = "--output"): Promise<void> {
  if ((await stat(path).catch(() => undefined))?.isDirectory()) throw new RopewalkError("INVALID_ARGUMENT", field, `${path} is a folder; name a file`);
  const unfinished = join(dirname(path), `.${basename(path)}.${process.pid}.unfinished`);
  const file = await open(unfinished, "wx").catch((cause: unknown) => {
    throw new RopewalkError("INVALID_ARGUMENT", field, `${path} cannot be written: ${(cause as Error).message}`, { cause });
  });
  try {
    try {
      await interruptible((signal) => write(file, signal));
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}
