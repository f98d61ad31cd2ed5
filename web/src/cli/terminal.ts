import { stripVTControlCharacters, styleText } from "node:util";
import progress from "cli-progress";

/** What `style` knows: node's names of colours and of ways to write. */
export type Format = Parameters<typeof styleText>[0];

/** How a table is set. */
export interface TableStyle {
  /** One letter a column, `l` or `r`; columns past the last are as the last (`l`). */
  align?: string;
  /** Column names, above a line. */
  head?: readonly string[];
}

/** A bar for work that takes long. */
export interface Bar {
  /** How much is done, in the units of the total; a total may turn out later. */
  update(value: number, total?: number): void;
  /** Takes the bar away; it may be called again. */
  stop(): void;
}

/** Where a command writes. Text for people and JSON for programs never mix: one of `print` and `result` does nothing. */
export interface Terminal {
  /** Whether the answer is to be JSON. */
  readonly json: boolean;
  /** Whether causes and stacks of errors are shown. */
  readonly verbose: boolean;
  /** Columns; 100 where stdout is no terminal. */
  readonly width: number;
  /** A line on stdout; nothing under --json. */
  print(text?: string): void;
  /** Text on stdout without a new line; nothing under --json. */
  write(text: string): void;
  /** A line on stderr, for what is not the answer. */
  note(text: string): void;
  /** The answer as JSON on stdout, under --json only. Numbers that JSON lacks are written as null. */
  result(value: unknown): void;
  /** Colours where stdout shows them, else the text as it is. */
  style(format: Format, text: string): string;
  /** Rows in columns, two blanks between them. */
  table(rows: readonly (readonly string[])[], style?: TableStyle): string;
  /** A bar on stderr, silent unless that is a terminal and the answer is for people. */
  progress(label: string, total?: number): Bar;
}

/** Does work under a bar, which is gone when it is over; `update` is {@link Bar.update}. */
export async function withBar<Value>(
  terminal: Terminal,
  label: string,
  work: (update: Bar["update"]) => Promise<Value>,
  total?: number,
): Promise<Value> {
  const bar = terminal.progress(label, total);
  try {
    return await work((done, newTotal) => bar.update(done, newTotal));
  } finally {
    bar.stop();
  }
}

/** What the options of every command say of the terminal. */
export interface TerminalOptions {
  json: boolean;
  verbose: boolean;
}

const SILENT: Bar = { update: () => undefined, stop: () => undefined };

/** The terminal that the program was started from. */
export function nodeTerminal({ json, verbose }: TerminalOptions): Terminal {
  const write = (text: string): void => {
    if (!json) process.stdout.write(text);
  };
  return {
    json,
    verbose,
    width: process.stdout.columns || 100,
    write,
    print: (text = "") => write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    result: (value) => {
      if (json) process.stdout.write(`${JSON.stringify(value, plainJson, 2)}\n`);
    },
    style: (format, text) => (hasColours(process.stdout) ? styleText(format, text, { validateStream: false }) : text),
    table: formatTable,
    progress: (label, total = 0) => (json || !process.stderr.isTTY ? SILENT : bar(label, total)),
  };
}

/** Whether a stream shows colours and nobody has asked for none (no-color.org). */
export function hasColours(stream: NodeJS.WriteStream): boolean {
  return !process.env["NO_COLOR"] && stream.isTTY && stream.hasColors();
}

/** Typed arrays as lists of numbers; big integers as numbers where they are exact, else as text. */
function plainJson(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? Array.from(value as unknown as ArrayLike<number>)
    : value;
}

function formatTable(rows: readonly (readonly string[])[], { align = "l", head }: TableStyle = {}): string {
  const all = head === undefined ? rows : [head, ...rows];
  const columns = Math.max(0, ...all.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...all.map((row) => shownLength(row[column] ?? ""))),
  );
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
  const blanks = " ".repeat(width - shownLength(text));
  return side === "r" ? blanks + text : text + blanks;
}

/** Characters that take a place; what sets colours takes none. */
function shownLength(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length;
}

function bar(label: string, total: number): Bar {
  const shown = new progress.SingleBar(
    {
      format: `${label} {bar} {percentage} % · {eta_formatted}`,
      hideCursor: true,
      clearOnComplete: true,
      etaBuffer: 20,
    },
    progress.Presets.shades_classic,
  );
  shown.start(total, 0);
  return {
    update(value, newTotal) {
      if (newTotal !== undefined) shown.setTotal(newTotal);
      shown.update(value);
    },
    stop: () => shown.stop(),
  };
}
