// Profiles of Firefox, which takes twice as long to start with a new one as with one in which it has started before. So one is kept in build/, and
// each browser gets a copy.
import { existsSync } from "node:fs";
import { cp, mkdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, removeFolder, root } from "./tarball.mjs";

/** The profile that is kept for a program of Firefox. `start` starts it with the folder of a profile, and returns the browser. */
async function keptProfile(executablePath, start) {
  const { mtimeMs } = await stat(executablePath); // another version gets its own
  const kept = join(root, "build", "firefox", String(Math.floor(mtimeMs)));
  if (existsSync(kept)) return kept;
  const made = `${kept}_${process.pid}`;
  await mkdir(dirname(kept), { recursive: true });
  await (await start(made)).close();
  await rename(made, kept).catch(() => removeFolder(made)); // another test was faster
  return kept;
}

/** Calls `use` with the folder of a profile in which nothing but a start has happened. It is removed afterwards. */
export async function withFirefoxProfile(executablePath, start, use) {
  const folder = await makeFolder();
  try {
    const isNoLock = (path) => !path.endsWith("lock");
    await cp(await keptProfile(executablePath, start), folder, { recursive: true, filter: isNoLock });
    return await use(folder);
  } finally {
    await removeFolder(folder);
  }
}
