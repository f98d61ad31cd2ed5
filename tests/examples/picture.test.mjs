// Checks that docs/pictures/retune.svg is what scripts/draw_retune.mjs draws now.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { drawRetune } from "../../scripts/draw_retune.mjs";

const number = /-?\d*\.?\d+/g;

test("docs/pictures/retune.svg is up to date", async () => {
  const committed = await readFile(join(import.meta.dirname, "..", "..", "docs", "pictures", "retune.svg"), "utf8");
  const drawn = await drawRetune();
  const again = "; run node scripts/draw_retune.mjs";
  assert.equal(committed.replace(number, "0"), drawn.replace(number, "0"), `the drawing has changed${again}`);
  // hundredths of a pixel: another machine's logarithm may round the last digit differently
  const [was, is] = [committed, drawn].map((picture) => picture.match(number).map(Number));
  is.forEach((value, i) => assert.ok(Math.abs(value - was[i]) <= 0.02, `${was[i]} is now ${value}${again}`));
  assert.ok(committed.length < 60_000);
});

test("docs/pictures/retune.svg is self-contained", async () => {
  const picture = await readFile(join(import.meta.dirname, "..", "..", "docs", "pictures", "retune.svg"), "utf8");
  assert.doesNotMatch(picture, /<script|<image|href=|url\(|@import|NaN|undefined/);
});
