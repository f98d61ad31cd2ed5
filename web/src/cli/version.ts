import { readFileSync } from "node:fs";

/** The package's version. Its manifest lies above dist/, where all code is bundled to. */
export const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
