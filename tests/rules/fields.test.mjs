// The TypeScript of the lists of fields in src/ is up to date.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import test from "node:test";

test("web/src/memory/*_fields.ts are those of the lists in src/", () => {
  const script = fileURLToPath(new URL("../../scripts/fields.mjs", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});
