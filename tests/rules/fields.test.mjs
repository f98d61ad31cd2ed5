// What a script writes of the lists in src/ and of bindings/ is up to date.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import test from "node:test";

test("what scripts/fields.mjs writes is up to date", () => {
  const script = fileURLToPath(new URL("../../scripts/fields.mjs", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});
