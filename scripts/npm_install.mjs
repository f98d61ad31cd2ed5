// Makes node_modules match package-lock.json; does nothing when it does already. `node scripts/npm_install.mjs`
// Imports nothing from node_modules, so that a fresh clone can run it first.

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run, runMain } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Whether npm's own note of what it installed agrees with the lock file. */
function isUpToDate(folder) {
  const note = join(folder, "node_modules", ".package-lock.json");
  const lock = join(folder, "package-lock.json");
  if (!existsSync(note)) return false;
  if (!existsSync(lock)) return statSync(note).mtimeMs >= statSync(join(folder, "package.json")).mtimeMs;
  const { packages: installed } = JSON.parse(readFileSync(note, "utf8"));
  const { packages: wanted } = JSON.parse(readFileSync(lock, "utf8"));
  const isInstalled = ([path, { version, integrity, optional, devOptional }]) => {
    if (!path.includes("node_modules/")) return true; // this package itself, or a workspace of it
    if (!(path in installed)) return Boolean(optional || devOptional); // such as a binary for another platform
    return installed[path].version === version && installed[path].integrity === integrity;
  };
  return Object.entries(wanted).every(isInstalled) && Object.keys(installed).every((path) => path in wanted);
}

/** Runs `npm ci` (`npm install` without a lock file) when node_modules is missing or does not match the lock file. */
export async function ensureNodeModules(folder = root) {
  if (isUpToDate(folder)) return;
  const command = existsSync(join(folder, "package-lock.json")) ? "ci" : "install";
  console.error(`npm ${command}`);
  const options = ["--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", [command, ...options], { cwd: folder, shell: process.platform === "win32" });
}

runMain(import.meta.url, () => ensureNodeModules());
