// Fuzzes tokenizer.json: a mutated file either makes a tokenizer that encodes and decodes, or is refused with a RopewalkError, in a second.
import { readFileSync } from "node:fs";
import { tokenizerFromJson } from "../../../build/package/runtime/text/tokenizer.js";
import { vocabularies } from "../../text/fixtures.mjs";
import { endsWell, mutateJson } from "../mutate_json.mjs";

export const name = "tokenizer_json";

const encoders = JSON.parse(readFileSync(new URL("../../text/encoder_vocabularies.json", import.meta.url), "utf8"));

/** A file with few tokens, so that other parts are changed as often. */
function small({ json }) {
  const { vocab } = json.model;
  const first = Array.isArray(vocab) ? vocab.slice(0, 40) : Object.fromEntries(Object.entries(vocab).slice(0, 40));
  const added_tokens = json.added_tokens.filter(({ id }) => id < 40);
  return { ...json, added_tokens, model: { ...json.model, vocab: first } };
}
const FILES = [vocabularies.byte_level.tokenizer_json, ...Object.values(encoders.tokenizers).map(small)];

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
  { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
  { type: "Precompiled", precompiled_charsmap: "CAAAAAEAAAAAAAAAYQA=" },
  { type: "NFKD" },
  { type: "Whitespace" },
  { type: "Split", pattern: { String: "a" }, behavior: "MergedWithNext", invert: false },
  { type: "RobertaProcessing", sep: ["a", 1], cls: ["b", 2] },
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
    const options = { parseSpecial: random.chance(0.5), special: random.chance(0.5) };
    const tokens = tokenizer.encode(text, options);
    const { ids, typeIds } = tokenizer.encodePair(text, random.pick(TEXTS), { ...options, maxLength: 1000 });
    if (ids.length !== typeIds.length || ids.length > 1000) throw new Error("encodePair() returned other lengths");
    if (typeof tokenizer.decode(tokens) !== "string") throw new Error("decode() returned no text");
  }, JSON.stringify({ json, text }));
}
