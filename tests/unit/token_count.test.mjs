// Numbers of tokens as people write them, on the Doctor's page and in the command line.
import assert from "node:assert/strict";
import test from "node:test";
import { parseTokenCount } from "ropewalk/doctor";

const READ = {
  100000: 100_000,
  "100,000": 100_000,
  "100 000": 100_000,
  "100\u00a0000": 100_000,
  "100\u202f000": 100_000,
  "100_000": 100_000,
  " 1,048,576 ": 1_048_576,
  "1e5": 100_000,
  "1.5e5": 150_000,
  "1e+5": 100_000,
  // thousands in lower case and powers of 1024 in upper case: vLLM's --max-model-len
  "100k": 100_000,
  "100 k": 100_000,
  "128k": 128_000,
  "25.6k": 25_600,
  "1.1k": 1_100,
  "128K": 131_072,
  "1.5K": 1_536,
  "1m": 1_000_000,
  "1M": 1_048_576,
  "1g": 1_000_000_000,
  "1G": 2 ** 30,
  0: 0,
};

test("texts of a number of tokens", () => {
  for (const [text, value] of Object.entries(READ)) assert.equal(parseTokenCount(text), value, text);
});

test("what may mean something else isn't a number of tokens", () => {
  const others = [
    "",
    " ",
    "abc",
    "-5",
    "1.5",
    "100.000",
    "1,00",
    "1,0000",
    "100,00",
    "1,000 000",
    "100kb",
    "k",
    "0x10",
    "1e99",
  ];
  for (const text of [...others, "0.3k tokens", "1.0001k", "1.1K", "Infinity", "NaN", "١٠٠", "9007199254740993"])
    assert.equal(parseTokenCount(text), undefined, text);
});
