// The folder for what the tests by name download and install. It is outside the repository, and clones share it.

import { homedir } from "node:os";
import { join } from "node:path";

/** `ROPEWALK_CACHE`, or a folder of the system's for caches. It may not exist yet. */
export function cacheFolder() {
  const { ROPEWALK_CACHE, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (ROPEWALK_CACHE) return ROPEWALK_CACHE;
  const system = process.platform === "win32" ? LOCALAPPDATA : XDG_CACHE_HOME;
  return join(system || join(homedir(), ".cache"), "ropewalk");
}
