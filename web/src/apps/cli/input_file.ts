// Reads text files and config.json.
import { readFile } from "node:fs/promises";
import { type Dict, isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import { failNoConfig, mayBeConfig } from "../../core/config/known_keys.js";

/** Why a file can't be read, for a message that names the file already. */
export function readFailure(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  return code === "ENOENT" ? "no such file" : `cannot be read: ${message}`;
}

/** Reads a text file. @throws {@link RopewalkError} INVALID_FILE */
export function readTextFile(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: unknown) => {
    fail("INVALID_FILE", path === "" ? '""' : path, readFailure(cause), { cause });
  });
}

/** Parses the text of a config.json. @throws {@link RopewalkError} INVALID_FILE */
export function parseConfig(path: string, text: string): Dict {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    fail("INVALID_FILE", path, `isn't valid JSON: ${(cause as Error).message}`, { cause });
  }
  if (!isDict(parsed)) fail("INVALID_FILE", path, "must contain a JSON object");
  if (!mayBeConfig(parsed)) failNoConfig(path);
  return parsed;
}
