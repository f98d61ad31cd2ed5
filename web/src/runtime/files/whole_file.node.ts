// Writes files on disk so that a failure never leaves a part of one under its name.
import { node } from "../../core/base/builtins.node.js";

const UNFINISHED = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.unfinished\b/;

/** After this time a file that isn't finished counts as that of a program that has ended. */
const LEFT_MS = 3_600_000;

/** A text with the names that files get. @internal */
export const finishedNames = (text: string): string => text.replace(UNFINISHED, "");

/** Whether a file is one that is being written, or was when its program ended. @internal */
export const isUnfinished = (name: string): boolean => UNFINISHED.test(name);

/**
 * Writes a file under a temporary name next to its own, then names it. On failure, an existing file stays as it was.
 * @param name - gives it its name
 * @internal
 */
export async function writeThenName(
  path: string,
  bytes: Uint8Array | string,
  name = (unfinished: string): Promise<void> => node.fs.rename(unfinished, path),
): Promise<void> {
  const unfinished = `${path}.${node.crypto.randomUUID()}.unfinished`;
  try {
    const file = await node.fs.open(unfinished, "wx");
    try {
      await file.writeFile(bytes);
      await file.sync(); // else its name may be on the disk before its bytes
    } finally {
      await file.close();
    }
    await name(unfinished);
  } catch (error) {
    await node.fs.rm(unfinished, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Removes what programs that ended in the middle have left of a file, or of all files of a folder. @internal */
export async function removeUnfinished(folder: string, of = ""): Promise<void> {
  for (const name of await node.fs.readdir(folder).catch(() => [])) {
    if (!isUnfinished(name) || (of !== "" && finishedNames(name) !== of)) continue;
    const path = node.path.join(folder, name);
    const found = await node.fs.stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > LEFT_MS) await node.fs.rm(path, { force: true });
  }
}
