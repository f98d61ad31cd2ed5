// Runs the program as a shell does.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Path of the program. */
export const program =
  process.env.ROPEWALK_PROGRAM ?? fileURLToPath(new URL("../../dist/cli.node.js", import.meta.url));

/**
 * @param words - arguments of the program
 * @param options.input - text for stdin
 * @param options.path - of another program
 * @param options.until - sends Ctrl-C once this returns true for the text on stdout
 * @returns a promise of `{ status, stdout, stderr }`, with `interrupt()`, which sends Ctrl-C, `said(pattern)`, a promise of a text on stderr, and `hasRead`, which
 * resolves when all input has been sent. A socket buffers about 0.2 MB, so with more input, the program must have
 * started to read.
 */
export function ropewalk(words, { input = "", until, cwd, env, path = program } = {}) {
  const child = spawn(process.execPath, [path, ...words], { cwd, env: { ...process.env, ...env } });
  const printed = { stdout: "", stderr: "" };
  let isInterrupted = false;
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => {
      printed[name] += text;
      if (isInterrupted || !until?.(printed.stdout)) return;
      isInterrupted = true;
      child.kill("SIGINT");
    });
  }
  child.stdin.on("error", () => {}); // a program that doesn't read stdin may exit first
  const hasRead = new Promise((resolve) => child.stdin.end(input, resolve));
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code, signal) => resolve({ status: code ?? signal, ...printed }));
  });
  const said = (pattern) =>
    new Promise((resolve, reject) => {
      const check = () => pattern.test(printed.stderr) && resolve();
      child.stderr.on("data", check);
      child.on("close", () => reject(new Error(`not said: ${pattern}\n${printed.stderr}`)));
      check();
    });
  return Object.assign(ended, { hasRead, said, interrupt: () => child.kill("SIGINT") });
}

/** Calls `use` with a temporary folder and removes it afterwards. */
export async function withFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-cli-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
