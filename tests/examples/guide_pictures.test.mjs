// Checks that the pictures of docs/rope_and_yarn_from_zero.md and of the README are what scripts/draw_pairs.mjs and scripts/site/draw_story.mjs draw now.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "ropewalk";
import { drawPicture, pictures } from "../../scripts/draw_pairs.mjs";
import { drawStory, PICTURE } from "../../scripts/site/draw_story.mjs";
import { root } from "./guide_page.mjs";

const number = /-?\d*\.?\d+/g;
const rw = await load({ build: "simd" });

for (const name of Object.keys(pictures)) {
  test(`docs/pictures/${name} is up to date and needs no other file`, async () => {
    const committed = await readFile(join(root, "docs", "pictures", name), "utf8");
    const drawn = drawPicture(rw, name);
    const again = "; run node scripts/draw_pairs.mjs";
    assert.equal(committed.replace(number, "0"), drawn.replace(number, "0"), `the drawing has changed${again}`);
    // in pixels: another machine's math library may round the last hundredth differently
    const [was, is] = [committed, drawn].map((picture) => picture.match(number).map(Number));
    is.forEach((value, i) => assert.ok(Math.abs(value - was[i]) <= 0.02, `${was[i]} is now ${value}${again}`));
    assert.ok(committed.length < 60_000);
    assert.doesNotMatch(committed, /<script|<image|href=|url\(|@import|NaN|undefined/);
  });
}

test("the README's picture is up to date and needs no other file", async () => {
  const committed = await readFile(PICTURE, "utf8");
  assert.equal(committed, await drawStory(), "run node scripts/site/draw_story.mjs");
  assert.doesNotMatch(committed, /<script|<image|href=|url\(|@import|NaN|undefined/);
});
