import { CommanderError } from "commander";
import { RopewalkError, type RopewalkErrorCode } from "../base/errors.js";
import { Interrupted } from "./interrupt.js";
import type { Terminal } from "./terminal.js";

/** Errors of what was typed, wherever they are found. */
const USAGE_CODES: readonly RopewalkErrorCode[] = ["INVALID_ARGUMENT", "INVALID_POSITION", "INVALID_DTYPE"];

/** The exit status that an error is answered by: 2 for wrong usage, 130 for Ctrl-C, 1 for work that failed. */
export function statusOf(error: unknown): number {
  if (error instanceof CommanderError) return 2;
  if (error instanceof Interrupted) return 130;
  if (!(error instanceof RopewalkError)) return 1;
  return USAGE_CODES.includes(error.code) || error.field.startsWith("overrides") ? 2 : 1;
}

/** Says what went wrong in a line on stderr, and under --json as an object on stdout. */
export function reportError(terminal: Terminal, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const said = error instanceof CommanderError ? usageInWords(error) : message;
  if (terminal.json) terminal.result({ error: { ...whereOf(error), message: said } });
  else if (error instanceof Interrupted) terminal.note(said);
  else terminal.note(`error: ${said}${error instanceof RopewalkError ? ` (${error.code})` : ""}`);
  if (terminal.verbose && stack !== undefined) terminal.note(stack);
  if (error instanceof CommanderError && !terminal.json)
    terminal.note("`ropewalk --help` lists commands, `ropewalk <command> --help` its options.");
}

function whereOf(error: unknown): { code: string; field: string } {
  if (error instanceof RopewalkError) return { code: error.code, field: error.field };
  if (error instanceof Interrupted) return { code: "INTERRUPTED", field: "" };
  return { code: error instanceof CommanderError ? "USAGE" : "FAILED", field: "" };
}

/** Commander's own words, but for those of a command that is missing: it has printed the help instead. */
function usageInWords({ code, message }: CommanderError): string {
  return code === "commander.help" ? "a command is missing" : message.replace(/^error: /, "");
}
