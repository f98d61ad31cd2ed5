// docs/families.md is what its script prints.
import assert from "node:assert/strict";
import test from "node:test";
import { familiesPage } from "../../scripts/families.mjs";
import { read } from "./guide_page.mjs";

test("docs/families.md is what scripts/families.mjs prints", async () => {
  assert.equal(await read("docs/families.md"), await familiesPage());
});
