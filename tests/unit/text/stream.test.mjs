// Streaming decoding of tokens.
import assert from "node:assert/strict";
import test from "node:test";
import { tokenizerFromGguf, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { byteLevelMetadata, sentencePieceMetadata, vocabularies } from "../../text/fixtures.mjs";

const tokenizers = [
  ["byte-level", await tokenizerFromGguf(byteLevelMetadata("qwen2"))],
  ["SentencePiece", await tokenizerFromGguf(sentencePieceMetadata())],
  ["tokenizer.json", await tokenizerFromJson(vocabularies.llama_json.tokenizer_json)],
];

for (const [name, tokenizer] of tokenizers) {
  test(`${name}: parts are whole characters and concatenate to the result of decode`, () => {
    for (const text of vocabularies.texts) {
      for (const options of [{}, { skipSpecial: false }, { continues: true }]) {
        const tokens = tokenizer.encode(text);
        const stream = tokenizer.stream(options);
        const parts = [...Array.from(tokens, (token) => stream.push(token)), stream.end()];
        assert.equal(parts.join(""), tokenizer.decode(tokens, options));
        for (const part of parts) assert.ok(part.isWellFormed?.() ?? true);
        assert.equal(parts.at(-1), ""); // no complete character was held back
      }
    }
  });

  test(`${name}: arbitrary tokens in arbitrary order`, () => {
    let seed = 7;
    const random = (below) => (seed = (seed * 48271) % 0x7fffffff) % below;
    for (let round = 0; round < 50; ++round) {
      const tokens = Array.from({ length: 30 }, () => random(tokenizer.vocabularySize));
      const stream = tokenizer.stream();
      // see the test of rows of bytes
      const isSame = name !== "tokenizer.json" || !tokenizer.decode(tokens).includes("\ufffd");
      let text = "";
      for (const token of tokens) {
        text += stream.push(token);
        if (isSame) assert.ok(tokenizer.decode(tokens).startsWith(text));
      }
      text += stream.end();
      if (isSame) assert.equal(text, tokenizer.decode(tokens));
    }
  });
}

test("a character is returned with its last byte, an incomplete one becomes U+FFFD", () => {
  for (const [, tokenizer] of tokenizers.slice(0, 2)) {
    const tokens = [...tokenizer.encode("🪢", { special: false })].slice(-4); // four bytes in these vocabularies
    const stream = tokenizer.stream({ continues: true });
    assert.deepEqual(
      tokens.map((token) => stream.push(token)),
      ["", "", "", "🪢"],
    );
    assert.equal(stream.push(tokens[0]) + stream.end(), "\ufffd");
    assert.deepEqual(
      tokens.map((token) => stream.push(token)),
      ["", "", "", "🪢"],
    ); // reset
  }
});

test("a row of byte tokens that isn't UTF-8: each is U+FFFD, in a stream those after its characters", () => {
  const tokenizer = tokenizers[2][1];
  const tokens = ["a", "<0x41>", "<0xE7>", "<0xB8>", "b", "<0xC3>", "<0xA9>", "<0xE7>"].map((piece) =>
    tokenizer.idOf(piece),
  );
  // values of tokenizers 0.23.3
  assert.equal(tokenizer.decode(tokens), "a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffd");
  const stream = tokenizer.stream();
  const parts = tokens.map((token) => stream.push(token));
  assert.deepEqual([...parts, stream.end()], ["a", "A", "", "", "\ufffd\ufffdb", "", "é", "", "\ufffd"]);
});
