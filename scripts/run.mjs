// Runs programs, with nano-spawn.
//
// nano-spawn is imported when the first program starts: the set-up scripts import this file before node_modules exists.

import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Whether to show the output of compilers and installers as it comes. */
export const verbose = process.argv.includes("--verbose");

/** Runs a program on this terminal. Throws if it fails. Options are those of nano-spawn: `env` adds to this process's. */
export async function run(command, args = [], options = {}) {
  const { default: spawn } = await import("nano-spawn");
  await spawn(command, args, { stdio: "inherit", ...options });
}

/** Returns what a program prints on its standard output. Throws an error with all its output if it fails. */
export async function capture(command, args = [], options = {}) {
  const { stdout } = await output(command, args, options);
  return stdout;
}

/** Returns what a program prints: { stdout, stderr }. Throws an error with all its output if it fails. */
export async function output(command, args = [], options = {}) {
  const { default: spawn } = await import("nano-spawn");
  try {
    return await spawn(command, args, { stdin: "ignore", ...options });
  } catch (error) {
    error.message = [error.message, error.output].filter(Boolean).join("\n");
    throw error;
  }
}

/** Calls `onLine` with each line that a program prints. Throws an error with all lines if the program fails. */
export async function eachLine(command, args, options, onLine) {
  const { default: spawn } = await import("nano-spawn");
  const lines = [];
  try {
    for await (const line of spawn(command, args, { stdin: "ignore", ...options })) {
      lines.push(line);
      onLine(line);
    }
  } catch (error) {
    error.message = [error.message, ...lines].join("\n");
    throw error;
  }
}

/** An argument that can't be used. */
export class UsageError extends Error {
  code = "ERR_USAGE";
}

const USAGE_CODE = /^ERR_(USAGE|PARSE_ARGS)/;

/**
 * Calls `main` with the command line's arguments if Node was asked to run this module. With `--help` it prints the comment at the module's
 * start instead. Prints an error as one message. The exit code is 2 for wrong usage, 1 for any other error.
 */
export async function runMain(moduleUrl, main) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== realpathSync(fileURLToPath(moduleUrl))) return;
  if (process.argv.includes("--help")) return console.log(helpOf(readFileSync(fileURLToPath(moduleUrl), "utf8")));
  try {
    await main(process.argv.slice(2).filter((argument) => argument !== "--verbose"));
  } catch (error) {
    console.error(process.env.DEBUG ? error : `error: ${messageOf(error)}`);
    process.exitCode = USAGE_CODE.test(error.code) ? 2 : 1;
  }
}

/** Node's advice on an unknown option is for one that begins with a dash by chance. */
const messageOf = ({ code, message }) =>
  code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" ? `${message.split(". To specify")[0]}: --help lists them all` : message;

/** The comment at the start of a module. */
function helpOf(text) {
  const lines = text.replace(/^#!.*\n/, "").split("\n");
  const end = lines.findIndex((line) => !line.startsWith("//"));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n");
}
