// Runs test files with node:test and counts their tests.

import { mkdir, readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { capture } from "../run.mjs";
import { countTests } from "./junit.mjs";

/** Files of tests/ that take the longest. They start first, so that no processor waits for the last one. */
const LONGEST = [
  ["unit", "model_placement"],
  ["cli", "inspect"],
  ["bundlers", "webpack"],
  ["examples", "guide"],
  ["browser", "threads"],
  ["browser", "load"],
  ["site", "site"],
  ["bundlers", "rollup"],
  ["browser", "model"],
  ["files", "in_browsers"],
  ["site", "guide"],
  ["browser", "same_bytes"],
  ["bundlers", "vite"],
  ["site", "lab_keyboard"],
  ["site", "lab_touch"],
  ["examples", "arena"],
  ["examples", "small_model"],
].map(([folder, name]) => join(folder, `${name}.test.mjs`));

/** The test files in folders and the folders in them, the longest first, the others in the order of the folders, sorted. */
export async function testFiles(...folders) {
  const found = folders.map(async (folder) => {
    const names = await readdir(folder, { recursive: true });
    return names
      .filter((name) => name.endsWith(".test.mjs"))
      .sort()
      .map((name) => ({ path: join(folder, name), rank: rankOf(join(basename(folder), name)) }));
  });
  return (await Promise.all(found))
    .flat()
    .sort((a, b) => a.rank - b.rank)
    .map(({ path }) => path);
}

function rankOf(name) {
  const index = LONGEST.indexOf(name);
  return index < 0 ? LONGEST.length : index;
}

/** Runs test files and writes their JUnit file. Returns the counts. Throws an error with the failures, and with `counts`. */
export async function runNodeTests(
  files,
  results,
  { flags = [], concurrency = availableParallelism(), ...options } = {},
) {
  await mkdir(dirname(results), { recursive: true });
  const args = [...flags, join(import.meta.dirname, "run_files.mjs"), String(concurrency), results, ...files];
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
