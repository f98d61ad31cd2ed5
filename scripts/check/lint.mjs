// Checks style and documentation: ESLint, Prettier, clang-format, and TypeDoc, which writes docs/api/.

import { join } from "node:path";
import { capture } from "../run.mjs";

const root = join(import.meta.dirname, "..", "..");

/** Time limit of a tool: several times what the longest takes on two slow cores. */
const MOST_MINUTES = 8;

/** Looks only at files that changed since the last time. */
export const CACHED = { cached: true };

/**
 * Runs a tool, and once more if it hangs. A second try can't turn a wrong result into a right one: a tool's result depends only on the
 * files.
 */
async function runTool(command, args, triesLeft = 1) {
  const options = { cwd: root, preferLocal: true, timeout: MOST_MINUTES * 60_000 };
  try {
    return await capture(command, args, options);
  } catch (error) {
    if (error.signalName !== "SIGTERM" || error.durationMs < options.timeout) throw error;
    const problem = `${command} took more than ${MOST_MINUTES} minutes and was killed`;
    if (triesLeft === 0) throw new Error(problem, { cause: error });
    console.log(`  ${problem}; trying again`);
    return await runTool(command, args, triesLeft - 1);
  }
}

const cacheOptions = (name) => [
  "--cache",
  "--cache-strategy",
  "content",
  "--cache-location",
  join(root, "build", name),
];

export async function checkCode({ cached = false } = {}) {
  const options = cached ? cacheOptions("eslint.cache") : [];
  await runTool("eslint", [".", "--max-warnings", "0", ...options]);
}

export async function checkSiteTypes() {
  for (const project of ["tsconfig.json", "tsconfig.worker.json"])
    await runTool("tsc", ["-p", join(root, "web", "site", project)]);
}

export async function checkPrettier({ cached = false } = {}) {
  await runTool("prettier", ["--check", ".", ...(cached ? cacheOptions("prettier.cache") : [])]);
}

export async function checkClangFormat() {
  const options = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.cpp", "*.h"];
  const files = (await capture("git", options, { cwd: root })).split("\0").filter(Boolean);
  await runTool("clang-format", ["--dry-run", "-Werror", ...files]);
}

export async function checkDocumentation() {
  await runTool("typedoc", ["--options", join(root, "typedoc.json"), "--logLevel", "Warn"]);
}
