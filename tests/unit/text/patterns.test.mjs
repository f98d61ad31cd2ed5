// Regular expressions of a tokenizer.json: matched as the engine matches them, and within a limit of steps.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { matchesOf } from "../../../build/package/runtime/text/pattern/limited_pattern.js";
import { compile } from "../../../build/package/runtime/text/pattern/matcher.js";
import { PATTERNS } from "../../../build/package/runtime/text/pre_tokenizers.js";
import { withFixedClasses } from "../../../build/package/runtime/text/unicode/classes.js";
import { tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { randomNumbers } from "../../files/schedule.mjs";
import { vocabularies } from "../../text/fixtures.mjs";

const plenty = () => ({ left: 1e7, longest: 1e6 });

/** All matches of a pattern of JavaScript, as String's matchAll() finds them. */
function allMatches(text, source) {
  const search = compile(source, plenty());
  const found = [];
  for (let from = 0; from <= text.length;) {
    const match = search(text, from);
    if (match === undefined) break;
    const { start, end, groups } = match;
    found.push([start, text.slice(start, end), ...groups.map((group) => group && text.slice(...group))]);
    from = end === start ? end + (text.codePointAt(end) > 0xffff ? 2 : 1) : end;
  }
  return found;
}

const ATOMS = [
  "a",
  "b",
  ".",
  "[ab]",
  "[^a]",
  "\\p{L}",
  "\\d",
  "\\s",
  "\\u0061",
  "é",
  "\\x61",
  "\\.",
  "[\\]\\-x]",
  "[\\u{1f600}]",
];
const REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{1,}", "{0}"];

function randomPattern(random, depth) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const inner = () => randomPattern(random, depth - 1);
  const kinds = [
    () => pick(ATOMS),
    () => inner() + inner(),
    () => `(?:${inner()}|${inner()}|${inner()})`,
    () => `(${inner()})`,
    () => `(?:${inner()})${pick(REPEATS)}${pick(["", "?"])}`,
    () => `${pick(ATOMS)}${pick(REPEATS)}${pick(["", "?"])}`,
    () => `(?${pick(["=", "!", "<=", "<!"])}${inner()})${pick(["", "a"])}`,
    () => pick(["^", "$", "\\b", "\\B", "(a)\\1", "(?<x>b)\\k<x>"]),
  ];
  return depth === 0 ? pick(ATOMS) : pick(kinds)();
}

test("20,000 random patterns match as the engine's own", () => {
  const random = randomNumbers(7);
  let compared = 0;
  while (compared < 20000) {
    const source = randomPattern(random, 4);
    let expected;
    try {
      expected = new RegExp(source, "gu");
    } catch {
      continue; // two groups of the same name
    }
    const text = Array.from({ length: random() * 9 }, () => "ab 1é.\nx"[Math.floor(random() * 8)]).join("");
    const all = [...text.matchAll(expected)].map((match) => [match.index, ...match]);
    assert.deepEqual(allMatches(text, expected.source), all, `${source} in ${JSON.stringify(text)}`);
    compared += 1;
  }
});

test("the patterns of every known pre-tokenizer mean the same to Oniguruma as to the engine", () => {
  const texts = [
    readFileSync(new URL("../../../README.md", import.meta.url), "utf8").slice(0, 3000),
    "Ünïcödé 中文字 ひらがな 한국어 \u{1f600}\u{1f1e9}\u{1f1ea} 𝒳𝓎 I'LL we've 1234567 ... !!\r\n\r\n   \t x\u0085y\u3000z\ufeffw",
    " ".repeat(2000) + "\n".repeat(50) + "a".repeat(2000),
  ];
  for (const source of PATTERNS) {
    const expected = new RegExp(withFixedClasses(source), "gu");
    const eachMatch = matchesOf(source.replaceAll("\\u{", "\\x{").replace(/\$$/, "\\z"), plenty());
    // the matcher recurses for each repetition of a group, and the engine doesn't
    const nested = /\)\*\)\+|Han/.test(source);
    for (const text of texts.map((whole) => (nested ? whole.replace(/a{2000}/, "a".repeat(500)) : whole))) {
      const words = [];
      eachMatch(text, (start, end) => words.push(text.slice(start, end)));
      assert.deepEqual(words, text.match(expected) ?? [], source.slice(0, 80));
    }
  }
});

const { tokenizer_json } = vocabularies.byte_level;
const splitBy = (Regex, more = {}) => ({
  ...tokenizer_json,
  pre_tokenizer: { type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false, ...more },
});

async function refused(make, message) {
  const start = process.cpuUsage();
  await assert.rejects(make(), (error) => {
    assert.deepEqual(
      [error.name, error.code, error.field],
      ["RopewalkError", "INVALID_FILE", "tokenizer.json"],
      error.stack,
    );
    assert.match(error.message, message);
    return true;
  });
  const { user, system } = process.cpuUsage(start);
  assert.ok(user + system < 20e6, `${(user + system) / 1e6} s`); // without the limit of steps, minutes to years
}

test("patterns that take exponential or polynomial time end with an error", async () => {
  const word = "a".repeat(200);
  const long = "a".repeat(20000);
  for (const [Regex, text] of [
    ["(a+)+$", `${word}!`],
    ["(a|a)*b", word],
    ["(a|aa)+$", `${word}!`],
    ["(?:\\p{L}+\\s?)+$", `${word}!`],
    ["(?=(a+)+$)a", `${word}!`],
    ["(?<=^(a+)+)!", `b${word}!`],
    ["(?:a*?a*)*?b", word],
    ["a*a*a*a*a*b", long],
    ["\\s*\\s*\\s*x", " ".repeat(20000)],
  ]) {
    await refused(
      async () => (await tokenizerFromJson(splitBy(Regex))).encode(text),
      /too many steps.*made to take long/,
    );
    for (const more of [{ invert: true }, { behavior: "Removed" }])
      await refused(async () => (await tokenizerFromJson(splitBy(Regex, more))).encode(text), /too many steps/);
    const normalizer = { type: "Replace", pattern: { Regex }, content: "x" };
    await refused(
      async () => (await tokenizerFromJson({ ...tokenizer_json, normalizer })).encode(text),
      /too many steps/,
    );
  }
});

test("a normalizer that would hang while the file is read", async () => {
  const normalizer = {
    type: "Sequence",
    normalizers: [{ type: "Replace", pattern: { Regex: "(a+)+$" }, content: "" }],
  };
  const added_tokens = [{ id: 0, content: `${"a".repeat(60)}!`, normalized: true, special: false }];
  await refused(() => tokenizerFromJson({ ...tokenizer_json, normalizer, added_tokens }), /too many steps/);
});

test("normalizers that make a text long end with an error", async () => {
  const double = { type: "Replace", pattern: { String: "a" }, content: "aa" };
  const normalizer = { type: "Sequence", normalizers: Array(40).fill(double) };
  await refused(
    async () => (await tokenizerFromJson({ ...tokenizer_json, normalizer })).encode("aaaa"),
    /makes the text too long/,
  );
});

test("components that would never end, or take too long, are refused", async () => {
  const { model } = tokenizer_json;
  const wrong = [
    [{ pre_tokenizer: { type: "FixedLength", length: 0 } }, "pre_tokenizer"],
    [{ pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "FixedLength", length: -1 }] } }, "pre_tokenizer"],
    [{ pre_tokenizer: { type: "Sequence", pretokenizers: Array(300).fill({ type: "Digits" }) } }, "pre_tokenizer"],
    [{ pre_tokenizer: { type: "Split", pattern: {}, behavior: "Isolated" } }, "pre_tokenizer"],
    [{ normalizer: { type: "Replace", pattern: { String: "a" } } }, "normalizer"],
    [{ normalizer: { type: "Prepend", prepend: "x".repeat(1000) } }, "normalizer"],
    [{ added_tokens: [{ id: 1, content: "x".repeat(1000), special: true }] }, "added_tokens"],
    [{ model: { ...model, end_of_word_suffix: "x".repeat(1000) } }, "model.end_of_word_suffix"],
    [{ model: { ...model, type: "WordPiece", max_input_chars_per_word: 1e9 } }, "model"],
    [{ model: { type: "Unigram", unk_id: 0, vocab: [["x".repeat(1000), -1]] } }, "model.vocab"],
  ];
  for (const [change, part] of wrong) {
    await assert.rejects(tokenizerFromJson({ ...tokenizer_json, ...change }), {
      code: "INVALID_FILE",
      field: `tokenizer.json ${part}`,
    });
  }
});

test("a number of 3000 digits in groups of three from the right", async () => {
  const Regex = "\\d{1,3}(?=(?:\\d{3})*\\b)";
  const tokenizer = await tokenizerFromJson(splitBy(Regex));
  const digits = "7".repeat(3000);
  assert.equal(tokenizer.decode(tokenizer.encode(digits)), digits);
});
