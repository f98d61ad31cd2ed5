// Wraps a line of text as Python's textwrap does.
import { lengthOf } from "../values/types.js";
import { strip } from "../values/whitespace.js";

const LETTER = "[\\p{L}\\p{Nl}\\p{No}_]";
const WORD = "[\\p{L}\\p{N}_!\"'&.,?]";
const BLANK = "[\\t\\n\\v\\f\\r ]";
const INSIDE = "[^\\t\\n\\v\\f\\r ]";
/** Whitespace, dashes between words, and words, which may be cut after a hyphen. */
const PIECES = new RegExp(
  `${BLANK}+|(?<=${WORD})-{2,}(?=[\\p{L}\\p{N}_])|${INSIDE}+?(?:-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${LETTER}-))(?=${LETTER}-?${LETTER})|(?=${BLANK}|$)|(?<=${WORD})(?=-{2,}[\\p{L}\\p{N}_]))`,
  "gu",
);
const WORDS = new RegExp(`${BLANK}+|${INSIDE}+`, "gu");

/** How {@link wrapped} cuts. */
export interface Wrapping {
  readonly width: number;
  /** Whether words longer than a line are cut. */
  readonly breaksWords: boolean;
  readonly breaksHyphens: boolean;
}

/** The lines of a text. @throws RangeError: the width is below 1 */
export function wrapped(text: string, style: Wrapping): string[] {
  const { width } = style;
  const chunks = [...text.matchAll(style.breaksHyphens ? PIECES : WORDS)].map(([chunk]) => chunk).reverse();
  if (width <= 0) throw new RangeError(`invalid width ${width} (must be > 0)`);
  const lines: string[] = [];
  while (chunks.length > 0) {
    const line: string[] = [];
    let length = 0;
    if (isBlank(chunks.at(-1)!) && lines.length > 0) chunks.pop();
    while (chunks.length > 0 && length + lengthOf(chunks.at(-1)!) <= width) {
      const chunk = chunks.pop()!;
      line.push(chunk);
      length += lengthOf(chunk);
    }
    if (chunks.length > 0 && lengthOf(chunks.at(-1)!) > width) cutWord(chunks, line, length, style);
    if (line.length > 0 && isBlank(line.at(-1)!)) line.pop();
    if (line.length > 0) lines.push(line.join(""));
  }
  return lines;
}

function isBlank(chunk: string): boolean {
  return strip(chunk) === "";
}

/** Takes what fits of a word that is longer than a line. */
function cutWord(
  chunks: string[],
  line: string[],
  length: number,
  { width, breaksWords, breaksHyphens }: Wrapping,
): void {
  if (!breaksWords) {
    if (line.length === 0) line.push(chunks.pop()!);
    return;
  }
  const characters = Array.from(chunks.pop()!);
  let end = width - length;
  if (breaksHyphens && characters.length > end) {
    const hyphen = characters.lastIndexOf("-", end - 1);
    if (end > 0 && hyphen > 0 && characters.slice(0, hyphen).some((character) => character !== "-")) end = hyphen + 1;
  }
  line.push(characters.slice(0, end).join(""));
  chunks.push(characters.slice(end).join(""));
}
