// Generators of random comparisons say how `npm test -- compare` runs them, and the tests that they name exist.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { drawingTests, readGenerators, readHeader } from "../../scripts/check/compare.mjs";

const root = join(import.meta.dirname, "..", "..");

for (const { name, options, tests } of await readGenerators()) {
  test(name, () => {
    assert.match(options.join(" "), /^--cases \d+( --[a-z]+ \d+)*$/);
    for (const path of tests) assert.ok(existsSync(join(root, path)), `${path} exists`);
    assert.ok(existsSync(join(root, "tests", "golden", "random", `${name}.json`)), "its bounded file exists");
  });
}

test("a header", () => {
  const text =
    '"""Draws things.\n"""\n# compare: --cases 200\n# test: tests/a.test.mjs tests/b.test.mjs\nimport json\n';
  assert.deepEqual(readHeader("things.py", text), {
    options: ["--cases", "200"],
    tests: ["tests/a.test.mjs", "tests/b.test.mjs"],
  });
});

test("a header that lacks a line is refused", () => {
  assert.throws(() => readHeader("things.py", "# compare: --cases 200\n"), /things\.py: has no line "# test: /);
  assert.throws(() => readHeader("things.py", "# test: tests/a.test.mjs\n"), /has no line "# compare: --cases N"/);
});

test("tests that draw their own cases read how many", async () => {
  const tests = await drawingTests();
  assert.ok(tests.length >= 2);
  for (const { path, cases } of tests) {
    assert.match(await readFile(join(root, path), "utf8"), /process\.env\.ROPEWALK_CASES/, path);
    assert.ok(Number(cases) > 0, path);
  }
});
