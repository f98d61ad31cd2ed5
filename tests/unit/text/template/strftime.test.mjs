// Dates of templates, compared with Python's strftime on dates and formats drawn at random.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { strftime } from "../../../../build/package/runtime/text/template/strftime.js";

const folder = process.env.ROPEWALK_RANDOM ?? join(import.meta.dirname, "..", "..", "..", "golden", "random");
const cases = JSON.parse(readFileSync(join(folder, "strftime.json"), "utf8"));

test(`${cases.length} dates`, () => {
  for (const [[year, month, day], clock, format, expected] of cases)
    assert.equal(
      strftime(new Date(year, month - 1, day, ...clock), format),
      expected,
      `${year}-${month}-${day} ${format}`,
    );
});
