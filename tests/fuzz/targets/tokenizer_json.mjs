// Fuzzes tokenizer.json: a mutated file either makes a tokenizer that encodes and decodes, or is refused with a RopewalkError, in a second.
import { tokenizerFromJson } from "../../../build/package/text/tokenizer.js";
import { vocabularies } from "../../text/fixtures.mjs";
import { endsWell, mutateJson } from "../mutate_json.mjs";

export const name = "tokenizer_json";

const unigram = {
  ...vocabularies.byte_level.tokenizer_json,
  added_tokens: [],
  normalizer: { type: "Precompiled", precompiled_charsmap: "" },
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always" },
  decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always" },
  post_processor: null,
  model: {
    type: "Unigram",
    unk_id: 0,
    vocab: [
      ["<unk>", 0],
      ["▁", -2],
      ["▁a", -3],
      ["a", -4],
      ["b", -5],
      ["ab", -3.5],
    ],
  },
};
const wordPiece = {
  ...unigram,
  normalizer: { type: "BertNormalizer", clean_text: true, lowercase: true, strip_accents: null },
  pre_tokenizer: { type: "BertPreTokenizer" },
  decoder: { type: "ByteLevel" },
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: { "[UNK]": 0, a: 1, "##b": 2, "##a": 3 },
  },
};
const FILES = [vocabularies.byte_level.tokenizer_json, unigram, wordPiece];

/** Values and components that files have, or that have made readers hang. */
const VALUES = [
  ..."(a+)+$ (a|a)*b \\s*\\s*\\s*x (?<=(a+)+)b [a-z&&[^b]] (?i:a) \\p{Han}+ (?>a+) ( [ a{2,1} ^ $ (?=(\\d{3})+) \\b".split(
    " ",
  ),
  ...[
    "BPE",
    "Unigram",
    "WordPiece",
    "Sequence",
    "Split",
    "Replace",
    "ByteLevel",
    "Metaspace",
    "Digits",
    "Isolated",
    "Removed",
  ],
  { type: "Replace", pattern: { Regex: "(a+)+$" }, content: "aa" },
  { type: "Replace", pattern: { String: "a" }, content: "aaaaaaaa" },
  { type: "Split", pattern: { Regex: "(?:a|aa)+$" }, behavior: "Removed", invert: true },
  { type: "Sequence", normalizers: Array(30).fill({ type: "Replace", pattern: { String: "" }, content: "aa" }) },
  { type: "Sequence", pretokenizers: [{ type: "FixedLength", length: 0 }] },
  { type: "FixedLength", length: 2 },
  { type: "Prepend", prepend: "a".repeat(300) },
  { type: "TemplateProcessing", single: [{ SpecialToken: { id: "a", type_id: 0 } }], pair: [], special_tokens: {} },
  { type: "Strip", strip_left: true, strip_right: true, content: " ", start: 1e9, stop: -1 },
];
const TEXTS = [
  "",
  "a rope",
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
  " \n\t  x",
  "\ud800é漢😀",
  "<|im_end|>",
  "123456789",
  "a ".repeat(500),
];

export function setUp() {}

export async function run(random) {
  const json = mutateJson(random, random.pick(FILES), VALUES);
  const text = random.pick(TEXTS);
  await endsWell(async () => {
    const tokenizer = await tokenizerFromJson(
      json,
      mutateJson(random, { bos_token: "<|begin|>", eos_token: "a" }, VALUES),
    );
    const tokens = tokenizer.encode(text, { parseSpecial: random.chance(0.5), special: random.chance(0.5) });
    if (typeof tokenizer.decode(tokens) !== "string") throw new Error("decode() returned no text");
  }, JSON.stringify({ json, text }));
}
