// Texts that a command gets as arguments, or a line each from a file or stdin.
import * as advise from "../../../core/base/advice.js";
import { text as readStream } from "node:stream/consumers";
import { fail } from "../../../core/base/errors.js";
import { readTextFile } from "../input_file.js";

/** The texts of a command's arguments, with the lines of stdin in the place of `-`. @throws INVALID_ARGUMENT */
export async function textArguments(given: readonly string[]): Promise<readonly string[]> {
  const piped = given.filter((text) => text === "-");
  if (piped.length === 0) return given;
  if (piped.length > 1) fail("INVALID_ARGUMENT", "-", "reads stdin, so it can stand among the texts only once");
  const lines = linesOf(await readStream(process.stdin), "stdin");
  return given.flatMap((text) => (text === "-" ? lines : [text]));
}

/** The lines of a file. @throws INVALID_FILE, INVALID_ARGUMENT */
export async function textLines(path: string): Promise<readonly string[]> {
  return linesOf(await readTextFile(path), path);
}

/** Empty lines are texts too, so that the first result is that of the first line, and so on. */
function linesOf(text: string, from: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop(); // what follows the last line break
  return lines.length > 0
    ? lines
    : fail("INVALID_ARGUMENT", from, "is empty", advise.other("pass a text in each line"));
}

/** A text as a cell of a table. */
export function shownText(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
