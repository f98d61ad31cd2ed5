// Guesses of tokens from repeats of a text.
import assert from "node:assert/strict";
import test from "node:test";
import { PromptLookup } from "../../build/package/runtime/model/session/prompt_lookup.js";

const range = (first, count) => Array.from({ length: count }, (_, i) => first + i);

test("guesses start after two tokens that a repeat predicted, and double after four right reads of each size", () => {
  const text = range(1, 80);
  const lookup = new PromptLookup(15, text);
  const guesses = text.map((token) => {
    lookup.add(token);
    return lookup.guesses(100);
  });
  // 1 and 2 are the match, 3 and 4 were predicted
  assert.deepEqual(guesses.slice(0, 3), [[], [], []]);
  assert.deepEqual(guesses[3], [5, 6, 7]);
  assert.deepEqual(guesses[16], [18, 19, 20]);
  assert.deepEqual(guesses[17], range(19, 7));
  assert.deepEqual(guesses[48], range(50, 7));
  assert.deepEqual(guesses[49], range(51, 15));
  assert.deepEqual(guesses[78], [80, ...range(1, 14)]); // a repeat that reaches the end goes on with itself
});

test("a wrong token ends guessing", () => {
  const lookup = new PromptLookup(15, [1, 2, 3, 4, 5, 1, 2, 3, 4]);
  assert.deepEqual(lookup.guesses(9), [5, 1, 2]);
  lookup.add(9);
  assert.deepEqual(lookup.guesses(9), []);
});

test("a repeat is followed even if its last tokens occur again later", () => {
  const lookup = new PromptLookup(3, [1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 50, 51]);
  for (const token of [1, 2, 3, 4, 5, 6]) lookup.add(token);
  assert.deepEqual(lookup.guesses(9), [7, 8, 9]);
});

test("after a long copy, guessing goes on past a token that was replaced, and after one that was added or left out", () => {
  const copied = () => {
    const lookup = new PromptLookup(3, range(100, 40));
    for (const token of range(100, 12)) lookup.add(token);
    return lookup;
  };
  const replaced = copied();
  replaced.add(7);
  assert.deepEqual(replaced.guesses(9), [113, 114, 115]);
  const added = copied();
  for (const token of [7, 112, 113]) added.add(token);
  assert.deepEqual(added.guesses(9), [114, 115, 116]);
  const leftOut = copied();
  for (const token of [113, 114]) leftOut.add(token);
  assert.deepEqual(leftOut.guesses(9), [115, 116, 117]);
});

test("a wrong token soon after an edit ends the copy", () => {
  const lookup = new PromptLookup(3, range(100, 40));
  for (const token of [...range(100, 12), 7, 113, 114]) lookup.add(token);
  assert.deepEqual(lookup.guesses(9), [115, 116, 117]);
  for (const token of [8, 105, 106]) lookup.add(token);
  assert.deepEqual(lookup.guesses(9), []);
});

test("a repeat that is wrong after an edit ends the copy", () => {
  const lookup = new PromptLookup(3, range(100, 40));
  for (const token of [...range(100, 12), 7, 8]) lookup.add(token);
  assert.deepEqual(lookup.guesses(9), []);
  for (const token of [120, 121]) lookup.add(token);
  assert.deepEqual(lookup.guesses(9), [122, 123, 124]); // the copy may go on elsewhere
  for (const token of [9, 105, 106]) lookup.add(token);
  assert.deepEqual(lookup.guesses(9), []);
});

test("a repeat of one token goes on with itself", () => {
  assert.deepEqual(new PromptLookup(7, [5, 8, 8, 8, 8, 8]).guesses(9), [8, 8, 8, 8, 8, 8, 8].slice(0, 3));
});

test("at most as many as asked for, and as there is room", () => {
  const text = Array.from({ length: 260 }, (_, i) => i % 3);
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
