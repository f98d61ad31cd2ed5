// A stage that hangs is killed, and so are the programs that it started.
import assert from "node:assert/strict";
import test from "node:test";
import { capture } from "../../scripts/run.mjs";
import { TimeLimitError, withinMinutes } from "../../scripts/check/time_limit.mjs";

const SLEEP = "setTimeout(() => {}, 1e6)";
const START_ANOTHER = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(SLEEP)}])`;

test(
  "what takes too long is killed with all programs below it, which the error lists",
  { skip: process.platform === "win32" && "Windows has no ps" },
  async () => {
    const hanging = () => capture(process.execPath, ["-e", `${START_ANOTHER}; ${SLEEP}`]);
    let pids;
    await assert.rejects(withinMinutes(0.1, "a stage", hanging), (error) => {
      assert.ok(error instanceof TimeLimitError);
      assert.match(error.message, /^a stage took more than 0\.1 minutes; killed/);
      pids = [...error.message.matchAll(/^ {2}(\d+) /gm)].map(([, pid]) => Number(pid));
      return true;
    });
    assert.equal(pids.length, 2);
    for (const pid of pids) await ended(pid);
  },
);

test("results and errors of what ends in time are passed on", async () => {
  assert.equal(await withinMinutes(1, "a stage", async () => 7), 7);
  const failing = async () => {
    throw new Error("of the stage");
  };
  await assert.rejects(withinMinutes(1, "a stage", failing), /^Error: of the stage$/);
});

/** Waits until a process has ended. */
async function ended(pid) {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline;) {
    const states = await capture("ps", ["-A", "-o", "pid=,stat="]);
    const state = states.split("\n").find((line) => line.trim().startsWith(`${pid} `));
    if (state === undefined || state.includes("Z")) return;
  }
  assert.fail(`process ${pid} still runs`);
}
