// Counts tests in JUnit files, which node:test, googletest and ctest write.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "junit2json";

/** The folder of the JUnit files of a test run. CI can keep it. */
export const resultsFolder = join(import.meta.dirname, "..", "..", "build", "test-results");

/** The file for a step's results. */
export function resultsFile(step) {
  return join(resultsFolder, `${step.replace(/[^\w+]+/g, "_")}.xml`);
}

/** `{ passed, failed, skipped }` of JUnit files. Tests that only group other tests don't count. */
export async function countTests(...files) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of files) {
    for (const { status, skipped, failure, error } of testCases(await parse(await readFile(file, "utf8")))) {
      if (skipped || status === "disabled" || status === "notrun") counts.skipped++;
      else if (failure || error) counts.failed++;
      else counts.passed++;
    }
  }
  return counts;
}

function testCases({ testcase = [], testsuite = [] }) {
  return [...testcase, ...testsuite.flatMap(testCases)];
}

export function showCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
