// Reading a format (a schema, a regular expression, a grammar, choices) and finding its first tokens takes time that grows with its size. A
// format that is refused is refused as soon.
//
// compare: --cases 300
import assert from "node:assert/strict";
import test from "node:test";
import { Formats } from "../../../build/package/runtime/grammar/formats.js";
import { Draw } from "../serving/draw.mjs";
import { assertGrowth } from "./growth.mjs";
import { GRAMMARS } from "./shapes/grammars.mjs";
import { PATTERNS } from "./shapes/patterns.mjs";
import { HOLDERS, LEAVES, VALUES } from "./shapes/schemas.mjs";

const SEED = process.env.ROPEWALK_SEED ?? 1;
const CASES = Number(process.env.ROPEWALK_CASES ?? 10);

const texts = ["", ...Array.from({ length: 128 }, (_, i) => String.fromCharCode(i)), "aaaa", '{"', '":'];
const bytes = texts.map((text) => Uint8Array.from(Buffer.from(text)));
const tokenizer = { bytes: (id) => bytes[id], endTokens: [0], vocabularySize: bytes.length };

/** Reads a format and finds the tokens at the first places of a text. */
function read(format) {
  try {
    const matcher = new Formats(tokenizer, bytes.length).matcher(format);
    for (let i = 0; i < 3; i++) {
      const { allowed } = matcher;
      const token = texts.findIndex((_, id) => id > 0 && (allowed[id >> 5] >> (id & 31)) & 1);
      if (token < 0) return;
      matcher.accept(token);
    }
  } catch (error) {
    assert.equal(error.code, "INVALID_ARGUMENT", error.stack);
  }
}

const each = (shapes, format) => Object.entries(shapes).map(([name, make]) => [name, (n) => format(make(n))]);
const schema = (given) => ({ schema: given });
const SUBJECTS = {
  "a schema": [
    ...each(VALUES, schema),
    ...each(LEAVES, (leaf) => leaf).map(([name, leaf]) => [`properties, ${name}`, (n) => schema(HOLDERS.properties(n, leaf))]), // prettier-ignore
    ...Object.entries(HOLDERS).map(([name, hold]) => [name, (n) => schema(hold(n, LEAVES.tagged))]),
  ],
  "a pattern": each(PATTERNS, (regex) => ({ regex })),
  "a schema of texts with a pattern": each(PATTERNS, (pattern) => schema({ enum: ["aaaaaaaaaa", "word7", ""], pattern })).slice(0, 12), // prettier-ignore
  "a grammar": each(GRAMMARS, (grammar) => ({ grammar })),
  choices: [
    ["words", (n) => ({ choices: Array.from({ length: n }, (_, i) => `choice ${i}`) })],
    ["a long text", (n) => ({ choices: ["a".repeat(n), "b"] })],
  ],
};

/** Sizes from which on these are refused: below, the time grows with the square of the size by their nature. */
const LEAST = { "properties, counted": 301, "negative lookaheads": 2048 };
/** A text is matched with a pattern by functions that call each other, and a long pattern is refused for their depth. */
const MOST = { "a schema of texts with a pattern": 2048 };

for (const [subject, shapes] of Object.entries(SUBJECTS))
  for (const [name, make] of shapes)
    test(`${subject}: ${name}`, () => assertGrowth(make, read, { least: LEAST[name], most: MOST[subject] }));

/** What showed its square only where it was large: all other sizes are the smallest that can be measured. */
const LARGE = {
  "properties, required": [5000, (n) => HOLDERS["required properties"](n, LEAVES.null)],
  "properties, all of many": [500, VALUES["properties, all of many"]],
  "not an enum of texts": [4000, VALUES["not an enum of texts"]],
  "not an enum of texts, limited": [1000, VALUES["not an enum of texts, limited"]],
  "not, of several enums": [4000, VALUES["not, of several enums"]],
};
for (const [name, [least, make]] of Object.entries(LARGE))
  test(`a large schema: ${name}`, () => assertGrowth((n) => schema(make(n)), read, { least, most: least }));

/** A schema with n schemas in it, of holders and leaves that are drawn. */
function drawn(draw) {
  const outer = draw.one(Object.keys(HOLDERS));
  const inner = draw.one(Object.keys(HOLDERS));
  const leaves = [draw.one(Object.keys(LEAVES)), draw.one(Object.keys(LEAVES))];
  const [inside, depth] = [draw.below(3) + 1, draw.below(2)];
  const leaf = (i) => LEAVES[leaves[i % 2]](i);
  const part = depth === 0 ? leaf : (i) => HOLDERS[inner](inside, (j) => leaf(i + j));
  return {
    name: `${outer} of ${depth === 0 ? "" : `${inside} in ${inner} of `}${leaves.join(" and ")}`,
    make: (n) => schema(HOLDERS[outer](n, part)),
  };
}

for (let i = 0; i < CASES; i++) {
  const { name, make } = drawn(new Draw(`${SEED} schema ${i}`));
  test(`drawn schema ${i} of seed ${SEED}: ${name}`, () => assertGrowth(make, read, { most: 4000 }));
}
