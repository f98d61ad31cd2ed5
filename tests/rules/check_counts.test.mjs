// The counts that `npm test` sums up, read from what runners print.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { add, countsOfJunit, countsOfNode, none, show } from "../../scripts/check_counts.mjs";
import { runNodeTests } from "../../scripts/check_package.mjs";

test("the end of what node:test prints, in either of its forms", () => {
  const lines = (mark) =>
    ["tests 10", "suites 1", "pass 4", "fail 1", "cancelled 2", "skipped 3", "todo 0", "duration_ms 12.5"]
      .map((line) => `${mark} ${line}`)
      .join("\n");
  for (const mark of ["#", "ℹ"])
    assert.deepEqual(countsOfNode(`✔ pass 7\n${lines(mark)}\n`), { passed: 4, failed: 3, skipped: 3 });
  assert.equal(countsOfNode("# pass 3\n"), null, "an end that is cut off");
  assert.equal(countsOfNode(""), null);
});

test("ctest's JUnit file", () => {
  const suite =
    '<?xml version="1.0"?>\n<testsuite name="Linux-g++"\n\ttests="12"\n\tfailures="2"\n\tdisabled="1"\n\tskipped="3"\n\ttime="4"\n>';
  assert.deepEqual(countsOfJunit(suite), { passed: 6, failed: 2, skipped: 4 });
  assert.equal(countsOfJunit('<testsuite tests="3">'), null);
  assert.equal(countsOfJunit(""), null);
});

test("adding and showing", () => {
  const sum = add(add(none, { passed: 3, failed: 1, skipped: 0 }), { passed: 4, failed: 0, skipped: 2 });
  assert.equal(show(sum), "7 passed, 1 failed, 2 skipped");
});

/** Runs a test file of these lines as `npm test` runs test files. */
async function running(lines, use) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-counts-"));
  const file = join(folder, "some.test.mjs");
  await writeFile(file, ['import test from "node:test";', ...lines].join("\n"));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== "NODE_TEST_CONTEXT")); // a run of its own
  try {
    return await use(runNodeTests([file], { env }));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const good = 'test("good", () => {});';
const bad = 'test("bad", () => { throw new Error("broken so"); });';
const skipped = 'test("later", { skip: true }, () => {});';

test("tests that pass are counted", async () => {
  await running([good, skipped, good], async (run) =>
    assert.deepEqual(await run, { passed: 2, failed: 0, skipped: 1 }),
  );
});

test("one that fails is counted and told", async () => {
  await running([good, bad], (run) =>
    assert.rejects(run, (error) => {
      assert.deepEqual(error.counts, { passed: 1, failed: 1, skipped: 0 });
      assert.match(error.message, /✖ bad[^]*broken so/);
      return true;
    }),
  );
});

test("a file that does not load, and one that ends the process, fail", async () => {
  await running(['import "./absent.mjs";'], (run) => assert.rejects(run, /absent\.mjs|test failed/));
  await running([good, "process.exit(3);"], (run) => assert.rejects(run));
});
