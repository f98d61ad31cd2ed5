// The estimate beside a build's steps.
import assert from "node:assert/strict";
import test from "node:test";
import { timeLeft } from "../../scripts/progress.mjs";

test("the time left follows from the steps that are done", () => {
  assert.equal(timeLeft(20, 10, 30), ", about 40 s left");
  assert.equal(timeLeft(100, 10, 30), ", about 3 min left");
  assert.equal(timeLeft(10, 29, 30), ", about 1 s left");
});

test("there is no estimate at the start and at the end", () => {
  assert.equal(timeLeft(1, 1, 30), "");
  assert.equal(timeLeft(60, 30, 30), "");
});
