// Runs programs in a new process, for tests that must start before anything is loaded, or that may end the process.
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs an ES module that may import "ropewalk", with the flags and environment of this process, and returns its output. */
export async function inNewProcess(source, flags = []) {
  const inherited = process.execArgv.filter((flag) => !flag.startsWith("--test"));
  const program = run(process.execPath, [...inherited, ...flags, "--input-type=module", "--eval", source], {
    cwd: folder,
    maxBuffer: 2 ** 26,
  });
  const { stdout } = await program.catch(({ stderr, message }) => {
    throw new Error(`the program ended with: ${(stderr || message).trim().slice(-1500)}`); // the error is at the end
  });
  return stdout.trim();
}
