// Files that a page keeps for itself: small ones in a folder of OPFS, by name.
import { fail } from "../../core/base/errors.js";
import { messageOf, show } from "../../core/base/show.js";
import { createOpfsStore, UNFINISHED } from "./cache/opfs_store.js";
import type { PieceStore } from "./cache/piece_store.js";
import type { FilePlatform, KeptFiles } from "./platform.js";

const FOLDER = "ropewalk-sessions";

/** Keeps files in OPFS, which needs a secure context. @internal */
export function opfsKeptFiles(platform: FilePlatform): KeptFiles {
  const opened = async (): Promise<PieceStore> => {
    try {
      const store = await createOpfsStore(platform, FOLDER);
      if (store !== undefined) return store;
    } catch (cause) {
      fail("INVALID_FILE", "name", `can't be kept or opened: OPFS isn't usable here (${messageOf(cause)})`, { cause });
    }
    return fail("INVALID_FILE", "name", "can't be kept or opened: this environment has no OPFS");
  };
  return {
    async write(given, bytes) {
      const name = checkName(given);
      const store = await opened();
      await store.write(name, bytes).catch((cause: unknown) => {
        fail("INVALID_FILE", "name", `${show(name)} can't be written: ${messageOf(cause)}`, { cause });
      });
    },
    async read(given) {
      const name = checkName(given);
      const blob = await (await opened()).read(name);
      if (blob === undefined) fail("INVALID_FILE", "name", `there is no kept session ${show(name)}`);
      return new Uint8Array(await blob.arrayBuffer());
    },
  };
}

/** OPFS has no file with such a name. */
function checkName(given: string | URL): string {
  const isName = typeof given === "string" && !/^\.{0,2}$|[/\\]/.test(given);
  if (!isName)
    return fail("INVALID_ARGUMENT", "name", `must be the name of a file in OPFS, without slashes (got ${show(given)})`);
  if (given.endsWith(UNFINISHED))
    fail("INVALID_ARGUMENT", "name", `must not end in ${UNFINISHED}, as files that are being written do`);
  return given;
}
