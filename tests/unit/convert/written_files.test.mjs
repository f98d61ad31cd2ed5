// What `convert quantize` writes of a folder whose config and tokenizer are drawn at random: the GGUF file gives the logits and ids of the
// folder, or the part that it has no key for is refused by name.
//
// compare: --cases 1500
import assert from "node:assert/strict";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { load } from "ropewalk";
import { byteLevelOf } from "../../../build/package/runtime/text/vocabulary.js";
import { writeGguf } from "../../../build/package/apps/cli/convert/gguf_plan.js";
import { planSafetensors } from "../../../build/package/apps/cli/convert/quantize_safetensors.js";
import { openModel } from "../../../build/package/runtime/files/model_files.js";
import { nodeFilePlatform } from "../../../build/package/runtime/files/platform.node.js";
import { randomFrom } from "../grammar/random_text.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 32);
const CASES = Number(process.env.ROPEWALK_CASES ?? 60);
const TEXTS = 8;
/**
 * GGUF's numbers are f32, and llama's rows have another order, so that sums differ in the last bits: logits by 2e-4 at most. About one
 * prompt in 200 differs more, where an activation is rounded to the next byte. Something lost would change all prompts.
 */
const CLOSE = 2e-4;
const PROMPTS = 3;
const tiny = (...path) => join(import.meta.dirname, "..", "..", "golden", "tiny_models", ...path);
const rw = await load({ build: "simd" });
const folder = await mkdtemp(join(tmpdir(), "ropewalk-convert-"));
after(() => rm(folder, { recursive: true }));

const random = randomFrom(SEED);
const below = (count) => Math.floor(random() * count);
const oneOf = (...values) => values[below(values.length)];
const maybe = (share, value) => (random() < share ? value : {});

const GPT4 = (number) =>
  String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|${number}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
const split = (pattern, more) => ({
  type: "Split",
  pattern: { Regex: pattern },
  behavior: "Isolated",
  invert: false,
  ...more,
});
const words = (number) => ({
  type: "Sequence",
  pretokenizers: [split(GPT4(number)), { ...BYTE_LEVEL, use_regex: false }],
});

function drawnRope() {
  const base = { rope_theta: oneOf(100, 1000, 10000.5, 500000, 1e6) };
  const yarn = {
    rope_type: "yarn",
    factor: oneOf(2, 4, 7.5),
    original_max_position_embeddings: oneOf(16, 32),
    ...maybe(0.3, { beta_fast: oneOf(8, 16, 32, 48) }),
    ...maybe(0.3, { beta_slow: oneOf(1, 2, 0.5) }),
    ...maybe(0.2, { truncate: oneOf(true, false) }),
    ...maybe(0.2, { attention_factor: oneOf(1, 1.25, 0.8) }),
    ...maybe(0.2, { mscale: oneOf(1, 0.707), mscale_all_dim: oneOf(1, 0.5, 0.707) }),
    ...maybe(0.1, { mscale: 0.9 }),
  };
  const llama3 = {
    rope_type: "llama3",
    factor: 8,
    low_freq_factor: oneOf(1, 2),
    high_freq_factor: 4,
    original_max_position_embeddings: 32,
  };
  const other = oneOf({ rope_type: "default" }, { rope_type: "linear", factor: 2.5 }, llama3, {
    rope_type: "dynamic",
    factor: 2,
  });
  return { ...base, ...(random() < 0.6 ? yarn : other) };
}

function drawnConfig(config) {
  return {
    ...config,
    rope_parameters: drawnRope(),
    rms_norm_eps: oneOf(1e-6, 1e-5, 0.01),
    ...maybe(0.1, { use_sliding_window: true, sliding_window: oneOf(8, 64, 4096), max_window_layers: oneOf(0, 1, 2) }),
  };
}

const ADDED = ["<|a|>", "<|b|>", "the cat", "<|im_end|>"];

function drawnTokenizer(json) {
  const vocab = { ...json.model.vocab };
  const names = Object.keys(vocab).filter((name) => vocab[name] > 2);
  if (random() < 0.5) for (const name of names.slice(-2)) delete vocab[name];
  const free = Array.from({ length: 64 }, (_, id) => id).filter((id) => !Object.values(vocab).includes(id));
  const added = free.map((id) => ({
    id,
    content: ADDED[id % ADDED.length],
    single_word: random() < 0.05,
    lstrip: random() < 0.05,
    rstrip: random() < 0.05,
    normalized: oneOf(true, false),
    special: oneOf(true, false),
  }));
  const template = (before, behind) => ({
    type: "TemplateProcessing",
    single: [...before, { Sequence: { id: "A", type_id: 0 } }, ...behind],
    pair: [...before, { Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 0 } }, ...behind],
    special_tokens: {
      "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] },
      "</s>": { id: "</s>", ids: [2], tokens: ["</s>"] },
    },
  });
  const [begin, end] = ["<s>", "</s>"].map((id) => ({ SpecialToken: { id, type_id: 0 } }));
  return {
    ...json,
    added_tokens: [
      ...json.added_tokens,
      ...added.filter(({ content }, i, all) => all.findIndex((one) => one.content === content) === i),
    ],
    normalizer:
      random() < 0.7
        ? null
        : oneOf(
            { type: "NFC" },
            { type: "Lowercase" },
            { type: "NFKC" },
            { type: "Replace", pattern: { String: "a" }, content: "b" },
            { type: "Sequence", normalizers: [{ type: "NFC" }, { type: "Lowercase" }] },
          ),
    pre_tokenizer:
      random() < 0.7
        ? oneOf(
            BYTE_LEVEL,
            { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true }, BYTE_LEVEL] },
            words(String.raw`\p{N}`),
            words(String.raw`\p{N}{1,3}`),
          )
        : oneOf(
            { ...BYTE_LEVEL, add_prefix_space: true },
            {
              type: "Sequence",
              pretokenizers: [
                split(GPT4(String.raw`\p{N}`), { behavior: oneOf("MergedWithPrevious", "Contiguous") }),
                { ...BYTE_LEVEL, use_regex: false },
              ],
            },
            {
              type: "Sequence",
              pretokenizers: [split(GPT4(String.raw`\p{N}`), { invert: true }), { ...BYTE_LEVEL, use_regex: false }],
            },
            { type: "Sequence", pretokenizers: [{ type: "Punctuation", behavior: "Isolated" }, BYTE_LEVEL] },
          ),
    post_processor: oneOf(
      null,
      BYTE_LEVEL,
      template([], []),
      template([begin], []),
      template([begin], [end]),
      template([], [end]),
      template([begin, begin], []),
    ),
    decoder: random() < 0.95 ? json.decoder : null,
    model: {
      ...json.model,
      vocab,
      merges: json.model.merges.filter(
        (merge) =>
          (Array.isArray(merge) ? merge : merge.split(" ")).every((part) => part in vocab) &&
          (Array.isArray(merge) ? merge.join("") : merge.replace(" ", "")) in vocab,
      ),
      ignore_merges: random() < 0.3,
      ...maybe(0.05, { continuing_subword_prefix: "##" }),
      ...maybe(0.05, { end_of_word_suffix: "</w>" }),
    },
  };
}

function drawnTokenizerConfig() {
  return {
    ...maybe(0.4, { add_bos_token: oneOf(true, false) }),
    ...maybe(0.2, { add_eos_token: oneOf(true, false) }),
    ...maybe(0.6, { bos_token: "<s>" }),
    ...maybe(0.6, { eos_token: oneOf("</s>", "<|im_end|>") }),
    ...maybe(0.3, {
      tokenizer_class: oneOf(
        "PreTrainedTokenizerFast",
        "LlamaTokenizerFast",
        "Qwen2TokenizerFast",
        "GPT2TokenizerFast",
      ),
    }),
    ...maybe(0.3, { chat_template: "{{ messages[0].content }}" }),
  };
}

const file = (name, data) => new File([data], name);
const json = async (model, name) => JSON.parse(await readFile(tiny(model, name), "utf8").catch(() => "{}"));
const letters = "abc theTHE.,!?'   \nxyz";
const drawnText = () =>
  Array.from({ length: below(30) }, () =>
    random() < 0.08 ? oneOf(...ADDED, "<s>", "</s>") : letters[below(letters.length)],
  ).join("");

/** Whether a text has only added tokens and characters of the vocabulary. A warning names the others. */
function readable(tokenizer, text) {
  const names = [...ADDED, "<s>", "</s>"].filter((name) => tokenizer.idOf(name) !== undefined);
  const rest = names.reduce((left, name) => left.replaceAll(name, ""), text);
  return Array.from(byteLevelOf(Buffer.from(rest))).every((one) => tokenizer.idOf(one) !== undefined);
}

async function logits(model, tokens) {
  const session = model.session();
  await session.append(tokens);
  const values = Array.from(await session.logits());
  session.dispose();
  return values;
}

let written = 0;
const refused = {};
test(`folders drawn at random (ROPEWALK_SEED=${SEED} ROPEWALK_CASES=${CASES})`, async () => {
  for (let i = 0; i < CASES; i++) {
    const name = oneOf("llama", "qwen2", "qwen3", "llama3", "qwen3_moe");
    const parts = {
      "config.json": drawnConfig(await json(name, "config.json")),
      "tokenizer.json":
        random() < 0.7 ? drawnTokenizer(await json(name, "tokenizer.json")) : await json(name, "tokenizer.json"),
      "tokenizer_config.json": drawnTokenizerConfig(),
      "generation_config.json": { eos_token_id: oneOf(2, [2], [2, 63], [2, 63, 62]) },
    };
    const weights = await readFile(tiny(name, "model.safetensors"));
    const source = [
      ...Object.entries(parts).map(([key, value]) => file(key, JSON.stringify(value))),
      file("model.safetensors", weights),
    ];
    const about = `case ${i}, ${name}: ${JSON.stringify(parts).slice(0, 3000)}`;
    let model;
    try {
      model = await rw.model(source, { quantize: "q8_0" });
    } catch {
      continue; // a folder that this package refuses has nothing to compare with
    }
    const output = join(folder, "out.gguf");
    let plan;
    const files = await openModel(nodeFilePlatform, source);
    try {
      ({ plan } = await planSafetensors(rw, files, "q8_0"));
    } catch (error) {
      assert.equal(error.code, "UNSUPPORTED_MODEL", `${error.stack}\n${about}`);
      assert.match(error.field, /\.json/, about);
      refused[error.field] = (refused[error.field] ?? 0) + 1;
      model.dispose();
      continue;
    }
    const handle = await open(output, "w");
    await writeGguf(rw, files, plan, handle, AbortSignal.timeout(60_000), () => {});
    await handle.close();
    const copy = await rw.model(output);
    written += 1;
    const isNamed = (id) => copy.tokenizer.token(id).startsWith("<|");
    const ends = copy.tokenizer.endTokens.filter((id) => model.tokenizer.endTokens.includes(id) || !isNamed(id));
    assert.deepEqual(ends.sort(), [...model.tokenizer.endTokens].sort(), about);
    for (let j = 0; j < TEXTS; j++) {
      const text = drawnText();
      if (!readable(model.tokenizer, text)) continue;
      const [ids, other] = [model, copy].map(({ tokenizer }) => Array.from(tokenizer.encode(text)));
      assert.deepEqual(other, ids, `${JSON.stringify(text)}, ${about}`);
      assert.equal(copy.tokenizer.decode(ids), model.tokenizer.decode(ids), about);
    }
    let closest = Infinity;
    for (let j = 0; j < PROMPTS && closest > CLOSE; j++) {
      const tokens = Array.from({ length: 48 }, () => 3 + below(60));
      const [expected, given] = [await logits(model, tokens), await logits(copy, tokens)];
      closest = Math.min(closest, Math.max(...expected.map((value, k) => Math.abs(value - given[k]))));
    }
    assert.ok(closest < CLOSE, `logits differ by ${closest}, ${about}`);
    model.dispose();
    copy.dispose();
  }
  assert.ok(
    written >= CASES / 10 && Object.keys(refused).length >= 5,
    `${written} written; ${JSON.stringify(refused)}`,
  );
});
