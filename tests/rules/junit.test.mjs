// `npm test` counts tests in the JUnit files that node:test and ctest write.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { countTests, showCounts } from "../../scripts/check/junit.mjs";
import { runNodeTests } from "../../scripts/check/node_tests.mjs";

async function inFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-junit-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a JUnit file as ctest writes it", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "results.xml");
    await writeFile(
      file,
      `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-g++" tests="5" failures="1" disabled="1" skipped="1" hostname="" time="0" timestamp="2026-08-01">
  <testcase name="Rotation.A" classname="Rotation.A" time="0.01" status="run"><system-out>&lt;ok&gt;</system-out></testcase>
  <testcase name="Rotation.B" classname="Rotation.B" time="0.01" status="run"/>
  <testcase name="Rotation.C" classname="Rotation.C" time="0.01" status="fail"><failure message="Failed"/></testcase>
  <testcase name="Rotation.D" classname="Rotation.D" time="0" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
  <testcase name="Rotation.E" classname="Rotation.E" time="0" status="disabled"/>
</testsuite>`,
    );
    assert.deepEqual(await countTests(file), { passed: 2, failed: 1, skipped: 2 });
    await writeFile(file, "");
    await assert.rejects(countTests(file));
  });
});

test("the last line of npm test", () => {
  assert.equal(showCounts({ passed: 7, failed: 1, skipped: 2 }), "7 passed, 1 failed, 2 skipped");
});

/** Runs a test file of these lines as `npm test` runs test files. */
async function running(lines, use) {
  await inFolder(async (folder) => {
    const file = join(folder, "some.test.mjs");
    await writeFile(file, ['import test from "node:test";', ...lines].join("\n"));
    const env = { NODE_TEST_CONTEXT: undefined }; // or the run would report to this one
    await use(runNodeTests([file], join(folder, "results.xml"), { env }));
  });
}

const good = 'test("good", () => {});';
const bad = 'test("bad", () => { throw new Error("broken so"); });';
const skipped = 'test("later", { skip: true }, () => {});';

test("tests that pass are counted, in groups too", async () => {
  const group = 'test("group", async (t) => { await t.test("inner", () => {}); });';
  await running([good, skipped, good, group], async (run) =>
    assert.deepEqual(await run, { passed: 3, failed: 0, skipped: 1 }),
  );
});

test("a test that fails is counted, and its error is shown", async () => {
  await running([good, bad], (run) =>
    assert.rejects(run, (error) => {
      assert.deepEqual(error.counts, { passed: 1, failed: 1, skipped: 0 });
      assert.match(error.message, /✖ bad[^]*broken so/);
      return true;
    }),
  );
});

test("a group fails if it throws after its tests", async () => {
  const group = 'test("group", async (t) => { await t.test("inner", () => {}); throw new Error("late"); });';
  await running([group], (run) => assert.rejects(run, /✖ group[^]*late/));
});

test("a file that doesn't load, and one that ends the process, fail", async () => {
  await running(['import "./absent.mjs";'], (run) => assert.rejects(run, /absent\.mjs|test failed/));
  await running([good, "process.exit(3);"], (run) => assert.rejects(run));
});

test("a run without tests fails", async () => {
  await running([skipped], (run) => assert.rejects(run, /no tests passed/));
});
