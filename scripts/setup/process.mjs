// Runs programs with Node alone, for the set-up scripts: they start before node_modules exists. Other scripts use ../run.mjs.

import { spawnSync } from "node:child_process";
import { verbose } from "../run.mjs";

const quiet = ["ignore", "pipe", "pipe"];
const loud = ["ignore", "inherit", "inherit"];

/** Returns what a program prints on its standard output. Throws an error with all its output if it fails. */
export function capture(command, args = [], options = {}) {
  // on Windows npm and emcc may be scripts, which only a shell can run
  const shell = process.platform === "win32" && /^npm$|\.bat$/.test(command);
  const settings = { encoding: "utf8", stdio: quiet, maxBuffer: 2 ** 28, shell, ...options };
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, settings);
  if (error) throw new Error(`${command} can't be started: ${error.message}`);
  if (status === 0) return stdout;
  const reason = signal ? `was ended by ${signal}` : `failed with status ${status}`;
  throw new Error([`${[command, ...args].join(" ")} ${reason}`, stdout, stderr].filter(Boolean).join("\n"));
}

/** Runs a program. Its output shows with --verbose, and in the error if it fails. */
export function run(command, args = [], options = {}) {
  capture(command, args, { ...options, stdio: verbose ? loud : quiet });
}
