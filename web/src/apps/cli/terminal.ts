// Output of a command: text for people, JSON for programs, tables, colors and progress bars.
import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { printable, printableText } from "../../core/base/show.js";
import { NO_BAR, type ProgressBar, progressBar, type Unit } from "./progress_bar.js";

/** A color or text style of Node's styleText(). */
export type Format = Parameters<typeof styleText>[0];

/** Format of a table. */
export interface TableStyle {
  /** One letter per column, `l` or `r`. The last one also applies to further columns. Default: `l`. */
  align?: string;
  /** Column names, above a line. */
  head?: readonly string[];
}

/**
 * Where a command writes. With --json, `print` and `write` do nothing. Without, `result` does nothing. Names, messages and texts may come
 * from a file, so control characters in all that is written are escaped: no file can change the terminal.
 */
export interface Terminal {
  /** Whether --json was given. */
  readonly json: boolean;
  /** Whether to print stack traces of errors. */
  readonly verbose: boolean;
  /** Columns; 100 if stdout isn't a terminal. */
  readonly width: number;
  /** Prints a line on stdout, unless --json is given. */
  print(text?: string): void;
  /** Prints text on stdout without a line break, unless --json is given. */
  write(text: string): void;
  /** Prints a line on stderr: summaries, warnings and errors. */
  note(text: string): void;
  /** Prints the result as JSON on stdout, if --json is given. NaN and infinities become null. */
  result(value: unknown): void;
  /** Prints JSON that is written already on stdout, if --json is given. */
  resultText(json: string): void;
  /** Adds a style if stdout shows colors. */
  style(format: Format, text: string): string;
  /** Aligns rows in columns, with two spaces between them. */
  table(rows: readonly (readonly string[])[], style?: TableStyle): string;
  /** Shows a progress bar on stderr once the total is known. Does nothing with --json or if stderr isn't a terminal. */
  progress(label: string, unit: Unit, total?: number): ProgressBar;
}

/** Shows a progress bar during `work`. `update` is {@link ProgressBar.update}. */
export async function withProgress<Value>(
  terminal: Terminal,
  label: string,
  unit: Unit,
  work: (update: ProgressBar["update"]) => Promise<Value>,
  total?: number,
): Promise<Value> {
  const bar = terminal.progress(label, unit, total);
  try {
    return await work((done, newTotal) => bar.update(done, newTotal));
  } finally {
    bar.stop();
  }
}

/** Global options that affect the terminal. */
export interface TerminalOptions {
  json: boolean;
  verbose: boolean;
}

/** Stands for ESC in styled text until it is written. Random, so that no file has it. */
const STYLE_MARK = `\ufdd0${randomUUID()}\ufdd1`;

/** The terminal of this process. */
export function nodeTerminal({ json, verbose }: TerminalOptions): Terminal {
  const write = (text: string): void => {
    if (!json) process.stdout.write(withStyles(printableText(text)));
  };
  const resultText = (text: string): void => {
    if (json) process.stdout.write(`${printable(text)}\n`); // JSON leaves some control characters as they are
  };
  return {
    json,
    verbose,
    width: process.stdout.columns || 100,
    write,
    print: (text = "") => write(`${printable(text)}\n`),
    note: (text) => void process.stderr.write(`${withStyles(printable(text))}\n`),
    result: (value) => resultText(JSON.stringify(value, plainJson, 2)),
    resultText,
    style: (format, text) =>
      hasColors(process.stdout)
        ? styleText(format, printable(text), { validateStream: false }).replaceAll("\u001b", STYLE_MARK)
        : text,
    table: formatTable,
    progress: (label, unit, total) =>
      json || !process.stderr.isTTY ? NO_BAR : progressBar(printable(label), unit, total),
  };
}

/** Whether a stream shows colors and NO_COLOR isn't set (no-color.org). */
export function hasColors(stream: NodeJS.WriteStream): boolean {
  return !process.env["NO_COLOR"] && stream.isTTY && stream.hasColors();
}

/** JSON replacer: typed arrays become lists, bigints become numbers if they're exact, otherwise strings. */
function plainJson(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? Array.from(value as unknown as ArrayLike<number>)
    : value;
}

function formatTable(rows: readonly (readonly string[])[], { align = "l", head }: TableStyle = {}): string {
  const all = head === undefined ? rows : [head, ...rows];
  const widths: number[] = [];
  for (const row of all)
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, visibleLength(text));
  const line = (row: readonly string[]): string =>
    widths
      .map((width, column) => pad(row[column] ?? "", width, align[column] ?? align.at(-1)))
      .join("  ")
      .trimEnd();
  const lines = rows.map(line);
  return (
    head === undefined ? lines : [line(head), widths.map((width) => "─".repeat(width)).join("  "), ...lines]
  ).join("\n");
}

function pad(text: string, width: number, side = "l"): string {
  const spaces = " ".repeat(width - visibleLength(text));
  return side === "r" ? spaces + text : text + spaces;
}

/** Number of characters on the screen. */
function visibleLength(text: string): number {
  const plain = text.split(STYLE_MARK).map((part, i) => (i === 0 ? part : part.replace(/^\[[\d;]*m/, "")));
  return Array.from(printable(plain.join(""))).length;
}

function withStyles(text: string): string {
  return text.replaceAll(STYLE_MARK, "\u001b");
}
