// Tokenizers of released models: 1,000 texts, drawn at random, by the package tokenizers (tokenizer.json) and by llama.cpp (GGUF).
// ROPEWALK_SEED draws others.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { tokenizerFromGguf, tokenizerFromJson } from "../../build/package/runtime/text/tokenizer.js";
import { randomText } from "../text/random_texts.mjs";
import { readMetadata } from "../text/read_metadata.mjs";
import { released } from "./files.mjs";
import { ask } from "./reference.mjs";

const FILES = {
  "SmolLM2 (GGUF, byte-level BPE)": join(released.smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf"),
  "all-MiniLM-L6-v2 (WordPiece)": join(released.minilm, "tokenizer.json"),
  "Gemma 3 (BPE of characters with bytes)": join(released.gemma3, "tokenizer.json"),
  "Llama 2 (BPE of characters with bytes)": join(released.llama2, "tokenizer.json"),
  "Qwen3 (byte-level BPE)": join(released.qwen3, "tokenizer.json"),
  "DeepSeek V4 (byte-level BPE)": join(released.deepseek_v4, "tokenizer.json"),
  "Mon (Unigram with bytes)": join(released.mon, "mon_tokenizer.json"),
};
const first = Number(process.env.ROPEWALK_SEED ?? 1);
const source = JSON.parse(readFileSync(new URL("../text/encoder_vocabularies.json", import.meta.url), "utf8"));
const texts = Array.from({ length: 1000 }, (_, i) => randomText(first + i, source));

let expected;
before(async () => {
  expected = await ask("token_ids.py", texts, ...Object.values(FILES));
});

async function open(path) {
  if (path.endsWith(".gguf")) return tokenizerFromGguf(readMetadata(path));
  const read = (file) => JSON.parse(readFileSync(file, "utf8"));
  const config = join(path, "..", "tokenizer_config.json");
  return tokenizerFromJson(read(path), existsSync(config) ? read(config) : {});
}

for (const [i, [name, path]] of Object.entries(FILES).entries())
  test(`${name}: ids and texts`, async () => {
    const { ids, special, decoded } = expected[i];
    const tokenizer = await open(path);
    for (const [at, text] of texts.entries()) {
      const shown = JSON.stringify(text);
      const parseSpecial = special !== undefined; // as tokenizers does, and llama.cpp was asked not to
      assert.deepEqual(Array.from(tokenizer.encode(text, { special: false, parseSpecial })), ids[at], shown);
      if (special) assert.deepEqual(Array.from(tokenizer.encode(text)), special[at], shown);
      if (decoded) assert.equal(tokenizer.decode(ids[at]), decoded[at], shown);
      else assert.equal(tokenizer.decode(ids[at]), text);
    }
  });
