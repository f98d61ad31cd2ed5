// The tokenizer of RWKV World, from the vocabulary of a folder and from GGUF: the ids of the package `rwkv`
// (tests/golden/generate/rwkv/world_tokens.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { crc32 } from "../../../build/package/core/base/crc32.js";
import { tokenizerFrom } from "../../../build/package/runtime/text/tokenizer.js";
import { partsOf, readTiny } from "../../files/model_parts.mjs";

const FILE = "rwkv_vocab_v20230424.txt";
const golden = JSON.parse(readFileSync(new URL("../../golden/world_tokens.json", import.meta.url), "utf8"));
const vocabulary = readTiny(`rwkv7/${FILE}`).toString("utf8");
const { keys: metadata } = await partsOf("rwkv7", "gguf");

/** The texts of world_tokens.py. */
function* texts() {
  let state = 1;
  const below = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 16) % limit;
  };
  for (let i = 0; i < golden.hashes.length; i++) {
    let text = "";
    for (let pieces = below(24); pieces > 0; pieces--) text += golden.pieces[below(golden.pieces.length)];
    yield text;
  }
}

for (const [kind, source] of [
  ["vocabulary", { [FILE]: vocabulary }],
  ["GGUF", metadata],
]) {
  test(`${kind}: 2,000 texts have the ids of the package rwkv, and are decoded from them`, async () => {
    const tokenizer = await tokenizerFrom(source);
    const all = [...texts()];
    assert.equal(all.length, 2000);
    golden.examples.forEach(([text], i) => assert.equal(all[i], text));
    const options = { parseSpecial: false }; // that package has no special tokens
    for (const [text, ids] of golden.examples) assert.deepEqual([...tokenizer.encode(text, options)], ids);
    all.forEach((text, i) => {
      const ids = tokenizer.encode(text, options);
      assert.equal(crc32(new TextEncoder().encode(ids.join(","))), golden.hashes[i], JSON.stringify(text));
      assert.equal(tokenizer.decode(ids), text);
    });
  });

  test(`${kind}: id 0 ends a text and is read only from trusted text; streams keep parts of characters`, async () => {
    const tokenizer = await tokenizerFrom(source);
    assert.deepEqual([tokenizer.beginToken, tokenizer.endTokens[0], tokenizer.addsBegin], [0, 0, false]);
    assert.deepEqual([...tokenizer.encode("a<s>")], [98, 0]);
    assert.equal(tokenizer.encode("a<s>", { parseSpecial: false }).includes(0), false);
    assert.equal(tokenizer.isSpecial(0), true);
    const stream = tokenizer.stream();
    const parts = Array.from(new TextEncoder().encode("é你"), (byte) => stream.push(byte + 1));
    assert.deepEqual([...parts, stream.end()], ["", "é", "", "", "你", ""]);
  });
}

const lines = vocabulary.split("\n");
const withLine = (line, changed) => ({ [FILE]: lines.with(line - 1, changed).join("\n") });

test("damaged vocabularies are refused by line", async () => {
  const refused = (source, field) => assert.rejects(tokenizerFrom(source), { code: "INVALID_FILE", field });
  for (const changed of [
    "10 '\\t' 2", // another length
    "10 '\\t'",
    "10 \\t 1",
    "0 '\\t' 1",
    "99999999999 '\\t' 1",
    "9 '\\t' 1", // the id of the line before
    "10 '\\n' 1", // the token of the next line
    "x '\\t' 1",
    "10 '\\U00110000' 4",
  ])
    await assert.rejects(tokenizerFrom(withLine(10, changed)), ({ code, field }) => {
      assert.equal(code, "INVALID_FILE", changed);
      assert.match(field, /^rwkv_vocab_v20230424\.txt line 1[01]$/, changed);
      return true;
    });
  await refused(withLine(10, ""), FILE); // no token for a byte
  await refused({ [FILE]: "" }, FILE);
  await refused({ [FILE]: 7 }, FILE);
});

test("damaged tokens of GGUF are refused by key", async () => {
  const key = "tokenizer.ggml.tokens";
  for (const [at, token] of [
    [10, "tt"], // no token for a byte
    [10, "\\n"], // that of the next id
    [10, 7],
  ]) {
    const tokens = metadata[key].with(at, token);
    await assert.rejects(tokenizerFrom({ ...metadata, [key]: tokens }), { code: "INVALID_FILE", field: key });
  }
});
