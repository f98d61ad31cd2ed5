// Exit codes and error messages of the program.
import { CommanderError } from "commander";
import { RopewalkError, type RopewalkErrorCode } from "../base/errors.js";
import { Interrupted } from "./interrupt.js";
import type { Terminal } from "./terminal.js";

/** Error codes that are caused by the arguments, wherever they're detected. */
const USAGE_CODES: readonly RopewalkErrorCode[] = ["INVALID_ARGUMENT", "INVALID_POSITION", "INVALID_DTYPE"];

/** Exit code for an error: 2 for wrong usage, 130 for Ctrl-C, 1 for everything else. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return 2;
  if (error instanceof Interrupted) return 130;
  if (!(error instanceof RopewalkError)) return 1;
  return USAGE_CODES.includes(error.code) || error.field.startsWith("overrides") ? 2 : 1;
}

/**
 * Prints an error: as a line on stderr, or with --json as an object on stdout.
 * @param command - name of the command that was used wrongly, such as `plot decay`; empty if there's none
 */
export function reportError(terminal: Terminal, error: unknown, command = ""): void {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const text = error instanceof CommanderError ? usageMessage(error) : message;
  if (terminal.json) terminal.result({ error: { ...codeAndField(error), message: text } });
  else if (error instanceof Interrupted) terminal.note(text);
  else terminal.note(`error: ${text}${error instanceof RopewalkError ? ` (${error.code})` : ""}`);
  if (terminal.verbose && stack !== undefined) terminal.note(stack);
  if (error instanceof CommanderError && !terminal.json)
    terminal.note(
      command === ""
        ? "Run `ropewalk --help` for the commands, or `ropewalk <command> --help` for the options of one."
        : `Run \`ropewalk ${command} --help\` for its usage.`,
    );
}

function codeAndField(error: unknown): { code: string; field: string } {
  if (error instanceof RopewalkError) return { code: error.code, field: error.field };
  if (error instanceof Interrupted) return { code: "INTERRUPTED", field: "" };
  return { code: error instanceof CommanderError ? "USAGE" : "FAILED", field: "" };
}

/** Commander's message. For a missing command it prints the help and has no message. */
function usageMessage({ code, message }: CommanderError): string {
  return code === "commander.help" ? "a command is missing" : message.replace(/^error: /, "");
}
