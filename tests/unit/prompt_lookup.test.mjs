// Guesses of tokens from repeats of a text.
import assert from "node:assert/strict";
import test from "node:test";
import { PromptLookup } from "../../build/package/model/session/prompt_lookup.js";

test("guesses start after two tokens that a repeat predicted, and grow with more", () => {
  const text = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
  const lookup = new PromptLookup(15, text);
  const guesses = [];
  for (const token of text.slice(0, 12)) {
    lookup.add(token);
    guesses.push(lookup.guesses(100));
  }
  // 1 and 2 are the match, 3 and 4 were predicted
  assert.deepEqual(guesses.slice(0, 3), [[], [], []]);
  assert.deepEqual(guesses[3], [5, 6, 7]);
  assert.deepEqual(guesses[4], [6, 7, 8, 9, 10, 11, 12]);
  assert.equal(guesses[11].length, 15);
  assert.deepEqual(guesses[11].slice(0, 6), [13, 14, 15, 16, 1, 2]);
});

test("a wrong token ends guessing", () => {
  const lookup = new PromptLookup(15, [1, 2, 3, 4, 5, 1, 2, 3, 4]);
  assert.deepEqual(lookup.guesses(9), [5, 1, 2]);
  lookup.add(9);
  assert.deepEqual(lookup.guesses(9), []);
});

test("a repeat of one token goes on with itself", () => {
  assert.deepEqual(new PromptLookup(7, [5, 8, 8, 8, 8, 8]).guesses(9), [8, 8, 8, 8, 8, 8, 8].slice(0, 3));
});

test("at most as many as asked for, and as there is room", () => {
  const text = Array.from({ length: 60 }, (_, i) => i % 3);
  assert.equal(new PromptLookup(5, text).guesses(100).length, 5);
  assert.equal(new PromptLookup(63, text).guesses(100).length, 63);
  assert.equal(new PromptLookup(63, text).guesses(2).length, 2);
  assert.deepEqual(new PromptLookup(63, text).guesses(-1), []);
});

test("no guesses without repeats", () => {
  const lookup = new PromptLookup(15, []);
  for (let token = 0; token < 50; token++) {
    lookup.add(token);
    assert.deepEqual(lookup.guesses(9), []);
  }
});
