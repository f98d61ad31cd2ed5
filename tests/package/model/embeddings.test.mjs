// Embeddings and scores of tiny encoders (tests/golden/tiny_models), compared with transformers, sentence-transformers
// and llama.cpp.
import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { load, ropeConfig } from "ropewalk";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";
import { has } from "../helpers/tiny_models.mjs";

// f32 against f64
const LIMIT = 1e-4;
// llama.cpp computes GELU from an f16 table.
const LLAMA_CPP_LIMITS = {
  bert: 5e-3,
  distilbert: 5e-3,
  xlm_roberta: 5e-3,
  modernbert: 5e-3,
  jina_embeddings_v3: 5e-3,
  nomic_bert_moe: 5e-3,
  gemma_embedding: 5e-3,
};
const names = readdirSync(tinyModel("")).filter((name) => has(name, "expected_embeddings.json"));
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

async function withModel(path, use, runtime = rw) {
  const model = await runtime.model(tinyModel(path), { contextLength: 90 });
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

function assertClose(rows, expected, what, limit = LIMIT) {
  const difference = largestDifference(rows, expected);
  assert.ok(difference < limit, `${what}: ${difference}`);
  rows.forEach((row, i) =>
    assert.ok(cosine(row, expected[i]) > 1 - LIMIT, `${what}: cosine ${cosine(row, expected[i])}`),
  );
}

for (const name of names) {
  const expected = readExpected(name, "expected_embeddings.json");
  const files = ["", "model.gguf"].filter((file) => has(name, file || "model.safetensors"));
  for (const file of files) {
    const kind = file === "" ? "safetensors" : "GGUF";
    if (expected.logits !== undefined) {
      test(`${name}, ${kind}: transformers' scores of pairs`, () =>
        withModel(`${name}/${file}`, async (model) => {
          assert.equal(model.info.ranks, true);
          const ranked = await model.rank(expected.query, expected.documents);
          const scores = expected.logits.map(sigmoid);
          assert.deepEqual(
            ranked.map(({ index }) => index),
            scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a]),
          );
          assertClose([ranked.map(({ score }) => score)], [ranked.map(({ index }) => scores[index])], "scores");
        }));
      continue;
    }
    test(`${name}, ${kind}: transformers' hidden states, pooled in each way, in a list and one by one`, () =>
      withModel(`${name}/${file}`, async (model) => {
        if (model.info.embedding.dimensions !== expected.mean[0].length) return;
        for (const pooling of ["mean", "cls", "last", "max"]) {
          const options = { pooling, normalize: false };
          const together = await model.embed(expected.texts, options);
          if (name !== "gemma_embedding") assertClose(together, expected[pooling], pooling);
          for (const [i, tokens] of expected.texts.entries())
            assert.deepEqual(await model.embed(tokens, options), together[i]);
        }
      }));
  }
  if (has(name, "expected_llama_cpp_embeddings.json")) {
    test(`${name}, GGUF: llama.cpp's embeddings`, () =>
      withModel(`${name}/model.gguf`, async (model) => {
        const { tokens, vectors } = readExpected(name, "expected_llama_cpp_embeddings.json");
        assert.deepEqual(
          [model.info.generates, model.info.embedding.pooling, model.info.memory.cache],
          [false, "mean", 0],
        );
        assertClose(await model.embed(tokens, { normalize: false }), vectors, "llama.cpp", LLAMA_CPP_LIMITS[name]);
      }));
  }
  if (expected.sentences === undefined) continue;
  test(`${name}: the vectors of sentence-transformers, with its prompts`, () =>
    withModel(name, async (model) => {
      assertClose(await model.embed(expected.sentences), expected.vectors_default, "default");
      const { prompts } = model.info.embedding;
      for (const prompt of Object.keys(prompts).filter((key) => prompts[key] !== ""))
        assertClose(await model.embed(expected.sentences, { prompt }), expected[`vectors_${prompt}`], prompt);
    }));
}

test("every encoder without SIMD", async () => {
  const scalar = await load({ build: "scalar", threads: 1 });
  for (const name of names) {
    const expected = readExpected(name, "expected_embeddings.json");
    const read = async (model) =>
      expected.logits === undefined
        ? model.embed(expected.texts)
        : [(await model.rank(expected.query, expected.documents)).map(({ score }) => score)];
    assertClose(await withModel(name, read, scalar), await withModel(name, read), name);
  }
});

test("nomic-bert's own keys of dynamic NTK, and a model scaled by them", async () => {
  const own = { model_type: "nomic_bert", n_embd: 768, n_head: 12, n_positions: 8192, rotary_emb_base: 1000 };
  const plain = ropeConfig({ ...own, max_trained_positions: 2048, rotary_scaling_factor: null });
  assert.equal(plain.max_position_embeddings, 2048);
  assert.equal(plain.rope_scaling?.rope_type ?? "default", "default");
  const scaled = ropeConfig({ ...own, max_trained_positions: 2048, rotary_scaling_factor: 2 });
  assert.equal(scaled.rope_scaling.rope_type, "dynamic");
  assert.equal(scaled.rope_scaling.factor, 2);
  const inverse = rw.rope(scaled).plan(8192).inv_freq[1];
  const base = 1000 * ((2 * 8192) / 2048 - 1) ** (64 / 62); // as modeling_hf_nomic_bert.py computes it
  assert.ok(Math.abs(inverse / base ** (-2 / 64) - 1) < 1e-12);
});

test("GTE's own code: its keys, its NTK at every length, and the weights that transformers' class has", async () => {
  const own = { model_type: "new", hidden_size: 768, num_attention_heads: 12, max_position_embeddings: 8192 };
  const scaling = { type: "ntk", factor: 8 };
  const { inv_freq } = rw.rope(ropeConfig({ ...own, rope_theta: 20000, rope_scaling: scaling })).plan(10);
  // as its modeling.py computes it: the base times the factor, and then all frequencies divided by factor^(2/d)
  const expected = Array.from({ length: 32 }, (_, pair) => (20000 * 8) ** (-pair / 32) / 8 ** (2 / 64));
  for (const [pair, value] of expected.entries()) assert.ok(Math.abs(inv_freq[pair] / value - 1) < 1e-12, `${pair}`);

  const folder = mkdtempSync(join(tmpdir(), "ropewalk-gte-"));
  try {
    const { rope_parameters, ...config } = JSON.parse(readFileSync(join(tinyModel("gte"), "config.json"), "utf8"));
    const write = (changes) =>
      writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, model_type: "new", ...changes }));
    for (const name of ["model.safetensors", "tokenizer.json"])
      copyFileSync(join(tinyModel("gte"), name), join(folder, name));
    write({ rope_theta: rope_parameters.rope_theta, layer_norm_type: "layer_norm", pack_qkv: true });
    const model = await rw.model(folder);
    const { texts, mean } = readExpected("gte", "expected_embeddings.json");
    assertClose(await model.embed(texts, { pooling: "mean", normalize: false }), mean, "gte");
    model.dispose();
    write({ logn_attention_scale: true });
    await rejects(rw.model(folder), "UNSUPPORTED_MODEL", "model.safetensors: logn_attention_scale");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("experts of nomic-bert are in every second layer of a GGUF file, and refused in safetensors", async () => {
  await withModel("nomic_bert_moe/model.gguf", (model) => {
    assert.deepEqual(
      model.info.layers.map(({ hasExperts }) => hasExperts),
      [false, true, false, true],
    );
    assert.equal(model.info.embedding.pooling, "mean");
  });
  const folder = mkdtempSync(join(tmpdir(), "ropewalk-nomic-"));
  try {
    const own = tinyModel("nomic_bert_own_names");
    for (const name of ["model.safetensors", "tokenizer.json"]) copyFileSync(join(own, name), join(folder, name));
    const config = JSON.parse(readFileSync(join(own, "config.json"), "utf8"));
    const experts = { num_experts: 8, moe_top_k: 2, moe_every_n_layers: 2, qkv_proj_bias: true };
    writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, ...experts }));
    const error = await rw.model(folder).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.field], ["UNSUPPORTED_MODEL", "model.safetensors: moe_every_n_layers"]);
    assert.match(error.message, /use the GGUF file/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("weights that aren't numbers are found", async () => {
  for (const name of ["bert", "bert_ranker"]) {
    const bytes = readFileSync(join(tinyModel(name), "model.safetensors"));
    bytes.fill(0xff, bytes.length - 4000);
    const folder = mkdtempSync(join(tmpdir(), "ropewalk-damaged-"));
    try {
      for (const file of ["config.json", "tokenizer.json"])
        copyFileSync(join(tinyModel(name), file), join(folder, file));
      writeFileSync(join(folder, "model.safetensors"), bytes);
      const model = await rw.model(folder);
      const call = name === "bert" ? model.embed(["the cat"]) : model.rank("the cat", ["the dog"]);
      await rejects(call, "INVALID_FILE", "tensors");
      model.dispose();
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
});

test("a text under another scaling, and texts that are too long", async () => {
  await withModel("modernbert", async (model) => {
    const long = readExpected("modernbert", "expected_embeddings.json").texts.at(-1);
    const plain = await model.embed(long);
    const scaled = await rw.model(tinyModel("modernbert"), {
      contextLength: 90,
      rope: { rope_scaling: { rope_type: "linear", factor: 4 } },
    });
    assert.ok(cosine(await scaled.embed(long), plain) < 1 - 1e-4);
    scaled.dispose();
    const tooLong = Array.from({ length: 91 }, () => 5);
    const longer =
      /; split it, pass truncate: true, or load the model with a larger contextLength \(above 96, with a scaling/;
    await assert.rejects(model.embed([[5], tooLong]), { code: "INVALID_ARGUMENT", field: "texts[1]", message: longer });
    assert.deepEqual(await model.embed(tooLong, { truncate: true }), await model.embed(tooLong.slice(1)));
    // the first tokens stay, and the last one only if it is special
    const maxLength = model.info.contextLength;
    const ids = Array.from({ length: maxLength + 9 }, (_, i) => 5 + (i % 40));
    const special = Array.from({ length: model.tokenizer.vocabularySize }, (_, id) => id).find((id) =>
      model.tokenizer.isSpecial(id),
    );
    assert.ok(special !== undefined && !model.tokenizer.isSpecial(ids.at(-1)));
    const cut = (tokens) => model.embed(tokens, { truncate: true });
    assert.deepEqual(await cut(ids), await model.embed(ids.slice(0, maxLength)));
    assert.deepEqual(await cut([...ids, special]), await model.embed([...ids.slice(0, maxLength - 1), special]));
  });
  // learned positions end: there is a larger length up to their number
  await withModel("bert", (model) =>
    assert.rejects(model.embed(Array(91).fill(5)), {
      message: /or load the model with a larger contextLength, at most 96$/,
    }),
  );
  const whole = await rw.model(tinyModel("bert"));
  await assert.rejects(whole.embed(Array(97).fill(5)), {
    message: /more than the model's 96; split it, or pass truncate: true$/,
  });
  whole.dispose();
  await assert.rejects(rw.model(tinyModel("bert"), { contextLength: 97 }), {
    code: "INVALID_ARGUMENT",
    field: "contextLength",
  });
});

test("files that modules.json needs are named if they are missing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ropewalk-"));
  try {
    cpSync(tinyModel("gemma_embedding"), folder, { recursive: true });
    for (const [name, path] of [
      ["1_Pooling/config.json", "1_Pooling"],
      ["2_Dense/config.json", "2_Dense"],
    ]) {
      renameSync(join(folder, path), join(folder, "elsewhere"));
      const message = /\. modules\.json names its folder; pass the whole folder of the model$/;
      await assert.rejects(rw.model(folder), { code: "INVALID_FILE", field: `${name}: file`, message });
      renameSync(join(folder, "elsewhere"), join(folder, path));
    }
    rmSync(join(folder, "3_Dense", "model.safetensors"));
    await rejects(rw.model(folder), "INVALID_FILE", "3_Dense/model.safetensors: file");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("encoders generate nothing, and other models don't rank", () =>
  withModel("bert", async (model) => {
    assert.throws(() => model.session(), { code: "UNSUPPORTED_MODEL" });
    await assert.rejects(model.perplexity([5, 6]), { code: "UNSUPPORTED_MODEL" });
    await assert.rejects(model.generate([5]).next(), { code: "UNSUPPORTED_MODEL" });
    await assert.rejects(model.rank([5], [[6]]), { code: "UNSUPPORTED_MODEL" });
    assert.deepEqual(await model.embed([]), []);
    const [half] = await model.embed([[5, 6]], { dimensions: 7, normalize: true });
    assert.equal(half.length, 7);
    assert.ok(Math.abs(half.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-6);
    const seen = [];
    await assert.rejects(model.embed([[5]], { signal: AbortSignal.abort() }), { name: "AbortError" });
    await model.embed([[5], [6, 7]], { onProgress: (progress) => seen.push(progress) });
    assert.deepEqual(seen, [{ done: 2, total: 2 }]);
  }));

test("pairs of texts have the scores of their tokens", () =>
  withModel("bert_ranker", async (model) => {
    const [query, documents] = ["the cat", ["a rope", "the cat sleeps"]];
    const ids = (text) => [...model.tokenizer.encode(text)];
    assert.deepEqual(await model.rank(query, documents), await model.rank(ids(query), documents.map(ids)));
    await assert.rejects(model.rank(query, [[5]]), { code: "INVALID_ARGUMENT", field: "documents[0]" });
    for (const wrong of [5, undefined, ["text"], [[5]], []]) {
      const fault = await model.rank(wrong, documents).then(undefined, (error) => error);
      assert.deepEqual([fault?.code, fault?.field.replace(/\[\d\]/, "")], ["INVALID_ARGUMENT", "query"]);
    }
    const long = {
      field: "documents[1]",
      message: /has \d+ tokens with the query, more than the model's \d+; split it/,
    };
    await assert.rejects(model.rank(query, ["short", "long ".repeat(200)]), long);
  }));

// LongRoPE changes its factors at 64 tokens; LFM2, Mamba and RWKV have states; Gemma 3n and DeepSeek share or compress keys.
for (const name of ["phi3", "phi4_mini", "lfm2", "mamba", "rwkv7", "gemma3n", "deepseek_v2", "gpt_oss"])
  test(`${name}: a decoder's embedding is the hidden state of a session, also in a list with other texts`, () =>
    withModel(`${name}/`, async (model) => {
      const { prompt, steps } = readExpected(name, "expected.json");
      const texts = [prompt.slice(0, 5), [...prompt, ...steps], prompt];
      const vectors = await model.embed(texts, { pooling: "last", normalize: false });
      for (const [i, text] of texts.entries()) {
        const session = model.session();
        await session.append(text);
        assertClose([vectors[i]], [session.hidden()], `text ${i}`, 2e-3); // the session's keys are f16
        session.dispose();
      }
    }));
