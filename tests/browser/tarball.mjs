// The package as it ships: the tarball, unpacked or installed in a folder outside the checkout.
//
// $ROPEWALK_TARBALL names a tarball that is already packed; without it, dist/ is packed as it stands.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../../scripts/run.mjs";

/** The checkout. */
export const root = join(import.meta.dirname, "..", "..");

/** Makes an empty folder outside the checkout. */
export function makeFolder() {
  return mkdtemp(join(tmpdir(), "ropewalk-test-"));
}

/** Removes a folder and all that is in it. */
export function removeFolder(folder) {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** The path of the tarball; one that is packed here lies in `folder`. */
async function tarballIn(folder) {
  if (process.env.ROPEWALK_TARBALL) return process.env.ROPEWALK_TARBALL;
  if (!existsSync(join(root, "dist", "index.js")))
    throw new Error("dist/ is empty: run `npm run build`, or let ROPEWALK_TARBALL name a tarball");
  const name = await capture("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root });
  return join(folder, name.trim());
}

/** Unpacks the package below `folder`; returns where its package.json lies. */
export async function unpackPackage(folder) {
  await capture("tar", ["-xzf", await tarballIn(folder), "-C", folder]);
  return join(folder, "package");
}

/** Installs the package into the app in `folder`, as `npm install` does for a user. It depends on nothing, so no registry is asked. */
export async function installPackage(folder) {
  const flags = ["--offline", "--no-audit", "--no-fund", "--silent"];
  await capture("npm", ["install", ...flags, await tarballIn(folder)], { cwd: folder });
}
