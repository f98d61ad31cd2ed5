// The README in an empty project that has only the package: its code runs as shown, and its links lead to files of the package.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { inNewProcess } from "../helpers/processes.mjs";

const folder = dirname(fileURLToPath(import.meta.resolve("ropewalk/package.json")));
const read = (name) => readFileSync(join(folder, name), "utf8");
const codeOf = (page) => [...page.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, code]) => code).join("\n");

for (const name of ["README.md", "docs/README.md"]) {
  test(`the code of ${name} prints what it shows, and no warning`, async () => {
    const code = codeOf(read(name));
    const shown = [...code.matchAll(/^console\.log\(.*\); \/\/ → (.+)$/gm)].map(([, value]) => value.trim());
    assert.ok(shown.length > 0);
    const printed = await inNewProcess(code);
    const lines = printed.split("\n").map((line) => line.trim());
    for (const value of shown) assert.ok(lines.includes(value), `${value} in ${printed}`);
    assert.doesNotMatch(printed, /warning/i);
  });
}

test("the links of the README lead to files of the package, or name a site", () => {
  const targets = [...read("README.md").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target.split("#")[0]);
  assert.ok(targets.length > 40);
  const lacking = targets.filter((target) => !/^https:/.test(target) && !existsSync(join(folder, target)));
  assert.deepEqual(lacking, []);
});
