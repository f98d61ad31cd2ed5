// Reads texts with marked answers: JSON lines.
import { fail } from "../../../core/base/errors.js";
import type { SearchText } from "../../search/texts.js";
import { readTextFile } from "../input_file.js";

/** The texts of a file, one a line. What a line contains is checked by the search. @throws RopewalkError INVALID_FILE */
export async function readTexts(path: string): Promise<SearchText[]> {
  const lines = (await readTextFile(path)).split("\n");
  const texts = lines.flatMap((line, i) => {
    if (line.trim() === "") return [];
    try {
      return [JSON.parse(line) as SearchText];
    } catch (cause) {
      return fail("INVALID_FILE", path, `line ${i + 1} isn't valid JSON: ${(cause as Error).message}`, { cause });
    }
  });
  if (texts.length === 0) fail("INVALID_FILE", path, "has no texts");
  return texts;
}
