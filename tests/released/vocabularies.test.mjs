// Vocabularies of released models in GGUF, from llama.cpp's models/, which has the ids of its tests' texts beside them.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { tokenizerFromGguf } from "../../build/package/runtime/text/tokenizer.js";
import { readMetadata } from "../text/read_metadata.mjs";
import { released } from "./files.mjs";

const names = readdirSync(released.llama_cpp).filter((name) => name.endsWith(".gguf.out"));

test("there are 15 of them", () => assert.equal(names.length, 15));

for (const name of names.map((file) => file.slice(0, -".out".length))) {
  test(`${name}: the ids of llama.cpp for every text`, async () => {
    const path = join(released.llama_cpp, name);
    const metadata = readMetadata(path);
    const start = performance.now();
    const tokenizer = await tokenizerFromGguf(metadata);
    const texts = readFileSync(`${path}.inp`, "utf8").split("\n__ggml_vocab_test__\n");
    const expected = readFileSync(`${path}.out`, "utf8").split("\n").slice(0, texts.length);
    assert.ok(texts.length > 40);
    const isLossless = metadata["tokenizer.ggml.model"] !== "bert"; // WordPiece drops case and accents
    texts.forEach((text, i) => {
      const tokens = tokenizer.encode(text, { special: false, parseSpecial: false });
      assert.equal(tokens.join(" "), expected[i].trim(), JSON.stringify(text));
      if (isLossless) assert.equal(tokenizer.decode(tokens), text);
    });

    // ten times the typical time, so that only a quadratic algorithm fails
    const long = texts
      .join("\n")
      .repeat(400)
      .slice(0, 1 << 20);
    const word = "ropewalk".repeat(1 << 17);
    for (const text of [long, word]) {
      const tokens = tokenizer.encode(text);
      if (isLossless) assert.equal(tokenizer.decode(tokens), text);
    }
    assert.ok(performance.now() - start < 30000);
  });
}
