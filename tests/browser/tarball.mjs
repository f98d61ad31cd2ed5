// Unpacks or installs the package's tarball in a folder outside the checkout.
//
// $ROPEWALK_TARBALL is the path of a packed tarball. Without it, dist/ is packed.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../../scripts/run.mjs";

/** The checkout. */
export const root = join(import.meta.dirname, "..", "..");

/** Creates an empty folder outside the checkout. */
export function makeFolder() {
  return mkdtemp(join(tmpdir(), "ropewalk-test-"));
}

/** Removes a folder and its contents. */
export function removeFolder(folder) {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** The path of the tarball. If it has to be packed, it is in `folder`. */
async function tarballIn(folder) {
  if (process.env.ROPEWALK_TARBALL) return process.env.ROPEWALK_TARBALL;
  if (!existsSync(join(root, "dist", "index.js")))
    throw new Error("dist/ is empty: run `npm run build`, or let ROPEWALK_TARBALL name a tarball");
  const name = await capture("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], {
    cwd: root,
  });
  return join(folder, name.trim());
}

/** Unpacks the package in `folder`, and returns the folder of its package.json. */
export async function unpackPackage(folder) {
  await capture("tar", ["-xzf", await tarballIn(folder), "-C", folder]);
  return join(folder, "package");
}

/** Installs the package in the app in `folder` with `npm install`. It has no dependencies, so npm asks no registry. */
export async function installPackage(folder) {
  const flags = ["--offline", "--no-audit", "--no-fund", "--silent"];
  await capture("npm", ["install", ...flags, await tarballIn(folder)], { cwd: folder });
}
