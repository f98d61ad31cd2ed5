// Prints docs/architectures.md: every supported architecture with how far its logits are from those of transformers and
// llama.cpp, and what the others need. Run `node scripts/architectures.mjs > docs/architectures.md` after a build.

import { readFile } from "node:fs/promises";
import { load } from "ropewalk";
import {
  differencesOf,
  embeddingDifferencesOf,
  filesOf,
  modelTypeOf,
  tinyEncoderNames,
  tinyModelNames,
} from "../tests/package/helpers/tiny_models.mjs";
import { wrapped } from "./markdown.mjs";
import { runMain } from "./run.mjs";

const code = (names) => names.map((name) => `\`${name}\``).join(", ");
const table = (head, rows) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** One significant digit, rounded up. */
function shown(difference) {
  if (difference === undefined) return "";
  const digit = 10 ** Math.floor(Math.log10(difference));
  return (Math.ceil(difference / digit) * digit).toExponential(0);
}

const largest = (numbers) => numbers.filter((number) => number !== undefined).sort((a, b) => b - a)[0];

/** Whether a tiny model has the architecture of a row. One that is only in GGUF is named after it. */
const isOf = ({ huggingFace, gguf }, { name, modelType }) =>
  modelType === undefined
    ? huggingFace.length === 0 && gguf.some((own) => own.replaceAll("-", "_") === name)
    : huggingFace.includes(modelType);

/** The differences of every tiny model: { name, modelType, safetensors, gguf }. */
async function measured(names, measure) {
  const rw = await load({ build: "simd", threads: 1 });
  const all = [];
  for (const name of names) {
    const model = { name, modelType: modelTypeOf(name) };
    for (const file of filesOf(name)) model[file === "" ? "safetensors" : "gguf"] = await measure(rw, name, file);
    all.push(model);
  }
  return all;
}

export async function architecturesPage() {
  const { ARCHITECTURES } = await import("../build/package/runtime/model/architectures/table.js");
  const { missingFor } = await import("../build/package/runtime/model/architectures/unsupported.js");
  const models = await measured(tinyModelNames(), differencesOf);
  const encoders = await measured(tinyEncoderNames(), embeddingDifferencesOf);
  const has = (all, row) => all.some((model) => isOf(row, model));
  const rowOf = (all, row) => {
    const { huggingFace, gguf } = row;
    const own = all.filter((model) => isOf(row, model));
    return [
      code(huggingFace),
      code(gguf),
      code(own.map(({ name }) => name)),
      shown(largest(own.map(({ safetensors }) => safetensors?.transformers))),
      shown(largest(own.map((model) => model.gguf?.transformers))),
      shown(largest(own.map((model) => model.gguf?.llamaCpp))),
    ];
  };
  const rows = ARCHITECTURES.filter((one) => has(models, one) || !has(encoders, one)).map((one) => rowOf(models, one));
  const encoderRows = ARCHITECTURES.filter((one) => has(encoders, one)).map((one) => rowOf(encoders, one));
  const formats = models
    .filter(({ modelType }) => modelType === undefined)
    .map(({ name, gguf }) => [name.replace("llama_", ""), shown(gguf.transformers), shown(gguf.llamaCpp)]);
  const names = JSON.parse(
    await readFile(new URL("../tests/golden/llama_cpp_architectures.json", import.meta.url), "utf8"),
  );
  const missing = new Map();
  for (const name of Object.entries(names).flatMap(([key, list]) => (key === "source" ? [] : list))) {
    const reason = missingFor(name);
    if (reason !== undefined) missing.set(reason, [...(missing.get(reason) ?? []), name]);
  }
  return `# Architectures

What this package runs, by \`model_type\` of config.json and \`general.architecture\` of GGUF. The numbers are the largest
differences of logits on [tiny models](../tests/golden/tiny_models/README.md) with random weights, after a prompt of 48
tokens and after each of 32 cached steps (8 for llama.cpp): from transformers, which computed in double precision, and from
llama.cpp. The logits go up to about 10. The tests hold each to 1e-4, in every build, except where llama.cpp computes
with less, and \`gpt_oss_mxfp4\`, whose inputs of products are rounded to bytes. \`node scripts/architectures.mjs\` prints
this page.

${table(["model_type", "GGUF", "tiny models", "safetensors − transformers", "GGUF − transformers", "GGUF − llama.cpp"], rows)}

- A cell is empty where there is nothing to compare with: GGUF or llama.cpp doesn't have the architecture or the option.
- llama.cpp computes GELU from a table of 16-bit floats. That is the difference of Gemma, \`gpt2\`, \`phi2\`,
  \`gptneox\` and \`starcoder2\`.
- llama.cpp reads no epsilon of \`qwen2vl\`, gives \`exaone4\` its window and \`command-r\` its norms of queries and keys only
  in models of 64 layers, and has no window for \`llama\` (Mistral), \`phi3\` and \`starcoder2\`. This package follows
  transformers: a \`phi3\` file with a window has it in every layer.
- GGUF has no key for some options of the hybrid models: \`granitehybrid\` with mamba layers has no RoPE there, and
  \`lfm2\` no biases. The keys of gated delta networks (\`qwen3next\`, \`qwen35\`) are normalized with the constant 1e-6
  here and in transformers, and with the model's epsilon in llama.cpp. \`falcon_mamba\` has two epsilons in config.json
  and one in GGUF. The tiny models have the values at which all agree.
- llama.cpp's converter writes \`bamba\` as \`granitehybrid\`, with queries and keys in an order that fits whole rotated heads.
  Half of each is rotated, so the logits of such files are llama.cpp's here too, but not those of transformers.
- \`rwkv7\` isn't in transformers. The reference is flash-linear-attention, with its own definitions in place of its kernels for
  GPUs. GGUF has no epsilon of its norm of heads, for which llama.cpp has a constant.
- \`lfm3\` is computed with proportional RoPE in its layers of full attention, as it was trained. The released config.json says
  \`default\` with a share of 0.5, from which transformers 5.24 rotates all of each head. llama.cpp reads the share from a tensor.
- \`gpt2\` has a row for each position. So its context ends there, its RoPE can't be changed, and its tokens can't be
  shifted. \`scale_attn_by_inverse_layer_idx\` is refused, and GGUF has no key for \`scale_attn_weights\`.
- llama-cpp-python 0.3.36 doesn't have \`lfm3\` and \`gemma-embedding2\`. Their names and keys in GGUF are those of llama.cpp b12032.
- \`internlm2\` and \`minicpm\` aren't in transformers. Their weights are those of its Llama and Granite, rearranged.

## Embeddings

The largest differences of the numbers of embeddings, which go up to about 3, or of the scores of cross-encoders, at texts of
1 to 80 tokens.

${table(["model_type", "GGUF", "tiny models", "safetensors − transformers", "GGUF − transformers", "GGUF − llama.cpp"], encoderRows)}

- \`gemma3_text\` is EmbeddingGemma, compared with sentence-transformers, and \`qwen3\` is Qwen3-Embedding.
- \`embedding_gemma2\` is the text part of EmbeddingGemma 2. It projects each token before pooling, so vectors have
  \`embedding_dim\` numbers. Its windows are distances in config.json, and both sides together in GGUF.
- \`distilbert\` has the name \`bert\` in GGUF, without types of tokens. Its norms have the constant 1e-12.
- \`mpnet\` adds a bias to scores by the distance between tokens: 32 buckets, whatever its config says, as in transformers. GGUF doesn't have it.
- llama.cpp computes GELU from a table of 16-bit floats.
- \`nomic-bert-moe\` isn't in transformers. The reference is its definition in double precision.

## Weight formats

The same on a Llama whose matrices have one format, from a reference that rounds the inputs of products to bytes, and from
llama.cpp, which rounds them in other blocks. Where a number is close to the middle between two bytes, either side is
right, and the logits differ by up to 0.1.

${table(["format", "GGUF − reference", "GGUF − llama.cpp"], formats)}

## What the others need

The architectures of llama.cpp that this package refuses, and what it lacks for them. \`ropewalk inspect\` says it too.

${[...missing].map(([reason, list]) => `${wrapped(`${reason[0].toUpperCase()}${reason.slice(1)} (${list.length}):`.split(" "))}\n\n\`\`\`text\n${wrapped(list)}\n\`\`\``).join("\n\n")}
`;
}

await runMain(import.meta.url, async () => process.stdout.write(await architecturesPage()));
