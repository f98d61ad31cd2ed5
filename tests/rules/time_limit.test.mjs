// A stage that hangs is ended, and so are the programs that it started.
import assert from "node:assert/strict";
import test from "node:test";
import { capture } from "../../scripts/run.mjs";
import { withinMinutes } from "../../scripts/check/time_limit.mjs";

test("what takes too long is ended with all programs below it, which the error lists", async () => {
  const sleep = "setTimeout(() => {}, 1e6)";
  const start = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(sleep)}, "grandchild"])`;
  const hanging = () => capture(process.execPath, ["-e", `${start}; ${sleep}`, "child"]);
  let pids;
  await assert.rejects(withinMinutes(0.02, "a stage", hanging), ({ message }) => {
    assert.match(message, /^a stage took more than 0\.02 minutes/);
    pids = [...message.matchAll(/^(\d+) .*(?:child|grandchild)$/gm)].map(([, pid]) => Number(pid));
    return true;
  });
  assert.equal(pids.length, 2);
  for (const pid of pids) await ended(pid);
});

test("results and errors of what ends in time are passed on", async () => {
  assert.equal(await withinMinutes(1, "a stage", async () => 7), 7);
  await assert.rejects(
    withinMinutes(1, "a stage", async () => {
      throw new Error("of the stage");
    }),
    /^Error: of the stage$/,
  );
});

/** Waits until a process has ended. */
async function ended(pid) {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline;) {
    const state = await capture("ps", ["-o", "stat=", "-p", String(pid)]).catch(() => "");
    if (state === "" || state.startsWith("Z")) return;
  }
  assert.fail(`process ${pid} still runs`);
}
