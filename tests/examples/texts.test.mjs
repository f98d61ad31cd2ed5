// What the texts say, run: a page's JavaScript is one program, and every link to a file leads somewhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf, brokenLinks, read, runProgram } from "./guide_page.mjs";

for (const [name, least] of Object.entries({
  "README.md": { blocks: 11, checks: 12 },
  "docs/attention_and_caches.md": { blocks: 11, checks: 20 },
})) {
  test(`the code of ${name} runs, and gives what it says`, async () => {
    const blocks = blocksOf(await read(name), "js");
    assert.ok(blocks.length >= least.blocks, `${blocks.length} blocks`);
    const checks = await runProgram(name);
    assert.ok(checks >= least.checks, `${checks} checks`);
  });
}

for (const name of [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "examples/README.md",
  "examples/small_model/README.md",
  "docs/attention_and_caches.md",
]) {
  test(`links of ${name} lead to files and headings`, async () => {
    assert.deepEqual(await brokenLinks(name), []);
  });
}
