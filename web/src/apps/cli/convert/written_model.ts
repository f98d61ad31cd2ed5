// Reads the header that is about to be written, and compares the model with that of the folder.
import * as advise from "../../../core/base/advice.js";
import { isDict } from "../../../core/base/dict.js";
import { fail } from "../../../core/base/errors.js";
import { show } from "../../../core/base/show.js";
import { bytesFiles } from "../../../runtime/files/blob_files.js";
import { MissingFile } from "../../../runtime/files/byte_source.js";
import { parseGguf } from "../../../runtime/files/gguf/header.js";
import { readHeader } from "../../../runtime/files/header_reader.js";
import type { ModelFiles } from "../../../runtime/files/model_files.js";
import type { Ropewalk } from "../../../index.node.js";
import { defaultNorm } from "../../../core/memory/model_fields.js";
import { type ModelPlan, planOf } from "../../../runtime/model/plan/model_plan.js";
import { type Tokenizer, tokenizerFromGguf } from "../../../runtime/text/tokenizer.js";
import { toByteLevel } from "../../../runtime/text/vocabulary.js";
import { ggufHeader } from "./gguf_header.js";
import type { GgufPlan } from "./gguf_plan.js";

/** Numbers of GGUF are f32. */
const CLOSE = 1e-6;

const ADVICE = advise.other("use the model as it is");

/** Texts whose tokens are compared: words, contractions, numbers, spaces, lines, several scripts, bytes that are part of no character. */
const TEXTS = [
  "",
  "The quick brown fox jumps over the lazy dog. It's 12345 o'CLOCK, isn't IT?",
  " leading, trailing  and   several    spaces   ",
  "lines\n\n\nand\ttabs\r\n  and indents\n    def f(x):\n\treturn x+=1",
  "Größe, naïve café, Ελληνικά σίγμας, Русский, 中文字符, 日本語テキスト, 한국어, العربية, हिन्दी, ไทย",
  "🙂👩‍👩‍👧‍👦 ﷺ ½ Ⅷ ² ①  　﻿",
  "1 22 333 4444 55555 3.14159e-10 0xDEADBEEF ١٢٣ 二〇二六",
  "http://example.org/?q=a&b=%20#c <tag attr='v'> {\"json\": [1, null]} // $x_y ~!@#^*()_+",
];

/**
 * Throws UNSUPPORTED_MODEL, with what is different, if the written file gives other results than the folder. Returns warnings.
 */
export async function checkWritten(
  rw: Ropewalk,
  plan: GgufPlan,
  files: ModelFiles,
  model: ModelPlan,
  tokenizer: Tokenizer,
): Promise<string[]> {
  const written = await headerOf(files.name, plan);
  const data = plan.tensors.flatMap(({ name, data }) => (data === undefined ? [] : [[name, factorsOf(data)]]));
  const read = planOf(written, Object.fromEntries(data) as object, undefined);
  compareModels(model, read);
  compareRopes(rw, model, read);
  return compareTokenizers(tokenizer, await tokenizerFromGguf(written.metadata), addedNamesOf(files));
}

const factorsOf = (data: Uint8Array): Float32Array => new Float32Array(data.slice().buffer);

/** The files of a model that has only a header. */
async function headerOf(name: string, { entries, tensors, alignment }: GgufPlan): Promise<ModelFiles> {
  const { header, size } = ggufHeader(entries, tensors, alignment);
  const source = await bytesFiles(header).open("model");
  if (source instanceof MissingFile) throw new Error(source.reason); // bytes are always there
  const read = await readHeader(source, (cursor) => parseGguf(cursor, 0, size));
  return {
    kind: "gguf",
    name,
    metadata: read.metadata,
    tensors: new Map(read.tensors.map((tensor) => [tensor.name, tensor])),
    bytes: size,
    read: () => Promise.reject(new Error("a header has no tensors")),
  };
}

function compareModels(model: ModelPlan, read: ModelPlan): void {
  // No architecture that is written has the latent vectors of this epsilon. Weights of experts are those of a softmax, whose largest are
  // never as small as the least sum of either file.
  const used = ({ config }: ModelPlan): object => ({
    ...config,
    latent_norm: defaultNorm(),
    routing: { ...config.routing, least_sum: 0 },
  });
  compare(used(model), used(read), "the model's");
  model.shapes.forEach((shape, layer) => compare(shape, read.shapes[layer]!, `layer ${layer}'s`));
  compare({ ...model.embedding, isFromFiles: 0 }, { ...read.embedding, isFromFiles: 0 }, "embeddings'");
}

/** Compares values by their names, which are the core's: mostly those of config.json. */
function compare(expected: object, written: object, whose: string): void {
  for (const [name, value] of Object.entries(expected)) {
    const other = (written as Record<string, unknown>)[name];
    if (isSame(value, other)) continue;
    if (isDict(value) && isDict(other)) compare(value, other, `${whose} ${name}'s`);
    else
      fail(
        "UNSUPPORTED_MODEL",
        "config.json",
        `${whose} ${name} is ${show(value)}, and a GGUF file has no key for it`,
        ADVICE,
      );
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === "number" && typeof other === "number")
    return Object.is(one, other) || Math.abs(one - other) <= CLOSE * Math.abs(one);
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Compares frequencies and factors. Those of some scalings depend on the length. */
function compareRopes(rw: Ropewalk, model: ModelPlan, read: ModelPlan): void {
  const compared = new Set<unknown>();
  for (const [layer, { rope }] of model.layers.entries()) {
    const other = read.layers[layer]!.rope;
    if (rope === null && other === null) continue;
    if (rope === null || other === null)
      fail(
        "UNSUPPORTED_MODEL",
        "config.json",
        `layer ${layer} has ${rope === null ? "no" : "a"} RoPE, and a GGUF file has no key for it`,
        ADVICE,
      );
    if (compared.has(rope)) continue;
    compared.add(rope);
    const [ours, theirs] = [rw.rope(rope), rw.rope(other)];
    try {
      for (const length of [1, Math.ceil(model.trainedLength / 2), model.trainedLength, 4 * model.trainedLength]) {
        const [expected, written] = [ours.plan(length), theirs.plan(length)];
        for (const key of ["rotary_dim", "attention_factor", "softmax_scale"] as const)
          if (!isSame(expected[key], written[key])) refuseRope(rope, `${key} ${show(expected[key])}`);
        if (!expected.inv_freq.every((value, pair) => isSame(value, written.inv_freq[pair])))
          refuseRope(rope, `frequencies at a length of ${length}`);
      }
    } finally {
      ours.dispose();
      theirs.dispose();
    }
  }
}

function refuseRope(rope: NonNullable<ModelPlan["layers"][number]["rope"]>, what: string): never {
  const keys = Object.entries(rope.rope_scaling ?? {}).map(([key, value]) => `${key} ${show(value)}`);
  fail(
    "UNSUPPORTED_MODEL",
    "config.json: rope_scaling",
    `gives ${what} (by ${keys.join(", ")}), and a GGUF file has no key for it`,
    ADVICE,
  );
}

/** The added tokens of a tokenizer.json, which a text may have as they are. */
function addedNamesOf({ tokenizer }: ModelFiles): string[] {
  const added = tokenizer?.["added_tokens"];
  return (Array.isArray(added) ? added : []).filter(isDict).map(({ content }) => String(content));
}

function compareTokenizers(tokenizer: Tokenizer, written: Tokenizer, addedNames: readonly string[]): string[] {
  const refuse = (part: string, message: string): never =>
    fail("UNSUPPORTED_MODEL", part, message, advise.other("use llama.cpp's convert_hf_to_gguf.py"));
  // A byte that the vocabulary lacks is the unknown token, or left out. A warning says so.
  const isKnown = (character: string): boolean =>
    Array.from(toByteLevel(character)).every((byte) => tokenizer.idOf(byte) !== undefined);
  const known = TEXTS.map((text) => Array.from(text.normalize("NFC")).filter(isKnown).join(""));
  const names = addedNames.map((name) => name + name);
  for (const text of [...known, ...names])
    for (const options of [{}, { special: false }, { parseSpecial: false }]) {
      if (options.parseSpecial === false && !Array.from(text).every(isKnown)) continue;
      const [expected, other] = [tokenizer.encode(text, options), written.encode(text, options)];
      if (expected.join() !== other.join())
        refuse("tokenizer.json", `gives ${show(text)} other tokens than a GGUF file of it would (${expected.join(" ")} and ${other.join(" ")})`); // prettier-ignore
      const isSkipped = tokenizer.decode(expected) === written.decode(expected);
      if (
        !isSkipped ||
        tokenizer.decode(expected, { skipSpecial: false }) !== written.decode(expected, { skipSpecial: false })
      )
        // prettier-ignore
        refuse(names.includes(text) ? "tokenizer.json added_tokens" : "tokenizer.json decoder", `writes the tokens of ${show(text)} otherwise than a GGUF file of it would`);
    }
  const missing = tokenizer.endTokens.filter((id) => !written.endTokens.includes(id));
  if (missing.length > 0)
    refuse("generation_config.json", `ends texts with the tokens ${missing.join(", ")}, and a GGUF file has no keys for so many`); // prettier-ignore
  return written.endTokens
    .filter((id) => !tokenizer.endTokens.includes(id))
    .map((id) => `texts of the GGUF file also end with ${tokenizer.token(id)}, which its readers know by its name`);
}
