// Runs test files with node:test and counts their tests.

import { mkdir, readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { capture } from "../run.mjs";
import { countTests } from "./junit.mjs";

/** Files of tests/ that take the longest of their folder. They start first, so that no processor waits for the last one. */
const LONGEST = [
  ["unit", "model_placement"],
  ["cli", "inspect"],
  ["browser", "load"],
  ["browser", "same_bytes"],
  ["bundlers", "webpack"],
  ["examples", "guide"],
  ["site", "lab_keyboard"],
  ["site", "live"],
  ["site", "models"],
  ["site", "doctor"],
].map(([folder, name]) => join(folder, `${name}.test.mjs`));

/** The test files in a folder and the folders in it, the longest first, the others sorted. */
export async function testFiles(folder) {
  const names = await readdir(folder, { recursive: true });
  const rank = (name) => {
    const index = LONGEST.indexOf(join(basename(folder), name));
    return index < 0 ? LONGEST.length : index;
  };
  return names
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .sort((a, b) => rank(a) - rank(b))
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
