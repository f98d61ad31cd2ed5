// The `ropewalk` program: its commands, global options and exit codes.
import { readFileSync } from "node:fs";
import { styleText } from "node:util";
import { Command, CommanderError } from "commander";
import { addBench } from "./bench/bench.js";
import { addChat } from "./chat/chat.js";
import { addConvert } from "./convert/convert.js";
import { addDecide } from "./decide/decide.js";
import { addDoctor } from "./doctor/doctor.js";
import { addEmbed } from "./embed/embed.js";
import { addRank } from "./embed/rank.js";
import { addGenerate } from "./generate/generate.js";
import { addInspect } from "./inspect/inspect.js";
import { addModels } from "./models/models.js";
import { addPerplexity } from "./perplexity/perplexity.js";
import { addPlot } from "./plot/plot.js";
import { chooseHub } from "./hub_options.js";
import { exitCodeOf, firstProblem, reportError } from "./report_error.js";
import { addSearch } from "./search/search.js";
import { addServe } from "./serve/serve.js";
import { addTable } from "./table.js";
import { hasColors, nodeTerminal, type Terminal } from "./terminal.js";
import { addTrace } from "./trace.js";

/** In the order of the help. All are imported at every start, so `ropewalk doctor` imports its large module when it runs. */
const COMMANDS = [
  addInspect,
  addDoctor,
  addPlot,
  addTable,
  addGenerate,
  addChat,
  addEmbed,
  addRank,
  addDecide,
  addServe,
  addPerplexity,
  addSearch,
  addTrace,
  addConvert,
  addModels,
  addBench,
];

const EXIT_CODES = `
Exit codes:
  0    success
  1    failure, such as a damaged file, an unreachable server, or out of memory
  2    wrong usage: an unknown option, an invalid value, or a missing argument
  130  interrupted with Ctrl-C
`;

/**
 * Runs the program `ropewalk`.
 * @param args - command-line arguments after the program's name
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  handleOutputErrors();
  const program = newProgram();
  let created: Terminal | undefined;
  // created when a command runs, because the options aren't parsed before
  const terminal = (): Terminal => {
    const { json = args.includes("--json"), verbose = false } = program.opts<{ json?: boolean; verbose?: boolean }>();
    return (created ??= nodeTerminal({ json, verbose: verbose || Boolean(process.env["DEBUG"]) }));
  };
  for (const add of COMMANDS) add(program, terminal);
  program.hook("preAction", () => chooseHub(program.opts<{ hub?: string }>().hub));
  try {
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // help and version
    const command = commandIn(program, args);
    reportError(terminal(), firstProblem(error, command), command);
    return exitCodeOf(error);
  }
}

function newProgram(): Command {
  const bold = (text: string): string =>
    hasColors(process.stdout) ? styleText("bold", text, { validateStream: false }) : text;
  return new Command("ropewalk")
    .description(
      "Inspect, plot and run RoPE (rotary position embeddings) of language models, and extend their context with YaRN.",
    )
    .version(packageVersion(), "-V, --version", "print the version")
    .option("--json", "print the result as JSON, and nothing else on stdout")
    .option("--hub <url>", "where models are opened by name (default: $HF_ENDPOINT, or https://huggingface.co)")
    .option("--verbose", "print stack traces of errors")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({ showGlobalOptions: true, styleTitle: bold })
    .configureOutput({ outputError: () => undefined }) // reportError prints it, as text or as JSON
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText("afterAll", EXIT_CODES);
}

/** The command that the arguments name; the program itself if they name none. */
function commandIn(program: Command, args: readonly string[]): Command {
  const index = args.findIndex((arg) => !arg.startsWith("-"));
  const command = program.commands.find((candidate) => candidate.name() === args[index]);
  return command === undefined ? program : commandIn(command, args.slice(index + 1));
}

/** The code is bundled into dist/, one folder below package.json. */
function packageVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/**
 * Ends the program when stdout can't be written: with 0 for a closed pipe, as in `ropewalk … | head`, and with 1 for a
 * full disk. Errors of stderr are ignored, because there's nowhere to report them.
 */
function handleOutputErrors(): void {
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== "EPIPE") process.stderr.write(`error: the output cannot be written: ${message}\n`);
    process.exit(code === "EPIPE" ? 0 : 1);
  });
  process.stderr.on("error", () => undefined);
}
