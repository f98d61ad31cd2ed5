// Where the released files are, which `npm test -- released` fetches.
import { existsSync } from "node:fs";
import { releasedFolders } from "../../scripts/setup/released.mjs";

/** The folder of each package's files. Its names are those of scripts/setup/released.mjs. */
export const released = releasedFolders();

const missing = Object.values(released).find((folder) => !existsSync(folder));
if (missing) throw new Error(`${missing} is missing: run node scripts/setup/released.mjs first`);
