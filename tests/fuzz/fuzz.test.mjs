// A short run of every target, the same cases each time. `npm run fuzz` runs other cases for as long as it is told.
import test from "node:test";
import { loadTarget, runCases, targetNames } from "./target.mjs";

for (const name of targetNames) {
  test(name, async (t) => {
    const target = await loadTarget(name);
    const { outcomes } = await runCases(target, { seed: 1, end: target.cases ?? 300 });
    t.diagnostic(JSON.stringify(outcomes));
  });
}
