// The generated stories that the small model is trained and measured on: seeds, lengths, distances, and how answers are found.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { load } from "ropewalk";
import { answersIn, places, story, AnswerReader, words } from "../../examples/small_model/stories.mjs";
import { answersBySpan, textOf, tokensOf, TRAINED_LENGTH } from "../../examples/small_model/texts.mjs";

const SEEDS = [1, 2, 77, 4_000_000];
const QUESTION = /^Where is the (\w+ \w+)\? The \1 is in the (\w+)\.$/;
const FACT = /^The (\w+ \w+) is in the (\w+)\.$/;

const textFrom = (sentences) => sentences.map(({ text }) => text).join(" ");

/** Every question of a story, with the latest fact about the same thing: `{ sentence, place, at, fact: { place, at } }`. */
function questionsWithFacts(sentences) {
  const facts = new Map();
  const questions = [];
  let count = 0; // words so far
  for (const sentence of sentences) {
    const [, thing, place] = (sentence.kind === "question" ? QUESTION : FACT).exec(sentence.text) ?? [];
    const at = count + words(sentence.text).length - 2;
    if (sentence.kind === "question") questions.push({ sentence, place, at, fact: facts.get(thing) });
    if (sentence.kind !== "filler") facts.set(thing, { place, at });
    count += words(sentence.text).length;
  }
  return questions;
}

describe("a story", () => {
  test("is the same for the same seed, and different for another", () => {
    for (const seed of SEEDS) {
      const text = textFrom([...story({ seed, length: 300 })]);
      assert.equal(textFrom([...story({ seed, length: 300 })]), text);
      assert.notEqual(textFrom([...story({ seed: seed + 1, length: 300 })]), text);
      assert.ok(textFrom([...story({ seed, length: 600 })]).startsWith(text), "a longer story begins with it");
    }
  });

  test("ends with the sentence that reaches its length", () => {
    for (const length of [1, 8, 256, 1000]) {
      const sentences = [...story({ seed: 5, length })];
      assert.ok(words(textFrom(sentences)).length >= length);
      assert.ok((words(textFrom(sentences.slice(0, -1))) ?? []).length < length);
    }
  });

  test("asks only for known facts, and reports the right distance", () => {
    const kinds = [
      {},
      { reach: 100 },
      { distance: () => 40 },
      { distance: (count, random) => 12 + random() * count, questions: 0.18 },
    ];
    for (const options of kinds) {
      for (const seed of SEEDS) {
        const questions = questionsWithFacts(story({ seed, length: 1500, ...options }));
        assert.ok(questions.length > 20);
        for (const { sentence, place, at, fact } of questions) {
          assert.equal(fact?.place, place, sentence.text);
          assert.equal(sentence.answerAt, at);
          assert.equal(sentence.distance, at - fact.at);
        }
      }
    }
  });

  test("answers its own questions correctly, and a wrong answer is detected", () => {
    const sentences = [...story({ seed: 8, length: 800 })];
    const text = textFrom(sentences);
    const right = sentences
      .filter(({ kind }) => kind === "question")
      .map(({ answerAt }) => ({ at: answerAt, isRight: true }));
    assert.deepEqual(answersIn(text), right);
    const start = "The red ball is in the hall. Where is the red ball? The red ball is in the";
    assert.deepEqual(answersIn(`${start} barn. Where is the red ball? The red ball is in the barn.`), [
      { at: 20, isRight: false },
      { at: 34, isRight: true },
    ]);
    assert.deepEqual(answersIn("Where is the red ball? The red ball is in the barn."), [{ at: 12, isRight: false }]);
  });

  test("answers are the same when the text is read in pieces, and are counted at their position", () => {
    const text = textFrom([...story({ seed: 5, length: 1000 })]).replace("the attic", "the barn"); // makes one answer wrong
    const whole = answersIn(text);
    assert.ok(whole.length > 20 && whole.some(({ isRight }) => !isRight));
    for (const length of [1, 7, 100]) {
      const reader = new AnswerReader();
      const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, i) =>
        text.slice(i * length, (i + 1) * length),
      );
      assert.deepEqual(
        pieces.flatMap((piece) => reader.read(piece)),
        whole,
      );
    }
    for (const { at } of whole) assert.ok(places.includes(words(text)[at]));
    const spans = answersBySpan(whole, 500); // the text is twice as long: the rest counts in the last span
    assert.equal(spans.length, 2);
    assert.equal(spans[0].asked + spans[1].asked, whole.length);
    assert.equal(spans[0].asked, whole.filter(({ at }) => at < TRAINED_LENGTH).length);
    assert.equal(spans[0].right + spans[1].right, whole.filter(({ isRight }) => isRight).length);
  });

  test("respects reach, and asks at large distances if required", () => {
    const farthest = (options) =>
      Math.max(...[...story({ seed: 3, length: 2000, ...options })].map(({ distance }) => distance ?? 0));
    assert.ok(farthest({ reach: 100 }) < 100 + 20); // the answer comes some words after the end of the reach
    assert.ok(farthest({ distance: () => 2000, questions: 0.18 }) > 1000);
  });

  test("asks at distances close to the requested ones", () => {
    const questions = [...story({ seed: 9, length: 2000, distance: () => 64, questions: 0.18 })].filter(
      ({ kind }) => kind === "question",
    );
    const later = questions.filter(({ answerAt }) => answerAt > 400).map(({ distance }) => distance);
    assert.ok(later.length > 10);
    for (const distance of later) assert.ok(Math.abs(distance - 64) < 40, `${distance}`);
  });
});

describe("an evaluation text", () => {
  let tokenizer;

  before(async () => {
    const source = await readFile(join(import.meta.dirname, "../../examples/small_model/tokenizer.json"), "utf8");
    tokenizer = await (await load()).tokenizer(JSON.parse(source));
  });

  test("has a begin token, and one token for each word and punctuation mark", () => {
    for (const seed of SEEDS) {
      const { text } = textOf({ seed, length: 512, near: true });
      const tokens = Array.from(tokenizer.encode(text));
      assert.equal(tokens.length, words(text).length + 1);
      assert.equal(tokenizer.token(tokens[0]), "<|story|>");
      assert.deepEqual(
        tokens.slice(1).map((token) => tokenizer.token(token).replace("Ġ", "")),
        words(text),
      );
    }
  });

  test("has each answer at the reported index", async () => {
    for (const near of [true, false]) {
      const text = textOf({ seed: 11, length: 2048, near });
      const tokens = await tokensOf({ tokenizer }, text);
      assert.equal(tokens.length, 2048);
      assert.ok(text.questions.length > 20);
      for (const { at, distance } of text.questions) {
        assert.equal(tokens[at], tokens[at - distance], "the fact and the answer have the same word");
        assert.match(tokenizer.decode(tokens.slice(at - 8, at)), /\? The \w+ \w+ is in the$/);
      }
    }
  });

  test("asks within the trained length if `near`, otherwise over the whole story", () => {
    const distances = (near) => textOf({ seed: 21, length: 4096, near }).questions.map(({ distance }) => distance);
    assert.ok(Math.max(...distances(true)) < TRAINED_LENGTH);
    const far = distances(false);
    assert.ok(far.filter((distance) => distance >= TRAINED_LENGTH).length > far.length / 4);
    assert.ok(far.some((distance) => distance >= 2048));
  });
});
