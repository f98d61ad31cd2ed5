// Fuzz targets in JavaScript, each in a Node of its own: a case may hang or end the process.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { howToRepeat, targetNames } from "../../tests/fuzz/target.mjs";
import { flagsOf } from "../check/package.mjs";
import { capture } from "../run.mjs";

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, "build", "fuzz-results");
const program = join(root, "tests", "fuzz", "run_target.mjs");

/** A case that takes longer hangs. */
const CASE_SECONDS = 60;

export const javascriptTargets = targetNames.map((name) => ({
  name,
  run: (limits) => runTarget(name, limits),
}));

/** Runs the cases `first` to `end` of a target for at most `seconds`. Returns a summary. Throws an error that says how to repeat a failure. */
async function runTarget(name, { seed, seconds, first = 0, end }) {
  await mkdir(folder, { recursive: true });
  const progress = join(folder, `${name}.case`);
  const settings = JSON.stringify({ name, seed, seconds, first, end, progress });
  const current = () => readFile(progress, "utf8").catch(() => "");
  const watch = new AbortController();
  let last;
  const timer = setInterval(async () => {
    const now = await current();
    if (now === last && now !== "") watch.abort();
    last = now;
  }, CASE_SECONDS * 1000);
  try {
    const flags = [...(await flagsOf("relaxed")), "--max-old-space-size=2048"];
    const output = await capture(process.execPath, [...flags, program, settings], { signal: watch.signal });
    const { cases, outcomes } = JSON.parse(output.trim().split("\n").at(-1));
    const counts = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count.toLocaleString("en")}`);
    return [`${cases.toLocaleString("en")} cases`, ...counts].join(", ");
  } catch (error) {
    if (error.exitCode === 1 && error.stderr.includes("To repeat: ")) throw new Error(error.stderr, { cause: error });
    const cause = watch.signal.aborted ? `the case takes longer than ${CASE_SECONDS} s` : error.message.slice(-3000);
    throw new Error(`${howToRepeat(name, seed, await current())}\n${cause}`, { cause: error });
  } finally {
    clearInterval(timer);
  }
}
