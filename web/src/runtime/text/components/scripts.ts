// The pre-tokenizer UnicodeScripts: words of one script.
import { SCRIPT_RUNS } from "../unicode/script_runs.js";
import type { Splitter } from "./words.js";

/** The first character of each run, and the script of its characters; 0 for none. */
interface Scripts {
  readonly starts: Int32Array;
  readonly scripts: Int32Array;
}

let table: Scripts | undefined;

function readTable(): Scripts {
  const starts: number[] = [];
  const scripts: number[] = [];
  const numbers = new Map([["Z", 0]]);
  let start = 0;
  for (const [, letters, length] of SCRIPT_RUNS.matchAll(/([A-TZ]|[U-Y][A-Z])([0-9a-z]*)/g)) {
    if (!numbers.has(letters!)) numbers.set(letters!, numbers.size);
    starts.push(start);
    scripts.push(numbers.get(letters!)!);
    start += length === "" ? 1 : Number.parseInt(length!, 36);
  }
  return { starts: Int32Array.from([...starts, start]), scripts: Int32Array.from([...scripts, 0]) };
}

function scriptOf({ starts, scripts }: Scripts, code: number): number {
  let low = 0;
  for (let high = starts.length; high - low > 1;) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= code) low = middle;
    else high = middle;
  }
  return scripts[low]!;
}

/** Characters of no script, and spaces, belong to the word before them. Those before the first word are left out. */
export const splitByScript: Splitter = (source, words) => {
  table ??= readTable();
  const { text } = source;
  let last = 0;
  let start = -1;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    const script = scriptOf(table, code);
    if (script !== 0 && script !== last) {
      if (start >= 0) words.add(source, start, at);
      start = at;
      last = script;
    }
    at += code > 0xffff ? 2 : 1;
  }
  if (start >= 0) words.add(source, start, text.length);
};
