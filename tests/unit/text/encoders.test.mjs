// WordPiece and Unigram tokenizers against Hugging Face's Rust tokenizers and sentencepiece (tests/text/make_encoder_vocabularies.py).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { tokenizerFromGguf, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { randomText } from "../../text/random_texts.mjs";

const golden = JSON.parse(readFileSync(new URL("../../text/encoder_vocabularies.json", import.meta.url), "utf8"));
const texts = Array.from({ length: 2000 }, (_, seed) => randomText(seed, golden));
const key = (name) => `tokenizer.ggml.${name}`;
const list = (tokens) => Array.from(tokens);
const hash = (values) => createHash("sha256").update(JSON.stringify(values)).digest("hex").slice(0, 5);

/** Compares what a tokenizer does with each text: its ids, as plain text, a truncated pair with its types, truncated, and decoded. */
function compare(tokenizer, hashes) {
  texts.forEach((text, i) => {
    const ids = tokenizer.encode(text);
    const maxLength = 5 + (i % 24);
    const pair = tokenizer.encodePair(text, texts[(i + 1) % texts.length], { maxLength });
    const values = [
      list(ids),
      list(tokenizer.encode(text, { special: false, parseSpecial: false })),
      list(pair.ids),
      list(pair.typeIds),
      list(tokenizer.encode(text, { maxLength })),
      tokenizer.decode(ids),
      tokenizer.decode(ids, { skipSpecial: false }),
    ];
    assert.equal(
      hash(values),
      hashes.slice(5 * i, 5 * i + 5),
      `text ${i}, ${JSON.stringify(text)}: ${JSON.stringify(values)}`,
    );
  });
}

for (const [name, { json, hashes }] of Object.entries(golden.tokenizers)) {
  test(`${name}: ids, pairs, truncation and texts of Hugging Face's tokenizers for 2,000 random texts`, async () => {
    compare(await tokenizerFromJson(json), hashes);
  });
}

/** GGUF metadata as a converter writes it for BERT: words begin with ▁, and nothing is before their other pieces. */
function bertMetadata(more = {}) {
  const { vocab } = golden.tokenizers.bert.json.model;
  const tokens = [];
  for (const [piece, id] of Object.entries(vocab))
    tokens[id] = /^\[.*\]$/.test(piece) ? piece : piece.startsWith("##") ? piece.slice(2) : `▁${piece}`;
  return {
    [key("model")]: "bert",
    [key("tokens")]: tokens,
    [key("token_type")]: tokens.map((_, id) => (id < 5 ? 3 : 1)),
    [key("unknown_token_id")]: 1,
    [key("cls_token_id")]: 2,
    [key("seperator_token_id")]: 3,
    ...more,
  };
}

/** GGUF metadata as a converter writes it for T5. */
function unigramMetadata(more = {}) {
  const { tokens, scores, token_type, charsmap } = golden.sentence_piece;
  return {
    [key("model")]: "t5",
    [key("tokens")]: tokens,
    [key("scores")]: Float32Array.from(scores),
    [key("token_type")]: token_type,
    [key("precompiled_charsmap")]: Int8Array.from(Buffer.from(charsmap, "base64")),
    [key("add_space_prefix")]: true,
    [key("remove_extra_whitespaces")]: true,
    ...more,
  };
}

test("GGUF, bert: the same as Hugging Face's tokenizers for 2,000 random texts", async () => {
  compare(await tokenizerFromGguf(bertMetadata()), golden.tokenizers.bert.hashes);
});

for (const merges of [true, false]) {
  test(`GGUF, t5: the ids of sentencepiece for 2,000 random texts, extra spaces ${merges ? "removed" : "kept"}`, async () => {
    const tokenizer = await tokenizerFromGguf(unigramMetadata({ [key("remove_extra_whitespaces")]: merges }));
    const hashes = golden.sentence_piece.hashes[merges];
    texts.forEach((text, i) => {
      const written = `${text.replaceAll(/<tool>|▁/g, "")}a`;
      const ids = list(tokenizer.encode(written, { special: false, parseSpecial: false }));
      assert.equal(hash(ids), hashes.slice(5 * i, 5 * i + 5), `text ${i}, ${JSON.stringify(written)}: ${ids}`);
    });
  });
}

test("GGUF, t5: special and user-defined tokens, pairs, and the text of tokens", async () => {
  const tokenizer = await tokenizerFromGguf(unigramMetadata());
  const [end, tool] = ["</s>", "<tool>"].map((piece) => tokenizer.idOf(piece));
  const ids = tokenizer.encode("the rope<tool>and yarn");
  assert.equal(ids.at(-1), end);
  assert.ok(ids.includes(tool));
  assert.equal(tokenizer.decode(ids), "the rope<tool> and yarn");
  const pair = tokenizer.encodePair("the", "rope");
  const [first, second] = [tokenizer.encode("the"), tokenizer.encode("rope")];
  assert.deepEqual(list(pair.ids), [...first, ...second]);
  assert.ok(pair.typeIds.every((type) => type === 0));
  const separated = await tokenizerFromGguf(unigramMetadata({ [key("seperator_token_id")]: end }));
  assert.deepEqual(list(separated.encodePair("the", "rope").ids), [...first, end, ...second]);
});

test("truncation keeps the special tokens, and the longer text of a pair loses tokens first", async () => {
  const { json } = golden.tokenizers.bert;
  const tokenizer = await tokenizerFromJson(json);
  const [cls, sep] = [tokenizer.idOf("[CLS]"), tokenizer.idOf("[SEP]")];
  const [a, b] = ["the", "yarn rope the rope yarn"].map((text) => list(tokenizer.encode(text, { special: false })));
  const pair = (maxLength) => list(tokenizer.encodePair("the", "yarn rope the rope yarn", { maxLength }).ids);
  assert.deepEqual(pair(8), [cls, ...a, sep, ...b.slice(0, 5 - a.length), sep]);
  assert.deepEqual(list(tokenizer.encode("yarn rope", { maxLength: 2 })), [cls, sep]);
  assert.deepEqual(list(tokenizer.encode("yarn rope", { maxLength: 0, special: false })), []);
  const left = await tokenizerFromJson(json, { truncation_side: "left" });
  assert.deepEqual(list(left.encode("yarn rope the rope yarn", { maxLength: 5 })), [cls, ...b.slice(-3), sep]);
  for (const maxLength of [1, 2.5, "8", NaN, null])
    assert.throws(() => tokenizer.encode("a", { maxLength }), { code: "INVALID_ARGUMENT", field: "maxLength" });
  assert.throws(() => tokenizer.encodePair("a", 3), { code: "INVALID_ARGUMENT", field: "second" });
  assert.throws(() => tokenizer.encodePair("a", "b", { length: 3 }), { code: "UNKNOWN_KEY", field: "length" });
});

test("time grows with the length of a text and of a word", async () => {
  const tokenizers = [
    await tokenizerFromGguf(bertMetadata()),
    await tokenizerFromGguf(unigramMetadata()),
    ...(await Promise.all(Object.values(golden.tokenizers).map(({ json }) => tokenizerFromJson(json)))),
  ];
  const start = process.cpuUsage();
  for (const text of [
    "ropewalk".repeat(1 << 13),
    "the rope é縄 ".repeat(1 << 12),
    "e\u0301".repeat(1 << 14),
    "\u0301".repeat(1 << 14),
  ])
    for (const tokenizer of tokenizers) assert.ok(tokenizer.decode(tokenizer.encode(text)).length >= 0);
  assert.ok(process.cpuUsage(start).user < 30e6); // ten times the typical time, so that only a quadratic algorithm fails
});

// Damaged and unsupported files.

const change = (name, changes) => ({ ...golden.tokenizers[name].json, ...changes });
const model = (name, changes) => change(name, { model: { ...golden.tokenizers[name].json.model, ...changes } });
const bert = { ...golden.tokenizers.bert.json.normalizer };
const special = { SpecialToken: { id: "[CLS]", type_id: 0 } };
const [A, B] = ["A", "B"].map((id) => ({ Sequence: { id, type_id: 0 } }));
const template = (more) => ({
  post_processor: { type: "TemplateProcessing", single: [A], pair: [A, B], special_tokens: {}, ...more },
});

const refused = [
  [model("bert", { unk_token: 3 }), "INVALID_FILE", "model"],
  [model("bert", { max_input_chars_per_word: 1e6 }), "INVALID_FILE", "model"],
  [model("bert", { dropout: 0.1 }), "UNSUPPORTED_MODEL", "model"],
  [model("t5", { alpha: 0.1 }), "UNSUPPORTED_MODEL", "model"],
  [model("t5", { unk_id: 1e6 }), "INVALID_FILE", "model"],
  [model("t5", { vocab: [["a", Infinity]], unk_id: 0 }), "INVALID_FILE", "model.vocab"],
  [model("t5", { vocab: [["a"]] }), "INVALID_FILE", "model.vocab"],
  [model("t5", { byte_fallback: "yes" }), "INVALID_FILE", "model"],
  [change("bert", { normalizer: { ...bert, form: "NFC" } }), "UNSUPPORTED_MODEL", "normalizer"],
  [change("bert", { normalizer: { ...bert, lowercase: 1 } }), "INVALID_FILE", "normalizer"],
  [change("bert", { normalizer: { type: "ByteLevel", form: "NFC" } }), "UNSUPPORTED_MODEL", "normalizer"],
  [change("bert", { normalizer: [] }), "INVALID_FILE", "normalizer"],
  [change("bert", { normalizer: { type: "Precompiled", precompiled_charsmap: "" } }), "INVALID_FILE", "normalizer"],
  [
    change("bert", { normalizer: { type: "Precompiled", precompiled_charsmap: "BAAAAP//" } }),
    "INVALID_FILE",
    "normalizer",
  ],
  [change("bert", { pre_tokenizer: { type: "UnicodeBlocks" } }), "UNSUPPORTED_MODEL", "pre_tokenizer"],
  [change("bert", { pre_tokenizer: { type: "Punctuation", behavior: "removed" } }), "INVALID_FILE", "pre_tokenizer"],
  [change("t5", { pre_tokenizer: { type: "Metaspace", replacement: "ab" } }), "INVALID_FILE", "pre_tokenizer"],
  [change("bert", { decoder: { type: "WordPiece", prefix: 1 } }), "INVALID_FILE", "decoder"],
  [change("bert", { post_processor: { type: "New" } }), "UNSUPPORTED_MODEL", "post_processor"],
  [
    change("bert", { post_processor: { type: "BertProcessing", cls: ["a", 1e6], sep: ["b", 0] } }),
    "INVALID_FILE",
    "post_processor",
  ],
  [change("bert", template({ single: [special, A] })), "INVALID_FILE", "post_processor"],
  [change("bert", template({ single: [B] })), "INVALID_FILE", "post_processor"],
  [change("bert", template({ single: [] })), "INVALID_FILE", "post_processor"],
  [change("bert", template({ single: [A, B] })), "INVALID_FILE", "post_processor"],
  [change("bert", template({ pair: "$A $B" })), "INVALID_FILE", "post_processor"],
  [change("bert", template({ more: 1 })), "UNSUPPORTED_MODEL", "post_processor"],
];
for (const [json, code, part] of refused) {
  test(`tokenizer.json: ${part} is refused as ${code}`, async () => {
    await assert.rejects(tokenizerFromJson(json), { code, field: `tokenizer.json ${part}` });
  });
}

for (const [name, pair, which] of [
  ["empty", [], "first"],
  ["without B", [A, A], "second"],
  ["without A", [B], "first"],
]) {
  test(`tokenizer.json: a template for pairs that is ${name} encodes texts, and pairs are refused`, async () => {
    const tokenizer = await tokenizerFromJson(change("bert", template({ pair })));
    const usual = await tokenizerFromJson(change("bert", template({})));
    assert.deepEqual(tokenizer.encode("a b"), usual.encode("a b"));
    for (const special of [true, false])
      assert.throws(() => tokenizer.encodePair("a", "b", { special }), {
        code: "UNSUPPORTED_MODEL",
        field: "tokenizer.json post_processor",
        message: new RegExp(`"pair" leaves out the ${which} text`),
      });
  });
}

test("tokenizer.json: an old Metaspace without prepend_scheme, whose add_prefix_space is false", async () => {
  const old = { type: "Metaspace", replacement: "▁", add_prefix_space: false };
  await assert.rejects(tokenizerFromJson(change("t5", { pre_tokenizer: old })), {
    code: "INVALID_FILE",
    field: "tokenizer.json pre_tokenizer",
    message: /prepend_scheme of Metaspace must be "never", as add_prefix_space is false/,
  });
  await tokenizerFromJson(change("t5", { pre_tokenizer: { ...old, prepend_scheme: "never" } }));
});

test("tokenizer.json: a character without a token, and no unknown token", async () => {
  const tokenizer = await tokenizerFromJson(
    model("t5", {
      unk_id: null,
      vocab: [
        ["▁", -1],
        ["a", -2],
        ["</s>", 0],
      ],
    }),
  );
  assert.throws(() => tokenizer.encode("ab"), { code: "INVALID_FILE", field: "tokenizer.json model.unk_id" });
});

const damaged = [
  [bertMetadata, "seperator_token_id", 1e6],
  [bertMetadata, "cls_token_id", "2"],
  [bertMetadata, "unknown_token_id", undefined],
  [bertMetadata, "normalizer.lowercase", 1],
  [unigramMetadata, "scores", undefined],
  [unigramMetadata, "precompiled_charsmap", "text"],
  [unigramMetadata, "precompiled_charsmap", [1, 2, 3000]],
  [unigramMetadata, "precompiled_charsmap", [9, 0, 0, 0, 1]],
  [unigramMetadata, "remove_extra_whitespaces", 1],
  [unigramMetadata, "add_sep_token", 1],
];
for (const [metadata, name, value] of damaged) {
  test(`GGUF: ${name} = ${JSON.stringify(value)} is rejected`, async () => {
    const { [key("tokens")]: tokens, [key("token_type")]: types } = metadata();
    const short =
      name === "unknown_token_id"
        ? { [key("tokens")]: tokens.slice(0, 50), [key("token_type")]: types.slice(0, 50) }
        : {};
    await assert.rejects(tokenizerFromGguf(metadata({ ...short, [key(name)]: value })), {
      code: "INVALID_FILE",
      field: key(name),
    });
  });
}
