// The arena's recorded cells of SmolLM2 are what the package computes: two of those that read short texts, drawn at random.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "ropewalk";
import { idOf } from "../../examples/arena/cells.mjs";
import { readResults } from "../../examples/arena/docs.mjs";
import { some } from "../../examples/arena/languages.mjs";
import { lengthOf, measureCell } from "../../examples/arena/measure.mjs";
import { openEntry } from "../../examples/arena/run.mjs";
import { randomNumbers } from "../../examples/random_numbers.mjs";
import "./files.mjs";

const LONGEST = 1024;

// ROPEWALK_SEED repeats a drawing
test("recorded cells of SmolLM2", async (context) => {
  const seed = Number(process.env.ROPEWALK_SEED ?? Date.now() % 1e6);
  context.diagnostic(`ROPEWALK_SEED=${seed}`);
  const rw = await load({ build: "simd", threads: 1 });
  const entry = await openEntry(rw, "smollm2", {});
  const { cells } = await readResults();
  const short = cells.filter((cell) => cell.model === "smollm2" && lengthOf(cell, entry) <= LONGEST);
  for (const { result, ...cell } of some(short, 2, randomNumbers(seed)))
    assert.deepEqual((await measureCell(rw, entry, cell)).result, result, idOf(cell));
});
