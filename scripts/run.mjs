// Running other programs: one function that shows their output, one that returns it.

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

function start(command, args, options, stdio) {
  return new Promise((resolve, reject) => {
    const { input, ...spawnOptions } = options;
    const child = spawn(command, args, { ...spawnOptions, stdio });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (stderr += text));
    child.stdin?.on("error", () => {}); // the program closed its input early: its exit status tells the story
    child.stdin?.end(input);
    child.on("error", (error) => {
      const reason = error.code === "ENOENT" ? "program not found" : error.message;
      reject(Object.assign(new Error(`${command}: ${reason}`), { code: error.code, stdout, stderr }));
    });
    child.on("close", (status, signal) => {
      if (status === 0) return resolve(stdout);
      const ending = signal ? `was ended by ${signal}` : `failed with status ${status}`;
      const line = [command, ...args].join(" ");
      const shown = line.length > 300 ? `${line.slice(0, 300)} …` : line;
      const message = [`${ending}: ${shown}`, stderr.trim()].filter(Boolean).join("\n");
      reject(Object.assign(new Error(message), { status, signal, stdout, stderr }));
    });
  });
}

/** Runs a program with this one's terminal. Rejects, naming the command, when it fails. Options are those of `spawn`. */
export async function run(command, args = [], options = {}) {
  await start(command, args, options, options.stdio ?? "inherit");
}

/** Runs a program quietly and returns what it printed. `options.input` is given to it on its standard input. */
export async function capture(command, args = [], options = {}) {
  return start(command, args, options, ["pipe", "pipe", "pipe"]);
}

/** For a script's last lines: runs `main` when the file is the one that Node was asked to run; errors become one message. */
export function runMain(moduleUrl, main) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== realpathSync(fileURLToPath(moduleUrl))) return;
  main(process.argv.slice(2)).catch((error) => {
    console.error(process.env.DEBUG ? error : `error: ${error.message}`);
    process.exitCode = 1;
  });
}
