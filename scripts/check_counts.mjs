// Counts of tests: added up, read from what runners print, and shown.

/** A count of nothing. */
export const none = { passed: 0, failed: 0, skipped: 0 };
export const onePassed = { passed: 1, failed: 0, skipped: 0 };

export function add(a, b) {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

export function show({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** The counts at the end of what node:test's reporters print: `# pass 3` (tap) or `ℹ pass 3` (spec). Null where there are none. */
export function countsOfNode(text) {
  const found = Object.fromEntries(
    [...text.matchAll(/^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)$/gm)].map(([, name, count]) => [
      name,
      Number(count),
    ]),
  );
  if (!("pass" in found && "fail" in found && "cancelled" in found && "skipped" in found && "todo" in found))
    return null;
  return { passed: found.pass, failed: found.fail + found.cancelled, skipped: found.skipped + found.todo };
}

/** The counts of a JUnit file, as `ctest --output-junit` writes it. Null where there are none. */
export function countsOfJunit(xml) {
  const attributes = /<testsuite\b([^>]*)>/.exec(xml)?.[1];
  if (attributes === undefined) return null;
  const value = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes)?.[1] ?? NaN);
  const failed = value("failures");
  const skipped = value("skipped") + value("disabled");
  const passed = value("tests") - failed - skipped;
  return [passed, failed, skipped].some(Number.isNaN) ? null : { passed, failed, skipped };
}
