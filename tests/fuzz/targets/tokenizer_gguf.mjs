// Fuzzes the Unigram, WordPiece and RWKV vocabularies of GGUF files, and RWKV's own file: they make a tokenizer that encodes and decodes, or are
// refused, in a second.
import { readFileSync } from "node:fs";
import { tokenizerFrom } from "../../../build/package/runtime/text/tokenizer.js";
import { endsWell, mutateJson } from "../mutate_json.mjs";

export const name = "tokenizer_gguf";

const encoders = JSON.parse(readFileSync(new URL("../../text/encoder_vocabularies.json", import.meta.url), "utf8"));
const { tokens, scores, token_type, charsmap } = encoders.sentence_piece;
const key = (part) => `tokenizer.ggml.${part}`;

const unigram = {
  [key("model")]: "t5",
  [key("tokens")]: tokens.slice(0, 60),
  [key("scores")]: scores.slice(0, 60),
  [key("token_type")]: token_type.slice(0, 60),
  [key("add_space_prefix")]: true,
  [key("remove_extra_whitespaces")]: true,
  [key("eos_token_id")]: 1,
  [key("unknown_token_id")]: 2,
};
const wordPiece = {
  [key("model")]: "bert",
  [key("tokens")]: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "a", "▁rope", "▁!", "x"],
  [key("token_type")]: [3, 3, 3, 3, 1, 1, 1, 1, 1],
  [key("cls_token_id")]: 2,
  [key("seperator_token_id")]: 3,
  [key("unknown_token_id")]: 1,
  [key("normalizer.lowercase")]: true,
};
const hex = (byte) => byte.toString(16).padStart(2, "0");
const world = {
  [key("model")]: "rwkv",
  [key("tokens")]: ["<s>", ...Array.from({ length: 256 }, (_, byte) => `\\x${hex(byte)}`), "aa", "a rope", "\\n\\n"],
  [key("token_type")]: [3, ...Array(259).fill(1)],
  [key("eos_token_id")]: 0,
};
const worldLines = Array.from({ length: 256 }, (_, byte) => `${byte + 1} b'\\x${hex(byte)}' 1`);
const worldFile = [...worldLines, "257 'aa' 2", "258 '\\u2002é' 5"].join("\n");
const VALUES = ["▁", "##a", "t5", "bert", "rwkv", "\\x6", "\\", "llama", 4294967296, [1, 2, 3]];
const TEXTS = ["", "a rope", "a".repeat(40), " \n\t  x", "\ud800é漢😀", "[CLS]</s>", "ﬁ e\u0301 １ a ".repeat(50)];
const MAP = Buffer.from(charsmap, "base64");

export function setUp() {}

/** RWKV's file with some characters replaced. */
function damagedFile(random) {
  const characters = [...worldFile];
  for (let changes = random.between(0, 3); changes > 0; changes--)
    characters[random.int(characters.length)] = random.pick(["", "\\", "'", "b", " ", "\n", "9", "é", "\ud800"]);
  return { "rwkv_vocab_v20230424.txt": characters.join("") };
}

export async function run(random) {
  const metadata = random.chance(0.2)
    ? damagedFile(random)
    : mutateJson(random, random.pick([unigram, wordPiece, world]), VALUES);
  const map = Uint8Array.from(MAP);
  for (let changes = random.between(0, 40); changes > 0; changes--) map[random.int(map.length)] = random.int(256);
  if (typeof metadata === "object" && metadata !== null && random.chance(0.8))
    metadata[key("precompiled_charsmap")] = map.subarray(0, random.chance(0.8) ? map.length : random.int(map.length));
  const text = random.pick(TEXTS);
  await endsWell(
    async () => {
      if (typeof metadata !== "object" || metadata === null) return;
      const tokenizer = await tokenizerFrom(metadata);
      const options = {
        parseSpecial: random.chance(0.5),
        special: random.chance(0.5),
        maxLength: random.between(4, 40),
      };
      const { ids } = tokenizer.encodePair(text, random.pick(TEXTS), options);
      if (ids.length > options.maxLength) throw new Error("encodePair() returned too many tokens");
      if (typeof tokenizer.decode(ids) !== "string") throw new Error("decode() returned no text");
    },
    JSON.stringify({ metadata, text, map: Buffer.from(map).toString("base64") }),
  );
}
