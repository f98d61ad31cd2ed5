// Many strings decoded at once, at random, compared with TextDecoder for each of them.
import assert from "node:assert/strict";
import test from "node:test";
import { decodeStrings } from "../../../build/package/runtime/files/utf8_strings.js";
import { randomNumbers } from "../../files/schedule.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 3000);
const VALID = ["a", "Ġ", "€", "漢", "🙂", "\0", "\ufeff", "\u0080", "\u{10ffff}", "\uffff"].map((text) =>
  Buffer.from(text),
);
const INVALID = [
  [0x80],
  [0xbf],
  [0xc3],
  [0xe2, 0x82],
  [0xf0, 0x9f, 0x99],
  [0xc0, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf8],
  [0xff],
].map((bytes) => Buffer.from(bytes));
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function oneByOne(strings) {
  try {
    return strings.map((bytes) => strict.decode(bytes));
  } catch {
    return undefined;
  }
}

test(`strings at random, seed ${SEED}`, () => {
  const random = randomNumbers(SEED);
  const below = (limit) => Math.floor(random() * limit);
  const pick = (list) => list[below(list.length)];
  const counts = { valid: 0, invalid: 0, split: 0 };
  for (let i = 0; i < CASES; i++) {
    const strings = Array.from({ length: below(8) }, () =>
      Buffer.concat(Array.from({ length: below(6) }, () => pick(random() < 0.03 ? INVALID : VALID))),
    );
    if (strings.length > 1 && random() < 0.2) {
      const at = 1 + below(strings.length - 1);
      const character = Buffer.from(pick(["Ġ", "€", "🙂"]));
      strings[at - 1] = character.subarray(0, 1); // valid together with the next one, but not alone
      strings[at] = character.subarray(1);
      counts.split += 1;
    }
    const ranges = new Uint32Array(2 * strings.length);
    const parts = strings.flatMap((bytes, at) => {
      const gap = Buffer.alloc(below(3), 0xff); // between strings are their lengths
      const start = (ranges[2 * at - 1] ?? 0) + gap.length;
      ranges.set([start, start + bytes.length], 2 * at);
      return [gap, bytes];
    });
    const expected = oneByOne(strings);
    assert.deepEqual(decodeStrings(Buffer.concat(parts), ranges), expected, `case ${i}`);
    counts[expected === undefined ? "invalid" : "valid"] += 1;
  }
  for (const count of Object.values(counts)) assert.ok(count > CASES / 20, JSON.stringify(counts));
});
