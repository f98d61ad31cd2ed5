// Which components of a tokenizer.json a GGUF file can have. It has a name for the rules of words, and no normalizer.
import * as advise from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { byteLevelOf } from "../../../runtime/text/vocabulary.js";

/** Words as in GPT-4, with groups of at most as many digits: how tokenizer.json files write the pattern. */
const gpt4Pattern = (number: string): string =>
  String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|${number}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** Words by the steps that make them: patterns of Split, and `gpt-2` for that of ByteLevel. */
const WORDS: readonly { readonly name: string; readonly steps: string; readonly ignoresMerges: boolean }[] = [
  { name: "gpt-2", steps: "gpt-2", ignoresMerges: false },
  { name: "smollm", steps: "digits gpt-2", ignoresMerges: false },
  { name: "llama-bpe", steps: gpt4Pattern(String.raw`\p{N}{1,3}`), ignoresMerges: true },
  { name: "qwen2", steps: gpt4Pattern(String.raw`\p{N}`), ignoresMerges: false },
];

const ADVICE = advise.other("use the model as it is, or llama.cpp's convert_hf_to_gguf.py");

function refuse(part: string, message: string): never {
  fail("UNSUPPORTED_MODEL", `tokenizer.json ${part}`, `${message}, and a GGUF file has no key for it`, ADVICE);
}

/** What GGUF has no key for and what changes tokens in few texts only. */
export function componentWarnings({ normalizer, model }: Dict): string[] {
  const warnings: string[] = [];
  if (isNfc(normalizer))
    warnings.push(
      "tokenizer.json normalizes texts to NFC, and GGUF files don't: decomposed characters, such as e and a combining accent, get other tokens",
    );
  const { vocab, unk_token } = model as { vocab: Dict; unk_token?: unknown };
  const bytes = Array.from(byteLevelOf(Uint8Array.from({ length: 256 }, (_, byte) => byte)));
  const missing = bytes.filter((byte) => !Object.hasOwn(vocab, byte)).length;
  if (missing > 0 && typeof unk_token === "string")
    warnings.push(
      `the vocabulary lacks ${missing} of 256 bytes: they become ${unk_token} in the folder, and are left out with a GGUF file`,
    );
  return warnings;
}

/**
 * The value of `tokenizer.ggml.pre`.
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL: a component or an option of one that changes tokens and that GGUF has no key for
 */
export function preTokenizerName(tokenizer: Dict, model: Dict): string {
  checkNormalizer(tokenizer["normalizer"]);
  checkAdded(tokenizer["added_tokens"]);
  checkModel(model);
  const { decoder } = tokenizer;
  if (!isDict(decoder) || decoder["type"] !== "ByteLevel") refuse("decoder", `is ${nameOf(decoder)}`);
  const steps = stepsOf(tokenizer["pre_tokenizer"]).join(" ");
  const words = WORDS.find((known) => known.steps === steps);
  if (words === undefined)
    fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.json pre_tokenizer",
      `has none of the known rules (${WORDS.map(({ name }) => name).join(", ")})`,
      advise.other("use llama.cpp's convert_hf_to_gguf.py"),
    );
  if ((model["ignore_merges"] === true) !== words.ignoresMerges)
    refuse("model.ignore_merges", `is ${String(model["ignore_merges"] === true)} beside the words of ${words.name}`);
  return words.name;
}

const nameOf = (component: unknown): string =>
  isDict(component) ? String(component["type"]) : show(component ?? null);

/** Normalizers in the order in which they run. */
function normalizersOf(component: unknown): Dict[] {
  if (!isDict(component)) return [];
  const inner = component["type"] === "Sequence" ? component["normalizers"] : undefined;
  return Array.isArray(inner) ? inner.flatMap(normalizersOf) : [component];
}

function isNfc(normalizer: unknown): boolean {
  const all = normalizersOf(normalizer);
  return all.length > 0 && all.every(({ type }) => type === "NFC");
}

function checkNormalizer(normalizer: unknown): void {
  const other = normalizersOf(normalizer).find(({ type }) => type !== "NFC");
  if (other !== undefined) refuse("normalizer", `has ${nameOf(other)}`);
}

function checkAdded(added: unknown): void {
  for (const token of (Array.isArray(added) ? added : []).filter(isDict)) {
    const option = ["lstrip", "rstrip", "single_word"].find((name) => token[name] === true);
    if (option !== undefined) refuse(`added_tokens ${show(token["content"])}`, `has ${option}`);
  }
}

const NO_KEY = ["dropout", "continuing_subword_prefix", "end_of_word_suffix"];

function checkModel(model: Dict): void {
  const option = NO_KEY.find((name) => ![undefined, null, "", 0].includes(model[name] as null));
  if (option !== undefined) refuse(`model.${option}`, `is ${show(model[option])}`);
}

/** The steps of a pre-tokenizer. One that has another behavior than the known ones has a name that no rule has. */
function stepsOf(component: unknown): string[] {
  if (!isDict(component)) return [];
  const inner = component["pretokenizers"];
  if (Array.isArray(inner)) return inner.flatMap(stepsOf);
  const { type, pattern } = component as { type?: unknown; pattern?: unknown };
  if (type === "ByteLevel") {
    if (component["add_prefix_space"] !== false) refuse("pre_tokenizer.add_prefix_space", "is true");
    return component["use_regex"] === false ? [] : ["gpt-2"];
  }
  if (type === "Digits" && component["individual_digits"] === true) return ["digits"];
  const isSplit = type === "Split" && component["behavior"] === "Isolated" && component["invert"] !== true;
  if (isSplit && isDict(pattern) && typeof pattern["Regex"] === "string") return [pattern["Regex"]];
  return [`${String(type)}?`];
}
