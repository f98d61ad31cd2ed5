import { readFile } from "node:fs/promises";
import { RopewalkError } from "../base/errors.js";

/** A text file of the disk. @throws {@link RopewalkError} INVALID_FILE */
export function readTextFile(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: unknown) => {
    throw new RopewalkError("INVALID_FILE", path, `cannot be read: ${(cause as Error).message}`, { cause });
  });
}

/** The object that a config.json holds. @throws {@link RopewalkError} INVALID_FILE */
export function parseConfig(path: string, text: string): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new RopewalkError("INVALID_FILE", path, `is no JSON: ${(cause as Error).message}`, { cause });
  }
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>;
  throw new RopewalkError("INVALID_FILE", path, "must hold an object");
}
