// The tokens that a format allows, compared with those that llama.cpp's grammar sampler allows (tests/golden/generate/grammars).
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Formats } from "../../../build/package/runtime/grammar/formats.js";

const { tokens, cases } = JSON.parse(
  await readFile(new URL("../../golden/grammar_masks.json", import.meta.url), "utf8"),
);
const bytes = tokens.map((token) => Uint8Array.from(Buffer.from(token, "base64")));
const tokenizer = { bytes: (id) => bytes[id], endTokens: [0], vocabularySize: bytes.length };
const formats = new Formats(tokenizer, bytes.length);

// llama.cpp reads a token as a text that ends at a zero byte, and takes bytes for the start of a character that UTF-8 doesn't have.
const differsByDesign = (piece) => piece.some((byte) => byte === 0 || byte >= 0xf5);

const isIn = (bits, token) => ((bits[token >> 3] >> (token & 7)) & 1) === 1;

for (const { name, grammar, steps } of cases)
  test(name, () => {
    const matcher = formats.matcher({ grammar });
    for (const [i, [expected, token]] of steps.entries()) {
      const bits = Buffer.from(expected, "base64");
      const allowed = new Uint8Array(matcher.allowed.buffer);
      const differing = bytes.flatMap((piece, id) =>
        isIn(bits, id) === isIn(allowed, id) || differsByDesign(piece)
          ? []
          : [`${id} ${JSON.stringify(Buffer.from(piece).toString())}`],
      );
      assert.deepEqual(differing, [], `step ${i}`);
      if (token !== 0) matcher.accept(token);
    }
  });

test("a token that ends texts isn't a part of one, whatever its bytes are", () => {
  const texts = ["", "a", "b", "ab"].map((text) => Uint8Array.from(Buffer.from(text)));
  const ending = { bytes: (id) => texts[id], endTokens: [1], vocabularySize: 4 };
  const matcher = new Formats(ending, 4).matcher({ regex: "(ab)+" });
  assert.deepEqual([...matcher.allowed], [0b1000]);
  matcher.accept(3);
  assert.deepEqual([...matcher.allowed], [0b1010]);
});
