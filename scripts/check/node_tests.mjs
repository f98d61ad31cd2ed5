// Runs test files with node:test and counts their tests.

import { mkdir, readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { capture } from "../run.mjs";
import { countTests } from "./junit.mjs";

/** The test files in a folder and the folders in it, sorted. */
export async function testFiles(folder) {
  const names = await readdir(folder, { recursive: true });
  return names
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .map((name) => join(folder, name));
}

/** Runs test files and writes their JUnit file. Returns the counts. Throws an error with the failures, and with `counts`. */
export async function runNodeTests(
  files,
  results,
  { flags = [], concurrency = availableParallelism(), ...options } = {},
) {
  await mkdir(dirname(results), { recursive: true });
  const reporters = [
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    "--test-reporter=junit",
    `--test-reporter-destination=${results}`,
  ];
  const args = [...flags, "--test", `--test-concurrency=${concurrency}`, ...reporters, ...files];
  try {
    await capture(process.execPath, args, options);
  } catch (error) {
    const [, failures = error.message] = error.message.split(/^✖ failing tests:\n/m);
    const counts = await countTests(results).catch(() => undefined);
    throw Object.assign(new Error(failures.trim()), { counts });
  }
  const counts = await countTests(results);
  if (counts.passed === 0) throw new Error("no tests passed: expected at least one");
  return counts;
}
