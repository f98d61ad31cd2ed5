import { styleText } from "node:util";
import { Command, CommanderError } from "commander";
import { addCommands } from "./commands.js";
import { reportError, statusOf } from "./failures.js";
import { hasColours, nodeTerminal, type Terminal } from "./terminal.js";
import { version } from "./version.js";

const EXIT_CODES = `
Exit codes:
  0    done
  1    the work failed: a file is damaged, a server does not answer, memory is out
  2    wrong usage: an unknown option, a bad value, a missing argument
  130  interrupted
`;

/**
 * Runs the program `ropewalk`.
 * @param words - what was typed after its name.
 * @returns the exit status.
 */
export async function main(words: readonly string[]): Promise<number> {
  leaveWhenNothingCanBeWritten();
  const program = newProgram();
  let made: Terminal | undefined;
  // made when a command runs: before, its options are not known
  const terminal = (): Terminal => {
    const { json = words.includes("--json"), verbose = false } = program.opts<{ json?: boolean; verbose?: boolean }>();
    return (made ??= nodeTerminal({ json, verbose: verbose || Boolean(process.env["DEBUG"]) }));
  };
  addCommands(program, terminal);
  try {
    await program.parseAsync(words, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // help and version
    reportError(terminal(), error);
    return statusOf(error);
  }
}

function newProgram(): Command {
  const bold = (text: string): string =>
    hasColours(process.stdout) ? styleText("bold", text, { validateStream: false }) : text;
  return new Command("ropewalk")
    .description(
      "RoPE and YaRN from the command line: look into models, plot and tabulate, run them, and stretch their context.",
    )
    .version(version, "-V, --version", "print the version")
    .option("--json", "print the answer as JSON, and nothing else, on stdout")
    .option("--verbose", "show where errors come from")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({ showGlobalOptions: true, styleTitle: bold })
    .configureOutput({ outputError: () => undefined }) // reportError says it, as text or as JSON
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText("afterAll", EXIT_CODES);
}

/** `ropewalk … | head` closes the pipe early, which is no failure; a full disk behind stdout is one. Nobody can be told of one of stderr. */
function leaveWhenNothingCanBeWritten(): void {
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== "EPIPE") process.stderr.write(`error: the output cannot be written: ${message}\n`);
    process.exit(code === "EPIPE" ? 0 : 1);
  });
  process.stderr.on("error", () => undefined);
}
