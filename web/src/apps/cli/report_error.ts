// Exit codes and error messages of the program.
import { type Command, CommanderError } from "commander";
import { RopewalkError, type RopewalkErrorCode } from "../../core/base/errors.js";
import { isOfOverrides } from "./command_fields.js";
import { inCommandWords } from "./command_words.js";
import { Interrupted } from "./interrupt.js";
import { usageHint } from "./options_elsewhere.js";
import type { Terminal } from "./terminal.js";

/**
 * What is wrong first: Commander looks for missing options before unknown ones, but `--outptu a.json` is an option that isn't known, and its
 * value isn't missing.
 */
export function firstProblem(error: unknown, command: Command): unknown {
  if (!(error instanceof CommanderError) || error.code !== "commander.missingMandatoryOptionValue") return error;
  const unknown = command.args.find((word) => /^-./.test(word));
  if (unknown === undefined) return error;
  try {
    // what Commander itself calls, with its suggestions; its types don't have it
    return (command as unknown as { unknownOption(flag: string): never }).unknownOption(unknown);
  } catch (better) {
    return better;
  }
}

/** Error codes that are caused by the arguments, wherever they're detected. */
const USAGE_CODES: readonly RopewalkErrorCode[] = ["INVALID_ARGUMENT", "INVALID_POSITION", "INVALID_DTYPE"];

/** Exit code for an error: 2 for wrong usage, 130 for Ctrl-C, 1 for everything else. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return 2;
  if (error instanceof Interrupted) return 130;
  if (!(error instanceof RopewalkError)) return 1;
  return USAGE_CODES.includes(error.code) || isOfOverrides(error.field) ? 2 : 1;
}

/**
 * Prints an error: as a line on stderr, or with --json as an object on stdout.
 * @param command - the command that failed, or the program if there's none
 */
export function reportError(terminal: Terminal, error: unknown, command: Command): void {
  const { stack } = error instanceof Error ? error : new Error();
  const { code, field, message: text } = described(error, command);
  if (terminal.json) terminal.result({ error: { code, field, message: text } });
  else if (error instanceof Interrupted) terminal.note(text);
  else terminal.note(`error: ${text}${error instanceof RopewalkError ? ` (${error.code})` : ""}`);
  if (terminal.verbose && stack !== undefined) terminal.note(stack);
  if (error instanceof CommanderError && !terminal.json)
    terminal.note(
      command.parent === null
        ? "Run `ropewalk --help` for the commands, or `ropewalk <command> --help` for the options of one."
        : `Run \`${pathOf(command)} --help\` for its usage.`,
    );
}

/** The message of an error in the words of a command. */
export function errorInWords(error: unknown, command: Command): string {
  return described(error, command).message;
}

function described(error: unknown, command: Command): { code: string; field: string; message: string } {
  if (error instanceof RopewalkError) return { code: error.code, ...inCommandWords(error, command) };
  if (error instanceof CommanderError)
    return { code: "USAGE", field: usageField(error), message: usageMessage(error, command) };
  const message = error instanceof Error ? error.message : String(error);
  return { code: error instanceof Interrupted ? "INTERRUPTED" : "FAILED", field: "", message };
}

/** What is typed to run a command, such as `ropewalk plot decay`. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/** The option or argument at fault, which Commander quotes first: `--output` in "required option '-o, --output <file>' not specified". */
function usageField({ code, message }: CommanderError): string {
  const quoted = code === "commander.help" ? "" : (/'([^']+)'/.exec(message)?.[1] ?? "");
  return /--[\w-]+/.exec(quoted)?.[0] ?? quoted;
}

/** Commander's message, or what is more of help. For a missing command it prints the help and has no message. */
function usageMessage(error: CommanderError, command: Command): string {
  if (error.code === "commander.help") return "a command is missing";
  return usageHint(error, command) ?? error.message.replace(/^error: /, "");
}
