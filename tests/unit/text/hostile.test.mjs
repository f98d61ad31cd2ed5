// Damaged and unsupported vocabularies.
import assert from "node:assert/strict";
import test from "node:test";
import {
  tokenizerFrom,
  tokenizerFromFiles,
  tokenizerFromGguf,
  tokenizerFromJson,
} from "../../../build/package/runtime/text/tokenizer.js";
import { byteLevelMetadata, sentencePieceMetadata, vocabularies } from "../../text/fixtures.mjs";

const key = (name) => `tokenizer.ggml.${name}`;
const { tokenizer_json } = vocabularies.byte_level;
const tokens = byteLevelMetadata("qwen2")[key("tokens")];
const longer = (list) => [...list, 1];

const damagedBytes = [
  ["tokens", undefined],
  ["tokens", []],
  ["tokens", "text"],
  ["tokens", [...tokens.slice(0, -1), 7]],
  ["tokens", [...tokens, tokens[5]]],
  ["token_type", longer(byteLevelMetadata("qwen2")[key("token_type")])],
  ["token_type", tokens.map(() => 9)],
  ["token_type", tokens.map(() => 6)],
  ["token_type", "text"],
  ["token_type", tokens.map(() => "1")],
  ["merges", undefined],
  ["merges", [1, 2]],
  ["bos_token_id", tokens.length],
  ["bos_token_id", 2n ** 63n],
  ["eos_token_id", -1],
  ["eot_token_id", 1.5],
  ["eom_token_id", "3"],
  ["add_bos_token", 1],
  ["add_eos_token", "true"],
  ["pre", 7],
  ["model", undefined],
  ["model", 4],
];
for (const [name, value] of damagedBytes) {
  const shown = String(JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}n` : item))).slice(0, 40);
  test(`GGUF, byte-level: ${name} = ${shown} is rejected`, async () => {
    await assert.rejects(tokenizerFromGguf(byteLevelMetadata("qwen2", { [key(name)]: value })), {
      code: "INVALID_FILE",
      field: key(name),
    });
  });
}

test("GGUF, SentencePiece: scores that are missing, too few or not numbers are rejected", async () => {
  for (const scores of [undefined, [1, 2], tokens.map(() => NaN), new DataView(new ArrayBuffer(8))]) {
    const metadata = sentencePieceMetadata({ [key("scores")]: scores });
    await assert.rejects(tokenizerFromGguf(metadata), { code: "INVALID_FILE", field: key("scores") });
  }
});

test("GGUF, SentencePiece: an add_space_prefix that is not a boolean is rejected", async () => {
  const metadata = sentencePieceMetadata({ [key("add_space_prefix")]: 0 });
  await assert.rejects(tokenizerFromGguf(metadata), { code: "INVALID_FILE", field: key("add_space_prefix") });
});

test("GGUF: errors for unsupported tokenizers and pre-tokenizers list the supported ones", async () => {
  await assert.rejects(tokenizerFromGguf(byteLevelMetadata("no-such")), (error) => {
    assert.equal(error.code, "UNSUPPORTED_MODEL");
    assert.equal(error.field, key("pre"));
    assert.match(error.message, /"no-such".*llama-bpe.*qwen2/);
    return true;
  });
  const other = sentencePieceMetadata({ [key("model")]: "plamo2" });
  await assert.rejects(tokenizerFromGguf(other), { code: "UNSUPPORTED_MODEL", field: key("model") });
});

test("GGUF: keys that change the ids are refused unless they change nothing", async () => {
  const names = "metaspace.prepend_scheme";
  const bytes = (value) => tokenizerFromGguf({ ...byteLevelMetadata("gpt-2"), [key(names)]: value });
  await bytes("never");
  await assert.rejects(bytes("first"), { code: "UNSUPPORTED_MODEL", field: key(names), message: /must be never/ });
  const unigram = (value) => tokenizerFromGguf({ [key("model")]: "t5", [key("normalizer.nfc")]: value });
  await assert.rejects(unigram(true), { code: "UNSUPPORTED_MODEL", field: key("normalizer.nfc") });
  await assert.rejects(unigram(false), { code: "INVALID_FILE", field: key("tokens") });
});

test("GGUF: 100,000 special tokens that begin alike, and one that is very long", async () => {
  const many = Array.from({ length: 100000 }, (_, i) => `aaaa${i}<`);
  const withTokens = (more) =>
    byteLevelMetadata("qwen2", {
      [key("tokens")]: [...tokens, ...more],
      [key("token_type")]: [...byteLevelMetadata("qwen2")[key("token_type")], ...more.map(() => 3)],
    });
  const tokenizer = await tokenizerFromGguf(withTokens(many));
  const start = process.cpuUsage();
  const text = "a".repeat(100000) + "aaaa77<";
  assert.equal(tokenizer.encode(text).at(-1), tokens.length + 77);
  assert.ok(process.cpuUsage(start).user < 20e6); // a search of all tokens at each character takes minutes
  await assert.rejects(tokenizerFromGguf(withTokens(["a".repeat(1000)])), {
    code: "INVALID_FILE",
    field: key("tokens"),
  });
});

test("options and arguments of any kind", async () => {
  const tokenizer = await tokenizerFromGguf(byteLevelMetadata("qwen2"));
  const wrong = [
    [() => tokenizer.encode("a", { specials: true }), "UNKNOWN_KEY", "specials"],
    [() => tokenizer.encode("a", null), "INVALID_ARGUMENT", "options"],
    [() => tokenizer.encode("a", { special: 1 }), "INVALID_ARGUMENT", "special"],
    [() => tokenizer.encode("a", { parseSpecial: null }), "INVALID_ARGUMENT", "parseSpecial"],
    [() => tokenizer.encode(Symbol("a")), "INVALID_ARGUMENT", "text"],
    [() => tokenizer.decode([0], { skip_special: true }), "UNKNOWN_KEY", "skip_special"],
    [() => tokenizer.decode([0], { skipSpecial: "no" }), "INVALID_ARGUMENT", "skipSpecial"],
    [() => tokenizer.decode(3), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.decode(null), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.decode([1n]), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.decode([Symbol("a")]), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.stream({ continue: true }), "UNKNOWN_KEY", "continue"],
    [() => tokenizer.stream().push(-1), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.stream().push(Symbol("a")), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.token(1.5), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.token({}), "INVALID_ARGUMENT", "tokens"],
    [() => tokenizer.idOf(3), "INVALID_ARGUMENT", "token"],
  ];
  for (const [call, code, field] of wrong) assert.throws(call, { name: "RopewalkError", code, field }, String(call));
  for (const id of ["length", "__proto__", "map", "0"])
    assert.throws(() => tokenizer.token(id), { code: "INVALID_ARGUMENT", field: "tokens" }, id);
});

test("sources of tokenizerFrom that are no objects", async () => {
  for (const source of [undefined, null, "text", 3, 3n, Symbol("a"), [], new Uint8Array(3), () => {}])
    await assert.rejects(async () => tokenizerFrom(source), { code: "INVALID_ARGUMENT", field: "source" });
  for (const config of [null, 3, "text", []])
    await assert.rejects(tokenizerFrom(tokenizer_json, config), { name: "RopewalkError", code: "INVALID_FILE" });
});

const model = tokenizer_json.model;
const damagedJson = [
  [{ model: undefined }, "tokenizer.json model"],
  [{ model: { ...model, vocab: { ...model.vocab, a: -1 } } }, "tokenizer.json model.vocab"],
  [{ model: { ...model, vocab: { ...model.vocab, a: 2 ** 40 } } }, "tokenizer.json model.vocab"],
  [{ model: { ...model, vocab: { ...model.vocab, more: 5 } } }, "tokenizer.json model.vocab"],
  [{ model: { ...model, vocab: "text" } }, "tokenizer.json model.vocab"],
  [{ model: { ...model, vocab: [["a"]] } }, "tokenizer.json model.vocab"],
  [{ model: { ...model, vocab: {} }, added_tokens: [] }, "tokenizer.json model.vocab"],
  [{ model: { ...model, merges: ["nospace"] } }, "tokenizer.json model.merges"],
  [{ model: { ...model, merges: [["a", "no such"]] } }, "tokenizer.json model.merges"],
  [{ model: { ...model, merges: 3 } }, "tokenizer.json model"],
  [{ added_tokens: [{ content: 1, id: 0 }] }, "tokenizer.json added_tokens"],
  [{ added_tokens: [null] }, "tokenizer.json added_tokens"],
  [{ normalizer: { type: "Replace", pattern: { Regex: "(" }, content: "" } }, "tokenizer.json normalizer"],
];
for (const [change, field] of damagedJson) {
  test(`tokenizer.json: ${JSON.stringify(change)?.slice(0, 40)} … is rejected (${field})`, async () => {
    await assert.rejects(tokenizerFromJson({ ...tokenizer_json, ...change }), { code: "INVALID_FILE", field });
  });
}

test("tokenizer.json: not an object, unsupported components, invalid ids", async () => {
  await assert.rejects(tokenizerFromJson([]), { code: "INVALID_FILE", field: "tokenizer.json" });
  for (const decoder of [
    { type: "New" },
    { type: "Sequence", decoders: [{ type: "Old" }] },
    { type: "Fuse", more: 1 },
  ]) {
    const unsupported = { code: "UNSUPPORTED_MODEL", field: "tokenizer.json decoder" };
    await assert.rejects(tokenizerFromJson({ ...tokenizer_json, decoder }), unsupported);
  }
  const unknown = { ...tokenizer_json, pre_tokenizer: { type: "New" } };
  await assert.rejects(tokenizerFromJson(unknown), {
    code: "UNSUPPORTED_MODEL",
    field: "tokenizer.json pre_tokenizer",
  });
  const field = "generation_config.json eos_token_id";
  for (const eos_token_id of ["1", [1, 2.5], [null]]) {
    await assert.rejects(tokenizerFromJson(tokenizer_json, {}, { eos_token_id }), { code: "INVALID_FILE", field });
  }
});

test("generation_config.json: ids outside the vocabulary are left out with a warning", async () => {
  const size = tokens.length;
  for (const [eos_token_id, ends, ignored] of [
    [[1, 99999], [1], "99999"],
    [-1, [], "-1"],
    [[size + 5, 2, -7], [2], `${size + 5}, -7`],
    [[1, 2], [1, 2], undefined],
  ]) {
    const warnings = [];
    const tokenizer = await tokenizerFromFiles(tokenizer_json, {}, { eos_token_id }, (text) => warnings.push(text));
    const plain = await tokenizerFromFiles(tokenizer_json, {}, { eos_token_id: ends });
    assert.deepEqual(tokenizer.endTokens, plain.endTokens);
    const expected = `generation_config.json: eos_token_id has ${ignored}, outside the vocabulary, which is ignored`;
    assert.deepEqual(warnings, ignored === undefined ? [] : [expected]);
  }
});

test("a tokenizer.json under its name, as text or parsed", async () => {
  const plain = await tokenizerFrom(tokenizer_json);
  for (const file of [JSON.stringify(tokenizer_json), tokenizer_json])
    assert.deepEqual((await tokenizerFrom({ "tokenizer.json": file })).encode("the cat"), plain.encode("the cat"));
  for (const file of ["{", "3", 3, null])
    await assert.rejects(tokenizerFrom({ "tokenizer.json": file }), { code: "INVALID_FILE", field: "tokenizer.json" });
});

test("what isn't implemented is refused by its name", async () => {
  const part = (pattern) => ({ type: "Split", pattern, behavior: "Isolated", invert: false });
  for (const [change, field, message] of [
    [{ model: { ...model, dropout: 0.1 } }, "model", /dropout of BPE must be 0 or null/],
    [{ model: { ...model, cache: 3 } }, "model", /BPE has the option "cache", which is unknown/],
    [{ model: { ...model, type: "Lattice" } }, "model", /must be BPE, Unigram, WordPiece, WordLevel/],
    [{ version: "2.0" }, "version", /"2.0"/],
    [{ pre_tokenizer: part({ Regex: "\\X" }) }, "pre_tokenizer", /Split has the pattern .* it has \\X/],
    [{ pre_tokenizer: part({ Regex: "(a)\\1" }) }, "pre_tokenizer", /it has \\1/],
    [{ pre_tokenizer: part({ Regex: "\\p{Klingon}" }) }, "pre_tokenizer", /unknown class .*Klingon/],
    [{ pre_tokenizer: part({ Glob: "*" }) }, "pre_tokenizer", /must be \{ Regex \} or \{ String \}/],
    [{ pre_tokenizer: { type: "Digits" } }, "pre_tokenizer", /individual_digits of Digits/],
    [{ added_tokens: [{ id: 0, content: "a", strip: true }] }, "added_tokens", /"a" has the unknown option "strip"/],
    [{ added_tokens: [{ id: 0, content: "a", lstrip: 1 }] }, "added_tokens", /lstrip of "a" must be true or false/],
  ]) {
    await assert.rejects(tokenizerFromJson({ ...tokenizer_json, ...change }), (error) => {
      assert.equal(error.field, `tokenizer.json ${field}`, error.stack);
      assert.ok(["INVALID_FILE", "UNSUPPORTED_MODEL"].includes(error.code));
      assert.match(error.message, message);
      return true;
    });
  }
});

test("an added token gets the id of the reference, whatever the file says", async () => {
  const warnings = [];
  const added_tokens = [...tokenizer_json.added_tokens, { id: 9999, content: "<new>", special: true }];
  const tokenizer = await tokenizerFromFiles({ ...tokenizer_json, added_tokens }, {}, {}, (text) =>
    warnings.push(text),
  );
  assert.equal(tokenizer.idOf("<new>"), tokens.length);
  assert.deepEqual(warnings, [
    `tokenizer.json: "<new>" has the id ${tokens.length}, not 9999, as in Hugging Face's tokenizers`,
  ]);
});
