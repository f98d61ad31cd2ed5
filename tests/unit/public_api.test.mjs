// web/public_api.txt is what the package exports, so that each change of it shows in a diff.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import test from "node:test";

test("web/public_api.txt has all exported names and types", () => {
  const script = fileURLToPath(new URL("../../scripts/api.mjs", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});
