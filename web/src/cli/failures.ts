import { CommanderError } from "commander";
import { RopewalkError, type RopewalkErrorCode } from "../errors.js";
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
  const said = error instanceof CommanderError ? message.replace(/^error: /, "") : message;
  const where =
    error instanceof RopewalkError
      ? { code: error.code, field: error.field }
      : { code: error instanceof CommanderError ? "USAGE" : "FAILED", field: "" };
  if (error instanceof Interrupted) terminal.note(said);
  else if (terminal.json) terminal.result({ error: { ...where, message: said } });
  else terminal.note(`error: ${said}${error instanceof RopewalkError ? ` (${error.code})` : ""}`);
  if (terminal.verbose && stack !== undefined) terminal.note(stack);
  if (error instanceof CommanderError && !terminal.json)
    terminal.note("`ropewalk --help` lists commands, `ropewalk <command> --help` its options.");
}
