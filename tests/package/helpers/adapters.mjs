// The golden adapters (tests/golden/adapters).
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const GOLDEN = join(import.meta.dirname, "..", "..", "golden");
const FOLDER = join(GOLDEN, "adapters");

export const folderOf = (name) => join(FOLDER, name);

/** The adapters and stacks that have a file. */
export const adaptersIn = (file) => readdirSync(FOLDER).filter((name) => existsSync(join(FOLDER, name, file)));

export const expectedOf = (name, file = "expected.json") => JSON.parse(readFileSync(join(FOLDER, name, file), "utf8"));
