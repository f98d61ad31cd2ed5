// The regular expressions that split text into words before BPE, for each value of tokenizer.ggml.pre.
import * as advise from "../../core/base/advice.js";
import { fail } from "../../core/base/errors.js";
import { onFirstUse, withFixedClasses } from "./unicode/classes.js";

/** Splits a text into words, which concatenate to it, but for a space (▁) that mmBERT adds. */
type Splitter = (text: string) => string[];

/** How text is split into words before BPE, named by `tokenizer.ggml.pre`. */
export interface PreTokenizer {
  /** Applied in order, each to the words of the previous ones. */
  readonly splitters: readonly Splitter[];
  /** Which words skip merging if they are tokens: any, only runs of line ends, or none. */
  readonly wholeWords: "all" | "line_ends" | "none";
  /** The default for `add_bos_token`. */
  readonly addsBegin: boolean;
  /** Whether merges join characters, with ▁ for a space, instead of GPT-2's characters for bytes. */
  readonly ofCharacters: boolean;
}

// Patterns from the models' tokenizer.json files. A match becomes a word, and so does the text between two matches. \s means Unicode
// White_Space here, as in the regex engines they were written for.
const contraction = "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])";
const gpt2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const lineEnds = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;

/** GPT-4's words: at most one leading non-letter, groups of at most `digits` digits, punctuation together with following line ends. */
const gpt4 = (digits: number, marks = "") =>
  String.raw`${contraction}|[^\r\n\p{L}\p{N}]?[\p{L}${marks}]+|\p{N}{1,${digits}}| ?[^\s\p{L}${marks}\p{N}]+[\r\n]*|${lineEnds}`;

/** The words of GPT-4 with other rules for numbers, for what may follow punctuation, and for whitespace. */
const gpt4With = (numbers: string, afterMarks: string, spaces: string) =>
  String.raw`${contraction}|[^\r\n\p{L}\p{N}]?\p{L}+|${numbers}| ?[^\s\p{L}\p{N}]+${afterMarks}|${spaces}`;

/** GPT-4's words, also split where lowercase letters are followed by uppercase ones. */
const upperThenLower = (suffix: string, digits: number, except = "", afterMarks = String.raw`[\r\n/]*`) => {
  const oneOf = (set: string) => (except === "" ? set : `(?:${except}${set})`);
  const upper = oneOf(String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`);
  const lower = oneOf(String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`);
  const lead = String.raw`[^\r\n\p{L}\p{N}]?`;
  const words = `${lead}${upper}*${lower}+${suffix}|${lead}${upper}+${lower}*${suffix}`;
  return String.raw`${words}|\p{N}{1,${digits}}| ?[^\s\p{L}\p{N}]+${afterMarks}|${lineEnds}`;
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
const deepseekWords = (afterMarks: string) =>
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" +
  `| ?[\\p{P}\\p{S}]+${afterMarks}`;
const deepseek3 = deepseekWords(String.raw`[\r\n]*|${lineEnds}`);
const gpt4o = upperThenLower(`(?:${contraction})?`, 3);
const lines = String.raw`[^\n]+|\n+`;
// the scripts that AFMoE's tokenizer splits from others
const asianScripts =
  String.raw`[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f` +
  String.raw`\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+`;
const youtuScripts =
  String.raw`[\uac00-\ud7a3\u3131-\u318e]+|[！…“”‘’—：；，\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|` +
  chineseJapanese;
const jais2Spaces =
  String.raw`\s*[\r\n]+|` +
  [512, 256, 128, 64, 32, 16, 8, 4].map((count) => String.raw`\s{${count}}(?!\S)`).join("|") +
  String.raw`|\s{1,2}(?!\S)|\s`;

/** Splits each run of digits into threes from its end. `except` says where a run has to end: not before such characters. */
function groupDigits(digits: string, except = ""): Splitter {
  const pattern = onFirstUse(() => withFixedClasses(`${digits}+`), "gu");
  const excepted = onFirstUse(() => withFixedClasses(except), "uy");
  return (text) =>
    isolate(text, pattern()).flatMap(({ word, isMatch, end }) => {
      if (!isMatch) return [word];
      if (except !== "") {
        excepted().lastIndex = end;
        if (excepted().test(text)) return [word];
      }
      const characters = Array.from(word);
      const first = characters.length % 3;
      const starts = Array.from({ length: Math.floor(characters.length / 3) }, (_, i) => first + 3 * i);
      const groups = starts.map((start) => characters.slice(start, start + 3).join(""));
      return first === 0 ? groups : [characters.slice(0, first).join(""), ...groups];
    });
}

/** Each space begins a word, and so does a line, with a space if it has none: Metaspace of Hugging Face's Rust library. Line ends stay together. */
const wordsAtSpaces: Splitter = (text) =>
  /^\n*$/.test(text) ? [text] : (/^[ ▁]/.test(text) ? text : `▁${text}`).split(/(?=[ ▁])/);

interface Family {
  names: readonly string[];
  patterns: readonly (string | Splitter)[];
  wholeWords?: "all" | "line_ends";
  addsBegin?: boolean;
  ofCharacters?: boolean;
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
      "jina-es",
      "jina-de",
      "jina-v1-en",
      "jina-v2-es",
      "jina-v2-de",
      "jina-v2-code",
      "roberta-bpe",
      "modern-bert",
    ],
    patterns: [gpt2],
  },
  {
    names: ["starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"],
    patterns: gpt2Digits,
  },
  {
    names: ["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"],
    patterns: [gpt4(3)],
    wholeWords: "all",
    addsBegin: true,
  },
  { names: ["dbrx", "smaug-bpe", "chatglm-bpe"], patterns: [gpt4(3)] },
  { names: ["glm4", "glm5"], patterns: [gpt4(3)], wholeWords: "all" },
  {
    names: ["qwen2", "stablelm2", "deepseek-r1-qwen", "kormo", "megrez", "hunyuan", "solar-open", "grok-2", "f2llmv2"],
    patterns: [gpt4(1)],
  },
  { names: ["qwen35"], patterns: [gpt4(1, String.raw`\p{M}`)] },
  { names: ["laguna"], patterns: [lines, gpt4(1)] },
  { names: ["jais-2"], patterns: [gpt4With(String.raw`\p{N}{1,3}`, String.raw`[\r\n]*`, jais2Spaces)] },
  {
    names: ["minicpm5"],
    patterns: [String.raw`\p{N}{1,3}`, gpt4With(String.raw`\p{N}+`, String.raw`[\r\n]*`, lineEnds)],
    wholeWords: "all",
  },
  {
    names: ["bailingmoe", "bailingmoe2", "llada-moe"],
    patterns: [gpt4With(String.raw`\p{N}`, String.raw`[\r\n]*`, String.raw`\s*[\r\n]|\s+(?!\S)|\s+`)],
  },
  {
    names: ["seed-coder"],
    patterns: [gpt4(1).replace(String.raw`[^\s\p{L}\p{N}]+[\r\n]*`, String.raw`[^\s\p{L}\p{N}\r\n]+`)],
  },
  { names: ["ufakzeka"], patterns: [gpt4(1).replace(`${contraction}|`, "")] },
  {
    names: ["exaone-moe"],
    patterns: [
      String.raw`${contraction}|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?` +
        String.raw`|\s*[\r\n]|\s+(?!\S)|\s+`,
    ],
  },
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
  {
    names: ["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
    patterns: [String.raw`\p{N}{1,3}`, chineseJapanese, deepseek3],
  },
  {
    names: ["spark2_5"],
    patterns: [
      String.raw`\p{N}{1,3}`,
      chineseJapanese,
      deepseekWords(String.raw`|[\r\n]|\s+(?!\S)|\s+`),
      String.raw`\p{N}`,
    ],
  },
  { names: ["afmoe"], patterns: [groupDigits(String.raw`\p{N}`), asianScripts, deepseek3] },
  { names: ["falcon"], patterns: ["[\\p{P}$+<=>^~|`]+", gpt2, "[0-9][0-9][0-9]"] },
  { names: ["gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie"], patterns: [gpt4o] },
  { names: ["granite-embed-multi-97m"], patterns: [gpt4o], wholeWords: "all" },
  {
    names: ["tiny_aya", "cohere2moe"],
    patterns: [groupDigits(String.raw`\p{Nd}`, String.raw`[\p{L}\p{M}\p{N}_]`), gpt4o],
  },
  {
    names: ["youtu"],
    patterns: [youtuScripts, upperThenLower(`(?:${contraction})?`, 1)],
    wholeWords: "all",
  },
  {
    names: ["kimi-k2"],
    patterns: [
      String.raw`\p{Han}+|` + upperThenLower(`(?:${contraction})?`, 3, String.raw`(?!\p{Han})`, String.raw`[\r\n]*`),
    ],
  },
  { names: ["tekken", "nemotron-3.5-embed"], patterns: [upperThenLower("", 1)], wholeWords: "all", addsBegin: true },
  { names: ["bloom", "gpt3-finnish", "poro-chat"], patterns: [bloom] },
  { names: ["viking"], patterns: [bloom, String.raw`\p{N}`] },
  { names: ["superbpe"], patterns: [String.raw`\p{N}+`, groupDigits("[0-9]")] },
  {
    names: ["chameleon"],
    patterns: [
      "<sentinel:[0-9]+>",
      "IMGIMG[A-I]{1,4}Z",
      String.raw`[\t\n]|    |  `,
      String.raw`\p{N}`,
      "[\\p{P}!-/:-@\\[-`{-~]",
      gpt2,
    ],
    addsBegin: true,
  },
  {
    names: ["gemma4", "granite-embed-multi-311m"],
    patterns: [lines],
    wholeWords: "line_ends",
    addsBegin: true,
    ofCharacters: true,
  },
  { names: ["mmbert"], patterns: [lines, wordsAtSpaces], wholeWords: "line_ends", ofCharacters: true },
  { names: ["sarvam-moe", "domyn-small"], patterns: [lines], ofCharacters: true },
];

/** All regular expressions of the pre-tokenizers, for tests of other matchers. @internal */
export const PATTERNS: readonly string[] = FAMILIES.flatMap(({ patterns }) =>
  patterns.filter((pattern) => typeof pattern === "string"),
);

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
      `"${name}" is not supported; must be one of ${PRE_TOKENIZERS.join(", ")}`,
      advise.other("use the model's tokenizer.json if there is one: it contains the rules"),
    );
  }
  const { wholeWords = "none", addsBegin = false, ofCharacters = false } = family;
  return { splitters: family.patterns.map(splitterOf), wholeWords, addsBegin, ofCharacters };
}

function splitterOf(pattern: string | Splitter): Splitter {
  if (typeof pattern !== "string") return pattern;
  const expression = new RegExp(withFixedClasses(pattern), "gu");
  return (text) => isolate(text, expression).map(({ word }) => word);
}

/** Splits a text into words, as {@link PreTokenizer} says. */
export function splitWords(text: string, { splitters }: PreTokenizer): string[] {
  return splitters.reduce<string[]>((words, split) => words.flatMap(split), [text]);
}

interface Word {
  word: string;
  isMatch: boolean;
  end: number;
}

function isolate(text: string, pattern: RegExp): Word[] {
  const words: Word[] = [];
  let end = 0;
  for (const { 0: match, index } of text.matchAll(pattern)) {
    if (index > end) words.push({ word: text.slice(end, index), isMatch: false, end: index });
    end = index + match.length;
    if (match !== "") words.push({ word: match, isMatch: true, end });
  }
  if (end < text.length) words.push({ word: text.slice(end), isMatch: false, end: text.length });
  return words;
}
