// Every script that people run answers --help with the comment at its start, and does nothing else.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const scripts = join(import.meta.dirname, "..", "..", "scripts");
const files = readdirSync(scripts, { recursive: true }).filter((name) => name.endsWith(".mjs"));
const runnable = files.filter((name) =>
  readFileSync(join(scripts, name), "utf8").includes("await runMain(import.meta.url"),
);

for (const name of runnable)
  test(`scripts/${name} --help`, () => {
    const shown = execFileSync(process.execPath, [join(scripts, name), "--help"], { encoding: "utf8" });
    const [, first] = /^\/\/ ?(.*)/.exec(readFileSync(join(scripts, name), "utf8"));
    assert.equal(shown.split("\n")[0], first);
    assert.ok(!shown.includes("import "), shown);
  });

test("there are such scripts", () => assert.ok(runnable.length > 10, runnable.join(", ")));
