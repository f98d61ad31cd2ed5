// Real vocabularies against llama.cpp's ids. They are in ../shared, which a clone of the repository doesn't have.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { tokenizerFromGguf } from "../../build/package/text/tokenizer.js";
import { readMetadata } from "../text/read_metadata.mjs";

const folder = fileURLToPath(new URL("../../../shared/data/vocab/", import.meta.url));
const skip = existsSync(folder) ? false : "../shared/data/vocab is not available";

for (const name of ["gpt-2", "deepseek-llm", "llama-spm"]) {
  test(`${name}: the ids of llama.cpp for every text`, { skip }, async () => {
    const path = `${folder}ggml-vocab-${name}.gguf`;
    const metadata = readMetadata(path);
    const start = performance.now();
    const tokenizer = await tokenizerFromGguf(metadata);
    const texts = readFileSync(`${path}.inp`, "utf8").split("\n__ggml_vocab_test__\n");
    const expected = readFileSync(`${path}.out`, "utf8").split("\n").slice(0, texts.length);
    assert.ok(texts.length > 40);
    texts.forEach((text, i) => {
      const tokens = tokenizer.encode(text, { special: false, parseSpecial: false });
      assert.equal(tokens.join(" "), expected[i].trim(), JSON.stringify(text));
      assert.equal(tokenizer.decode(tokens), text);
    });

    // ten times the typical time, so that only a quadratic algorithm fails
    const long = texts
      .join("\n")
      .repeat(400)
      .slice(0, 1 << 20);
    const word = "ropewalk".repeat(1 << 17);
    for (const text of [long, word]) assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    assert.ok(performance.now() - start < 30000);
  });
}
