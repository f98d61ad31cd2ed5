// The pre-tokenizer of mmBERT in GGUF files: each space begins a word, and lines begin with one.
import assert from "node:assert/strict";
import test from "node:test";
import { tokenizerFromGguf } from "../../../build/package/runtime/text/tokenizer.js";

const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, "0")}>`);
const words = ["▁", "a", "b", "c", "h", "e", "l", "o", "\n", "\n\n", "▁a", "ll", "▁b", "ab", "▁ab"];
const tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", ...bytes, ...words];

test("mmBERT's words have the ids of tokenizers 0.23 with Metaspace, always prepended", async () => {
  const tokenizer = await tokenizerFromGguf({
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "mmbert",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": tokens.map((token, id) => (id < 5 ? 3 : id < 261 ? 6 : /\n/.test(token) ? 4 : 1)),
    "tokenizer.ggml.merges": ["▁ a", "l l", "▁ b", "a b", "▁a b"],
    "tokenizer.ggml.unknown_token_id": 3,
    "tokenizer.ggml.add_bos_token": false,
  });
  const expected = {
    hello: [261, 265, 266, 272, 268],
    "  hello": [261, 261, 265, 266, 272, 268],
    "\thello": [261, 14, 265, 266, 272, 268],
    "a  b   c": [271, 261, 273, 261, 261, 261, 264],
    "ab\n\nab b": [275, 270, 275, 273],
    "x é": [261, 125, 261, 200, 174],
    "▁b a": [273, 271],
  };
  for (const [text, ids] of Object.entries(expected))
    assert.deepEqual([...tokenizer.encode(text, { special: false })], ids, JSON.stringify(text));
});
