// The regular expressions that split text into words before BPE, for each value of tokenizer.ggml.pre.
import { fail } from "../base/errors.js";

/** How text is split into words before BPE, named by `tokenizer.ggml.pre`. */
export interface PreTokenizer {
  /** Applied in order, each to the words of the previous ones. A match becomes a word, and so does the text between two matches. */
  readonly patterns: readonly RegExp[];
  /** Whether a word that is itself a token skips merging. */
  readonly wholeWords: boolean;
  /** The default for `add_bos_token`. */
  readonly addsBegin: boolean;
}

// Patterns from the models' tokenizer.json files. \s means Unicode White_Space here, as in the regex engines they were written for.
const contraction = "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])";
const gpt2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const lineEnds = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;

/** GPT-4's words: at most one leading non-letter, groups of at most `digits` digits, punctuation together with following line ends. */
const gpt4 = (digits: number, marks = "") =>
  String.raw`${contraction}|[^\r\n\p{L}\p{N}]?[\p{L}${marks}]+|\p{N}{1,${digits}}| ?[^\s\p{L}${marks}\p{N}]+[\r\n]*|${lineEnds}`;

/** GPT-4's words, also split where lowercase letters are followed by uppercase ones. */
const upperThenLower = (suffix: string, digits: number) => {
  const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
  const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
  const lead = String.raw`[^\r\n\p{L}\p{N}]?`;
  const words = `${lead}${upper}*${lower}+${suffix}|${lead}${upper}+${lower}*${suffix}`;
  return String.raw`${words}|\p{N}{1,${digits}}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${lineEnds}`;
};

// DeepSeek LLM lists the cased letters of an older Unicode version: 84 ranges in hexadecimal
const casedLetters = `
  41-5a 61-7a b5 c0-d6 d8-f6 f8-1ba 1bc-1bf 1c4-293 295-2af 370-373 376-377 37b-37d 37f 386 388-38a 38c 38e-3a1 3a3-3f5 3f7-481
  48a-52f 531-556 10a0-10c5 13a0-13f5 13f8-13fd 1c90-1cba 1cbd-1cbf 1d00-1d2b 1d6b-1d77 1d79-1d9a 1e00-1f15 1f18-1f1d 1f20-1f45
  1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fbc 1fbe 1fc2-1fc4 1fc6-1fcc 1fd0-1fd3 1fd6-1fdb 1fe0-1fec 1ff2-1ff4
  1ff6-1ffc 2102 2107 210a-2113 2115 2119-211d 2124 2126 2128 212a-212d 212f-2134 2139 213c-213f 2145-2149 214e 2183-2184 2c00-2c7b
  2c7e-2ce4 2ceb-2cee 2cf2-2cf3 a640-a66d a680-a69b a722-a76f a771-a787 a78b-a78e ab70-abbf fb00-fb06 fb13-fb17 ff21-ff3a ff41-ff5a
  10400-1044f 104b0-104d3 104d8-104fb 10c80-10cb2 10cc0-10cf2 118a0-118df 1e900-1e943
`
  .trim()
  .replace(/([0-9a-f]+)\s*/g, "\\u{$1}");
const chineseJapanese = String.raw`[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+`;
const hanToHangul = String.raw`[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+`;
const bloom = String.raw` ?[^(\s|.,!?…。，、।۔،)]+`;

const gpt2Digits = [String.raw`\p{N}`, gpt2];
const deepseek3 = [
  String.raw`\p{N}{1,3}`,
  chineseJapanese,
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" +
    `| ?[\\p{P}\\p{S}]+[\\r\\n]*|${lineEnds}`,
];

interface Family {
  names: readonly string[];
  patterns: readonly string[];
  wholeWords?: boolean;
  addsBegin?: boolean;
}

const FAMILIES: readonly Family[] = [
  { names: ["default"], patterns: [String.raw`[\p{P}$+<=>^~|]+`, gpt2, String.raw`\p{N}+`, "[0-9][0-9][0-9]"] },
  {
    names: [
      "gpt-2",
      "phi-2",
      "olmo",
      "mpt",
      "jais",
      "trillion",
      "granite-docling",
      "exaone4",
      "gigachat",
      "a.x-4.0",
      "mellum",
    ],
    patterns: [gpt2],
  },
  {
    names: ["starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"],
    patterns: gpt2Digits,
  },
  {
    names: ["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
    patterns: [gpt4(3)],
    wholeWords: true,
    addsBegin: true,
  },
  { names: ["dbrx", "smaug-bpe", "chatglm-bpe", "glm4"], patterns: [gpt4(3)] },
  {
    names: ["qwen2", "stablelm2", "deepseek-r1-qwen", "kormo", "megrez", "hunyuan", "solar-open", "grok-2"],
    patterns: [gpt4(1)],
  },
  { names: ["qwen35"], patterns: [gpt4(1, String.raw`\p{M}`)] },
  {
    names: ["deepseek-llm"],
    patterns: [
      String.raw`[\r\n]`,
      String.raw`\s?[${casedLetters}]+`,
      String.raw`\s?[!-/:-~！-／：-～‘-‟\u3000-。]+`,
      String.raw`\s+$`,
      hanToHangul,
      String.raw`\p{N}+`,
    ],
  },
  {
    names: ["deepseek-coder"],
    patterns: [String.raw`[\r\n]`, String.raw`\s?\p{L}+`, String.raw`\s?\p{P}+`, hanToHangul, String.raw`\p{N}`],
  },
  { names: ["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], patterns: deepseek3 },
  { names: ["falcon"], patterns: ["[\\p{P}$+<=>^~|`]+", gpt2, "[0-9][0-9][0-9]"] },
  { names: ["gpt-4o", "llama4", "kanana2", "minimax-m2"], patterns: [upperThenLower(`(?:${contraction})?`, 3)] },
  { names: ["tekken"], patterns: [upperThenLower("", 1)], wholeWords: true, addsBegin: true },
  { names: ["bloom", "gpt3-finnish", "poro-chat"], patterns: [bloom] },
  { names: ["viking"], patterns: [bloom, String.raw`\p{N}`] },
];

/** The values of `tokenizer.ggml.pre` that {@link preTokenizerOf} supports. */
export const PRE_TOKENIZERS: readonly string[] = FAMILIES.flatMap(({ names }) => names);

/**
 * The pre-tokenizer for a value of `tokenizer.ggml.pre`.
 *
 * @throws UNSUPPORTED_MODEL (tokenizer.ggml.pre): the name is not in PRE_TOKENIZERS
 */
export function preTokenizerOf(name: string): PreTokenizer {
  const family = FAMILIES.find(({ names }) => names.includes(name));
  if (family === undefined) {
    fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.ggml.pre",
      `"${name}" is not supported; must be one of ${PRE_TOKENIZERS.join(", ")}. ` +
        "If the model has a tokenizer.json, use that: it contains the rules",
    );
  }
  const patterns = family.patterns.map((source) => new RegExp(withUnicodeSpaces(source), "gu"));
  return { patterns, wholeWords: family.wholeWords ?? false, addsBegin: family.addsBegin ?? false };
}

/** Replaces \s: unlike Unicode White_Space, JavaScript's \s includes U+FEFF and not U+0085. */
function withUnicodeSpaces(pattern: string): string {
  return pattern.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}");
}

/** Splits a text into words, which concatenate to the text. */
export function splitWords(text: string, patterns: readonly RegExp[]): string[] {
  return patterns.reduce<string[]>((words, pattern) => words.flatMap((word) => isolate(word, pattern)), [text]);
}

function isolate(text: string, pattern: RegExp): string[] {
  const words: string[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) words.push(text.slice(end, match.index));
    if (match[0] !== "") words.push(match[0]);
    end = match.index + match[0].length;
  }
  if (end < text.length) words.push(text.slice(end));
  return words;
}
