// Tokenizer metadata of a GGUF file, from tokenizer.json and tokenizer_config.json.
import { type Dict, isDict } from "../../base/dict.js";
import { fail } from "../../base/errors.js";
import type { ModelFiles } from "../../files/model_files.js";
import type { GgufValue } from "./gguf_header.js";

const TOKEN_TYPES = { normal: 1, control: 3, user_defined: 4, unused: 5 } as const;

/** Words as in GPT-4, with groups of at most as many digits: how tokenizer.json files write the pattern. */
const gpt4Pattern = (number: string): string =>
  String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|${number}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

/** `tokenizer.ggml.pre` by the steps of the pre-tokenizer: patterns of Split, and `gpt-2` for that of ByteLevel. */
const PRE_TOKENIZERS: Readonly<Record<string, string>> = {
  "gpt-2": "gpt-2",
  "digits gpt-2": "smollm",
  [gpt4Pattern(String.raw`\p{N}{1,3}`)]: "llama-bpe",
  [gpt4Pattern(String.raw`\p{N}`)]: "qwen2",
};

/**
 * The entries of a byte-level BPE tokenizer.
 *
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL: another kind of tokenizer, or a pre-tokenizer that isn't in the table.
 */
export function tokenizerMetadata(files: ModelFiles, vocabularySize: number): [string, GgufValue][] {
  const { tokenizer, tokenizerConfig = {}, config = {} } = files;
  if (tokenizer === undefined)
    fail("UNSUPPORTED_MODEL", "tokenizer.json", "is missing; a GGUF file needs the tokenizer");
  const model = isDict(tokenizer["model"]) ? tokenizer["model"] : {};
  if (model["type"] !== "BPE" || model["byte_fallback"] === true || !isDict(model["vocab"]))
    fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.json",
      "only byte-level BPE tokenizers can be written, and this one is of another kind, such as SentencePiece; use llama.cpp's convert_hf_to_gguf.py",
    );
  const vocabulary = vocabularyOf(tokenizer, model["vocab"], vocabularySize);
  const merges = Array.isArray(model["merges"]) ? (model["merges"] as unknown[]) : [];
  const ids = (["bos", "eos", "unk", "pad"] as const).flatMap((name): [string, GgufValue][] => {
    const token = tokenizerConfig[`${name}_token`] ?? (name === "unk" ? model["unk_token"] : undefined);
    const id = vocabulary.idOf(token) ?? idIn(config[`${name}_token_id`], vocabularySize);
    const key = name === "unk" ? "unknown" : name === "pad" ? "padding" : name;
    return id === undefined ? [] : [[`tokenizer.ggml.${key}_token_id`, { type: "u32", value: id }]];
  });
  const chatTemplate = templateOf(files);
  return [
    ["tokenizer.ggml.model", { type: "string", value: "gpt2" }],
    ["tokenizer.ggml.pre", { type: "string", value: preTokenizerOf(tokenizer) }],
    ["tokenizer.ggml.tokens", { type: "strings", value: vocabulary.tokens }],
    ["tokenizer.ggml.token_type", { type: "i32s", value: vocabulary.types }],
    ["tokenizer.ggml.merges", { type: "strings", value: merges.map(mergeText) }],
    ...ids,
    ["tokenizer.ggml.add_bos_token", { type: "bool", value: addsBegin(tokenizer, tokenizerConfig) }],
    ...(chatTemplate === undefined
      ? []
      : [["tokenizer.chat_template", { type: "string", value: chatTemplate }] as [string, GgufValue]]),
  ];
}

interface WrittenVocabulary {
  tokens: string[];
  types: number[];
  idOf: (token: unknown) => number | undefined;
}

/** All tokens by id. As in llama.cpp's converter, ids without a token get an unused one. */
function vocabularyOf(tokenizer: Dict, vocab: Dict, size: number): WrittenVocabulary {
  const tokens = Array.from({ length: size }, (_, id) => `[PAD${id}]`);
  const types = new Array<number>(size).fill(TOKEN_TYPES.unused);
  const ids = new Map<string, number>();
  const set = (token: string, id: number, type: number): void => {
    if (!Number.isInteger(id) || id < 0 || id >= size)
      fail("INVALID_FILE", "tokenizer.json", `token ${JSON.stringify(token)} has id ${id}, but vocab_size is ${size}`);
    tokens[id] = token;
    types[id] = type;
    ids.set(token, id);
  };
  for (const [token, id] of Object.entries(vocab)) set(token, Number(id), TOKEN_TYPES.normal);
  const added = Array.isArray(tokenizer["added_tokens"]) ? (tokenizer["added_tokens"] as unknown[]) : [];
  for (const token of added.filter(isDict))
    set(
      String(token["content"]),
      Number(token["id"]),
      token["special"] === true ? TOKEN_TYPES.control : TOKEN_TYPES.user_defined,
    );
  return { tokens, types, idOf: (token) => ids.get(String(isDict(token) ? token["content"] : token)) };
}

/** A merge, in which GGUF separates the two tokens by a space. A space inside a token is written as in byte-level text. */
function mergeText(merge: unknown): string {
  return Array.isArray(merge) ? merge.map((part) => String(part).replaceAll(" ", "Ġ")).join(" ") : String(merge);
}

function idIn(value: unknown, size: number): number | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return Number.isInteger(first) && Number(first) >= 0 && Number(first) < size ? Number(first) : undefined;
}

/** tokenizer_config.json decides, or else whether the template of tokenizer.json starts with a special token. */
function addsBegin(tokenizer: Dict, tokenizerConfig: Dict): boolean {
  const given = tokenizerConfig["add_bos_token"];
  if (typeof given === "boolean") return given;
  const processor = tokenizer["post_processor"];
  const steps = isDict(processor) ? (processor["processors"] ?? [processor]) : [];
  const template = (Array.isArray(steps) ? steps : []).filter(isDict).find(({ type }) => type === "TemplateProcessing");
  const first: unknown = Array.isArray(template?.["single"]) ? template["single"][0] : undefined;
  return isDict(first) && isDict(first["SpecialToken"]);
}

function preTokenizerOf(tokenizer: Dict): string {
  const steps = stepsOf(tokenizer["pre_tokenizer"]).join(" ");
  return (
    (Object.hasOwn(PRE_TOKENIZERS, steps) ? PRE_TOKENIZERS[steps] : undefined) ??
    fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.json pre_tokenizer",
      `has none of the known rules (${Object.values(PRE_TOKENIZERS).join(", ")}); use llama.cpp's convert_hf_to_gguf.py`,
    )
  );
}

function stepsOf(component: unknown): string[] {
  if (!isDict(component)) return [];
  const inner = component["pretokenizers"];
  if (Array.isArray(inner)) return inner.flatMap(stepsOf);
  const { type, pattern } = component as { type?: unknown; pattern?: unknown };
  if (type === "ByteLevel") return component["use_regex"] === false ? [] : ["gpt-2"];
  if (type === "Digits" && component["individual_digits"] === true) return ["digits"];
  return [isDict(pattern) && typeof pattern["Regex"] === "string" ? pattern["Regex"] : String(type)];
}

function templateOf({ chatTemplate, tokenizerConfig }: ModelFiles): string | undefined {
  const template = chatTemplate ?? tokenizerConfig?.["chat_template"];
  return typeof template === "string" ? template : undefined;
}
