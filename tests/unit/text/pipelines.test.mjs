// Files tokenizer.json drawn at random, against Hugging Face's Rust tokenizers (tests/golden/generate/random/tokenizer_pipelines.py).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = process.env.ROPEWALK_RANDOM ?? join(root, "golden", "random");
const golden = JSON.parse(readFileSync(join(folder, "tokenizer_pipelines.json"), "utf8"));
const vocabularies = JSON.parse(readFileSync(join(root, "text", "encoder_vocabularies.json"), "utf8"));
const map = JSON.stringify(vocabularies.sentence_piece.charsmap);
const filled = (file) => JSON.parse(JSON.stringify(file).replaceAll('"MAP"', map));
const digest = (value) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 4);
const list = (ids) => Array.from(ids);

/** The generator of pipelines/cases.py. */
function numbers(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

function textOf(seed) {
  const below = numbers(seed);
  const { pieces, ranges } = golden;
  let text = "";
  for (let left = [0, 1, 2, 3, 5, 8, 16, 30][below(8)]; left > 0; left--) {
    const kind = below(16);
    if (kind < 11) text += pieces[below(pieces.length)];
    else if (kind < 13) {
      const [first, end] = ranges[below(ranges.length)];
      text += String.fromCodePoint(first + below(end - first));
    } else if (kind < 15) text += ` ${pieces[below(12)]}`;
    else text += "aé 1\n"[below(5)].repeat(3 + below(40));
  }
  return text;
}

function answer(run) {
  try {
    return run();
  } catch (error) {
    assert.equal(error.name, "RopewalkError", error.stack);
    return "error";
  }
}

function idsOf(tokenizer) {
  const has = (id) => answer(() => tokenizer.token(id)) !== "error";
  return Array.from({ length: tokenizer.vocabularySize }, (_, id) => id).filter(has);
}

/** What a stream makes of tokens: the same, but for rows of bytes that aren't UTF-8. */
function checkStream(tokenizer, ids, skipSpecial, decoded) {
  const stream = tokenizer.stream({ skipSpecial });
  const text = ids.map((id) => stream.push(id)).join("") + stream.end();
  if (!decoded.includes("\ufffd")) assert.equal(text, decoded);
}

function results(tokenizer, seed, ids) {
  const [first, second] = [textOf(seed), textOf(seed + 1)];
  const pair = () => {
    const { ids, typeIds } = tokenizer.encodePair(first, second);
    return [list(ids), list(typeIds)];
  };
  const encoded = [
    answer(() => list(tokenizer.encode(first, { special: false }))),
    answer(() => list(tokenizer.encode(first))),
    answer(() => list(tokenizer.encode(first, { special: false, parseSpecial: false }))),
    answer(pair),
  ];
  const below = numbers(seed);
  const drawn = Array.from({ length: below(14) }, () => ids[below(ids.length)]);
  const lists = Array.isArray(encoded[1]) ? [drawn, encoded[1]] : [drawn];
  const decoded = lists.flatMap((row) =>
    [true, false].map((skipSpecial) => {
      const text = answer(() => tokenizer.decode(row, { skipSpecial }));
      if (text !== "error") checkStream(tokenizer, row, skipSpecial, text);
      return text;
    }),
  );
  return { encoded, decoded, text: first };
}

const limit = Number(process.env.ROPEWALK_SHOWN ?? 5);

test(`${golden.cases.length} files drawn at random: ids, pairs and texts of Hugging Face's tokenizers`, async () => {
  const wrong = [];
  let compared = 0;
  for (const [index, { file, seed, hashes }] of golden.cases.entries()) {
    let tokenizer;
    try {
      tokenizer = await tokenizerFromJson(filled(file));
    } catch (error) {
      wrong.push({ index, seed, error: error.message });
      continue;
    }
    const ids = idsOf(tokenizer);
    for (let i = 0; i < golden.texts; i++) {
      const { encoded, decoded, text } = results(tokenizer, seed + i, ids);
      const expected = hashes.slice(8 * i, 8 * i + 8);
      compared += 2;
      const differs = (hash, values) => hash !== digest(values);
      if (differs(expected.slice(0, 4), encoded)) wrong.push({ index, seed: seed + i, text, encoded });
      if (differs(expected.slice(4), decoded)) wrong.push({ index, seed: seed + i, text, decoded });
    }
  }
  const files = new Set(wrong.map(({ index }) => index));
  assert.equal(
    wrong.length,
    0,
    `seed ${golden.seed}: ${wrong.length} of ${compared} results differ, in ${files.size} of ${golden.cases.length} files:\n` +
      [...files]
        .slice(0, limit)
        .map((index) => JSON.stringify(wrong.find((one) => one.index === index)))
        .join("\n"),
  );
});

test(`${golden.refused.length} damaged files that Hugging Face's tokenizers refuse are refused`, async () => {
  const accepted = [];
  for (const change of golden.refused) {
    const [index, part, key, value] = change;
    const { file } = golden.cases[index];
    const component = { ...file[part], [key]: value };
    if (change.length === 3) delete component[key];
    try {
      await tokenizerFromJson(filled({ ...file, [part]: component }));
      accepted.push(change);
    } catch (error) {
      assert.equal(error.name, "RopewalkError", error.stack);
      assert.ok(["INVALID_FILE", "UNSUPPORTED_MODEL"].includes(error.code), error.code);
    }
  }
  assert.deepEqual(accepted, []);
});
