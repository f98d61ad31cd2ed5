// Runs the JavaScript of the README and of the pages without commands, and checks every relative link of the repository's Markdown files.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { capture } from "../../scripts/run.mjs";
import { blocksOf, brokenLinks, read, root, runProgram } from "./guide_page.mjs";

/** Pages, with the least number of blocks and of checked values (`// → value`) that each has. */
const pages = {
  "README.md": { blocks: 3, checks: 3 },
  "docs/README.md": { blocks: 2, checks: 2 },
  "docs/accuracy.md": { blocks: 1, checks: 1 },
  "docs/apps/ai_sdk.md": { blocks: 2, checks: 7 },
  "docs/apps/decisions.md": { blocks: 4, checks: 8 },
  "docs/apps/kept_sessions.md": { blocks: 2, checks: 3 },
  "docs/apps/openai.md": { blocks: 1, checks: 4 },
  "docs/apps/batches.md": { blocks: 2, checks: 2 },
  "docs/apps/lora.md": { blocks: 2, checks: 6 },
  "docs/apps/node_without_native_builds.md": { blocks: 3, checks: 5 },
  "docs/apps/structured_output.md": { blocks: 3, checks: 4 },
  "docs/apps/views.md": { blocks: 5, checks: 7 },
  "docs/attention.md": { blocks: 5, checks: 5 },
  "docs/embeddings.md": { blocks: 3, checks: 4 },
  "docs/errors.md": { blocks: 1, checks: 3 },
  "docs/kv_caches.md": { blocks: 10, checks: 22 },
  "docs/loading.md": { blocks: 4, checks: 5 },
  "docs/models.md": { blocks: 3, checks: 6 },
  "docs/pairings.md": { blocks: 4, checks: 6 },
  "docs/rope_and_yarn_from_zero.md": { blocks: 15, checks: 23 },
  "docs/rotate.md": { blocks: 4, checks: 4 },
  "docs/scaling_types.md": { blocks: 2, checks: 2 },
};

for (const [name, least] of Object.entries(pages)) {
  test(`the code of ${name} runs and prints the values it shows`, async () => {
    const blocks = blocksOf(await read(name), "js");
    assert.ok(blocks.length >= least.blocks, `${blocks.length} blocks`);
    const checks = await runProgram(name);
    assert.ok(checks >= least.checks, `${checks} checks`);
  });
}

test("the README stays short", async () => {
  assert.ok((await read("README.md")).split("\n").length < 250);
});

describe("relative links lead to files and headings", async () => {
  const listed = await capture("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"], {
    cwd: root,
  });
  for (const name of new Set(listed.split("\0").filter(Boolean)))
    test(name, async () => assert.deepEqual(await brokenLinks(name), []));
});
