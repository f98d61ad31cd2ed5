// Tokenizer metadata of a GGUF file, from tokenizer.json and tokenizer_config.json.
import * as advise from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import type { ModelFiles } from "../../../runtime/files/model_files.js";
import { templatesOf } from "../../../runtime/text/chat/named_templates.js";
import type { Tokenizer } from "../../../runtime/text/tokenizer.js";
import type { GgufValue } from "./gguf_header.js";
import { preTokenizerName } from "./tokenizer_components.js";

const TOKEN_TYPES = { normal: 1, control: 3, user_defined: 4, unused: 5 } as const;

/**
 * The entries of a byte-level BPE tokenizer.
 *
 * @param read - the tokenizer as this package reads it from the files
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL: another kind of tokenizer, or a part of it that GGUF has no key for
 */
export function tokenizerMetadata(files: ModelFiles, read: Tokenizer, vocabularySize: number): [string, GgufValue][] {
  const { tokenizer = {}, tokenizerConfig = {}, config = {} } = files;
  const model = isDict(tokenizer["model"]) ? tokenizer["model"] : {};
  if (model["type"] !== "BPE" || model["byte_fallback"] === true || !isDict(model["vocab"]))
    fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.json",
      "only byte-level BPE tokenizers can be written, and this one is of another kind, such as SentencePiece",
      advise.other("use llama.cpp's convert_hf_to_gguf.py"),
    );
  const pre = preTokenizerName(tokenizer, model);
  const vocabulary = vocabularyOf(tokenizer, model["vocab"], vocabularySize);
  const merges = Array.isArray(model["merges"]) ? (model["merges"] as unknown[]) : [];
  const around = specialsAround(read);
  const ids: Record<string, number | undefined> = {};
  for (const name of ["bos", "eos", "unk", "pad"] as const) {
    const token = tokenizerConfig[`${name}_token`] ?? (name === "unk" ? model["unk_token"] : undefined);
    ids[name] = vocabulary.idOf(token) ?? idIn(config[`${name}_token_id`], vocabularySize);
  }
  ids["bos"] = around.begin ?? ids["bos"];
  ids["eos"] = around.end ?? ids["eos"];
  // Keys of GGUF for further tokens that end a generation
  const [turn, message] = read.endTokens.filter((id) => id !== ids["eos"]);
  const named = { bos: ids["bos"], eos: ids["eos"], eot: turn, eom: message, unknown: ids["unk"], padding: ids["pad"] };
  return [
    ["tokenizer.ggml.model", { type: "string", value: "gpt2" }],
    ["tokenizer.ggml.pre", { type: "string", value: pre }],
    ["tokenizer.ggml.tokens", { type: "strings", value: vocabulary.tokens }],
    ["tokenizer.ggml.token_type", { type: "i32s", value: vocabulary.types }],
    ["tokenizer.ggml.merges", { type: "strings", value: merges.map(mergeText) }],
    ...Object.entries(named).flatMap(([name, value]): [string, GgufValue][] =>
      value === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, { type: "u32", value }]],
    ),
    ["tokenizer.ggml.add_bos_token", { type: "bool", value: around.begin !== undefined }],
    ...(around.end === undefined
      ? []
      : [["tokenizer.ggml.add_eos_token", { type: "bool", value: true }] as [string, GgufValue]]),
    ...chatTemplates(files),
  ];
}

/** The special tokens that encoding adds around a text: one before it, one after it, or both. */
function specialsAround(tokenizer: Tokenizer): { begin: number | undefined; end: number | undefined } {
  const around = Array.from(tokenizer.encode(""));
  const text = tokenizer.encode("a", { special: false });
  const whole = Array.from(tokenizer.encode("a"));
  const before = whole.findIndex((_, i) => text.every((id, j) => whole[i + j] === id));
  const [begin, end] = [whole.slice(0, before), whole.slice(before + text.length)];
  if (begin.length > 1 || end.length > 1 || around.length !== begin.length + end.length)
    fail(
      "UNSUPPORTED_MODEL",
      "tokenizer.json post_processor",
      `adds ${begin.length} tokens before a text and ${end.length} after it, and a GGUF file has at most one each`,
      advise.other("use llama.cpp's convert_hf_to_gguf.py"),
    );
  return { begin: begin[0], end: end[0] };
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

/** The chat templates, as llama.cpp's converter writes them: those with names besides `default` have keys of their own. */
function chatTemplates(files: ModelFiles): [string, GgufValue][] {
  const { default: main, ...templates } = templatesOf(files);
  const named = Object.entries(templates).map(([name, text]) => [name.replace(/[^A-Za-z0-9]/g, "_"), text] as const);
  const names = named.map(([name]) => name);
  return [
    ...named.map(([name, value]): [string, GgufValue] => [
      `tokenizer.chat_template.${name}`,
      { type: "string", value },
    ]),
    ...(names.length === 0
      ? []
      : [["tokenizer.chat_templates", { type: "strings", value: names }] as [string, GgufValue]]),
    ...(main === undefined
      ? []
      : [["tokenizer.chat_template", { type: "string", value: main }] as [string, GgufValue]]),
  ];
}
