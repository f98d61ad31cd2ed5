// Files that a program keeps on disk, by path.
import * as advise from "../../core/base/advice.js";
import { node } from "../../core/base/builtins.node.js";
import { fail } from "../../core/base/errors.js";
import { messageOf, show } from "../../core/base/show.js";
import type { KeptFiles } from "./platform.js";
import { finishedNames, removeUnfinished, writeThenName } from "./whole_file.node.js";

/** @internal */
export const diskKeptFiles: KeptFiles = {
  async write(given, bytes) {
    const path = pathOf(given);
    const folder = node.path.dirname(path);
    try {
      await writeThenName(path, bytes);
      await removeUnfinished(folder, node.path.basename(path)).catch(() => undefined); // what is written counts
    } catch (cause) {
      const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
      const why = isMissing ? `the folder ${folder} doesn't exist` : finishedNames(messageOf(cause));
      fail("INVALID_FILE", "name", `${path} can't be written: ${why}`, { cause });
    }
  },
  async read(given) {
    const path = pathOf(given);
    const bytes = await node.fs.readFile(path).catch((cause: unknown) => {
      const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
      fail("INVALID_FILE", "name", isMissing ? `no such file: ${path}` : `${path} can't be read: ${messageOf(cause)}`, {
        cause,
      });
    });
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  },
};

function pathOf(given: string | URL): string {
  const refuse = (cause?: unknown): never =>
    fail("INVALID_ARGUMENT", "name", `must be a path or a file: URL (got ${show(given)})`, { cause });
  if (typeof given !== "string" && !(given instanceof URL)) return refuse();
  if (given === "") fail("INVALID_ARGUMENT", "name", "is empty", advise.other("pass the path of a file"));
  if (typeof given === "string" && /^(?!file:)[a-z][a-z0-9+.-]+:\/\//i.test(given)) return refuse();
  const path = given instanceof URL || /^file:/i.test(given) ? pathOfUrl(given, refuse) : given;
  return path.includes("\0") ? refuse() : path;
}

/** Not every file: URL is that of a path: it may have a host, or an escaped slash. */
function pathOfUrl(url: string | URL, refuse: (cause: unknown) => never): string {
  try {
    return node.url.fileURLToPath(url);
  } catch (cause) {
    return refuse(cause);
  }
}
