// needleTexts(): lengths, what is hidden and asked for, seeds, filler, and which tokens count.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { load } from "ropewalk";
import { needleTexts } from "ropewalk/search";
import { tokensOfTexts } from "../../../build/package/apps/search/texts.js";

const tiny = (name) => new URL(`../../golden/tiny_models/${name}/`, import.meta.url);
const wordsOf = (text) => text.map((piece) => piece.answer ?? piece).join("");

describe("needleTexts()", () => {
  let rw, model;
  before(async () => {
    rw = await load({ threads: 1 });
    model = await rw.model(tiny("llama"));
  });
  after(() => model.dispose());

  test("texts fill the length, hide each number once in its own part, and ask for each", async () => {
    for (const [length, needles] of [
      [4096, 8],
      [9000, 3],
    ]) {
      const texts = await needleTexts(model.tokenizer, { length, needles, count: 3, seed: 5 });
      assert.equal(texts.length, 3);
      assert.equal(new Set(texts.map(wordsOf)).size, 3);
      for (const text of texts) {
        const { length: tokens } = model.tokenizer.encode(wordsOf(text));
        assert.ok(tokens <= length && tokens > length - 200, tokens);
        const [body] = text[0].split("\n\n");
        const hidden = Array.from(body.matchAll(/The secret number of the (\w+ \w+) is (\d{5})\./g));
        const asked = text.flatMap((piece, i) => {
          const [, thing] = /What is the secret number of the (\w+ \w+)\? The secret number of the \1 is$/.exec(text[i - 1] ?? "") ?? []; // prettier-ignore
          return piece.answer === undefined ? [] : [[thing, piece.answer.trim()]];
        });
        assert.equal(hidden.length, needles);
        assert.deepEqual(new Map(asked), new Map(hidden.map(([, thing, number]) => [thing, number])));
        hidden.forEach(({ index }, i) => {
          const place = (index / body.length) * needles;
          assert.ok(place > i - 0.2 && place < i + 1.2, `${i} ${place}`);
        });
      }
    }
  });

  test("a seed gives the same texts, another one others, and filler is read from a sentence on", async () => {
    const options = { length: 3000, needles: 4, count: 2 };
    const made = await needleTexts(model.tokenizer, options);
    assert.deepEqual(await needleTexts(model.tokenizer, { ...options, seed: 1 }), made);
    assert.notDeepEqual(await needleTexts(model.tokenizer, { ...options, seed: 2 }), made);
    const filler = Array.from({ length: 40 }, (_, i) => `Line ${i} is\nread.`).join(" ");
    const [text] = await needleTexts(model.tokenizer, { ...options, filler });
    const lines = Array.from(text[0].matchAll(/Line (\d+) is read\./g), ([, line]) => Number(line));
    assert.ok(lines.length > 40);
    lines.forEach((line, i) => assert.equal(line, (lines[0] + i) % 40));
  });

  test("the tokens of answers count, whatever the tokenizer does with spaces", async () => {
    for (const name of ["llama", "gemma", "qwen2", "mistral"]) {
      const { tokenizer, dispose } = await rw.model(tiny(name));
      void dispose;
      const text = [
        "The cat is here. The cat is",
        { answer: " here" },
        ". It",
        { answer: "" },
        " is",
        { answer: " so" },
      ];
      const [{ tokens, counted }] = await tokensOfTexts(tokenizer, [text], "texts", 1000);
      assert.deepEqual([...tokens], [...tokenizer.encode(wordsOf(text), { parseSpecial: false })], name);
      const said = tokenizer.decode(counted.map((at) => tokens[at])).replaceAll(" ", "");
      assert.match(said, /hereso$/, `${name}: ${said}`);
      assert.ok(said.length <= "hereso".length + 2, `${name}: ${said}`);
    }
  });

  test("options are refused by name", async () => {
    const refused = [
      [{ length: 0 }, "INVALID_ARGUMENT", "length"],
      [{ length: 255 }, "INVALID_ARGUMENT", "length"],
      [{ length: 300, needles: 64 }, "INVALID_ARGUMENT", "length"],
      [{ length: 4096, needles: 0 }, "INVALID_ARGUMENT", "needles"],
      [{ length: 4096, count: 0 }, "INVALID_ARGUMENT", "count"],
      [{ length: 4096, seed: 0.5 }, "INVALID_ARGUMENT", "seed"],
      [{ length: 4096, filler: " \n" }, "INVALID_ARGUMENT", "filler"],
      [{ length: 4096, filler: 5 }, "INVALID_ARGUMENT", "filler"],
      [{ length: 4096, needle: 3 }, "UNKNOWN_KEY", "needle"],
    ];
    for (const [options, code, field] of refused)
      await assert.rejects(needleTexts(model.tokenizer, options), { code, field }, JSON.stringify(options));
  });
});
