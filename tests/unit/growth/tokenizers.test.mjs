// Encoding a text takes time that grows with its length, whatever it is made of.
//
// compare: --cases 100
import test from "node:test";
import { tokenizerFromGguf, tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { byteLevelMetadata, sentencePieceMetadata, vocabularies } from "../../text/fixtures.mjs";
import { Draw } from "../serving/draw.mjs";
import { assertGrowth } from "./growth.mjs";

const SEED = process.env.ROPEWALK_SEED ?? 1;
const CASES = Number(process.env.ROPEWALK_CASES ?? 2);

const letters = Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => letter);
const numbered = (pieces) => Object.fromEntries(pieces.map((piece, id) => [piece, id]));
const TOKENIZERS = {
  "byte-level BPE": await tokenizerFromJson(vocabularies.byte_level.tokenizer_json),
  "byte-level BPE after NFC": await tokenizerFromJson({
    ...vocabularies.byte_level.tokenizer_json,
    normalizer: { type: "NFC" },
  }),
  "BPE of a GGUF file": await tokenizerFromGguf(byteLevelMetadata("llama-bpe")),
  "SentencePiece of a GGUF file": await tokenizerFromGguf(sentencePieceMetadata()),
  Unigram: await tokenizerFromJson({
    normalizer: { type: "NFKC" },
    pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    model: { type: "Unigram", unk_id: 0, vocab: [["<unk>", 0], ...["▁", ...letters, "aa", "aaaa", "▁the"].map((piece, i) => [piece, -2 - i / 10])] }, // prettier-ignore
    added_tokens: [],
  }),
  WordPiece: await tokenizerFromJson({
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true }, // prettier-ignore
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: numbered(["[UNK]", ...letters, ...letters.map((letter) => `##${letter}`), "aa", "##aa"]),
    },
    added_tokens: [{ id: 0, content: "[UNK]", special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }], // prettier-ignore
  }),
};

const TEXTS = {
  "one letter": (n) => "a".repeat(n),
  "one unknown letter": (n) => "é".repeat(n),
  words: (n) => "the red ball ".repeat(n),
  "no white space": (n) => "theredball".repeat(n),
  "different letters": (n) => Array.from({ length: n }, (_, i) => String.fromCodePoint(0x4e00 + (i % 20000))).join(""),
  spaces: (n) => " ".repeat(n),
  lines: (n) => "\n".repeat(n),
  "spaces and lines": (n) => " \n".repeat(n),
  "spaces before a letter": (n) => `${" ".repeat(n)}a`,
  digits: (n) => "1".repeat(n),
  punctuation: (n) => "!".repeat(n),
  apostrophes: (n) => "'".repeat(n),
  "combining accents": (n) => `a${"\u0301".repeat(n)}`,
  "different accents": (n) => `a${"\u0323\u0301".repeat(n)}`,
  "halfwidth voicing marks": (n) => `a${"\uff9e\u0301".repeat(n)}`,
  emojis: (n) => "😀".repeat(n),
  "joined emojis": (n) => "👩‍👩‍👧".repeat(n),
  flags: (n) => "🇳🇴".repeat(n),
  "Hangul letters": (n) => "\u1112\u1161\u11ab".repeat(n),
  "special tokens": (n) => "<|im_end|>".repeat(n),
  "starts of special tokens": (n) => "<|im_".repeat(n),
  "control characters": (n) => "\0\u0007".repeat(n),
};

const encode = (tokenizer) => (text) => tokenizer.encode(text);
for (const [kind, tokenizer] of Object.entries(TOKENIZERS)) {
  for (const [name, make] of Object.entries(TEXTS))
    test(`${kind}: ${name}`, () => assertGrowth(make, encode(tokenizer), { least: 256 }));
  for (let i = 0; i < CASES; i++) {
    const draw = new Draw(`${SEED} text ${kind} ${i}`);
    const parts = [draw.one(Object.values(TEXTS)), draw.one(Object.values(TEXTS))];
    const sizes = [1 + draw.below(20), 1 + draw.below(20)];
    test(`${kind}: drawn text ${i} of seed ${SEED}`, () =>
      assertGrowth((n) => parts.map((part, at) => part(sizes[at])).join("").repeat(n), encode(tokenizer))); // prettier-ignore
  }
}
