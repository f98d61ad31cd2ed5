// Runs the program as a shell would, and tells what came of it.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where it is. */
export const program =
  process.env.ROPEWALK_PROGRAM ?? fileURLToPath(new URL("../../dist/cli.node.js", import.meta.url));

/**
 * @param words - what is typed after the program's name.
 * @param options.input - what comes on stdin.
 * @param options.until - Ctrl-C is pressed once this holds of what has been printed on stdout.
 * @returns a promise of `{ status, stdout, stderr }`, with `interrupt()`, which presses Ctrl-C, and `hasRead`, which waits until all that
 * comes on stdin has left here: of more than a socket holds (about 0.2 MB), until the program reads.
 */
export function ropewalk(words, { input = "", until, cwd, env } = {}) {
  const child = spawn(process.execPath, [program, ...words], { cwd, env: { ...process.env, ...env } });
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
  child.stdin.on("error", () => {}); // a program that reads nothing may be gone before
  const hasRead = new Promise((resolve) => child.stdin.end(input, resolve));
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code, signal) => resolve({ status: code ?? signal, ...printed }));
  });
  return Object.assign(ended, { hasRead, interrupt: () => child.kill("SIGINT") });
}

/** Uses a folder of its own, which is then removed. */
export async function withFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-cli-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
