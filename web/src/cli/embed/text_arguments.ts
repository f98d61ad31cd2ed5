// Texts that a command gets as arguments, or a line each from a file or stdin.
import { text as readStream } from "node:stream/consumers";
import { fail } from "../../base/errors.js";
import { readTextFile } from "../input_file.js";

/** The texts of a command's arguments: the arguments, or for `-` the lines of stdin. @throws INVALID_ARGUMENT */
export async function textArguments(given: readonly string[]): Promise<readonly string[]> {
  const isPiped = given.length === 1 && given[0] === "-";
  return isPiped ? linesOf(await readStream(process.stdin), "stdin") : given;
}

/** The lines of a file. @throws INVALID_FILE, INVALID_ARGUMENT */
export async function textLines(path: string): Promise<readonly string[]> {
  return linesOf(await readTextFile(path), path);
}

/** Empty lines are texts too, so that the first result is that of the first line, and so on. */
function linesOf(text: string, from: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop(); // what follows the last line break
  return lines.length > 0 ? lines : fail("INVALID_ARGUMENT", from, "is empty; pass a text in each line");
}

/** A text as a cell of a table. */
export function shownText(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
