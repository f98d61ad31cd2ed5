// What config files of models that embed or rank say beyond the shape of the model, and what is refused in them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { largestDifference, readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const json = (name, contents) => new File([JSON.stringify(contents)], name);

/** The files of a tiny model with other keys in its config.json, and other JSON files by name. */
function filesWith(name, changes, others = {}) {
  const config = { ...JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8")), ...changes };
  return [
    json("config.json", config),
    ...["model.safetensors", "tokenizer.json"].map(
      (file) => new File([readFileSync(tinyModel(`${name}/${file}`))], file),
    ),
    ...Object.entries(others).map(([file, contents]) => json(file, contents)),
  ];
}

async function infoOf(files, options) {
  const model = await rw.model(files, options);
  model.dispose();
  return model.info;
}

const MODULES = [{ idx: 0, name: "0", path: "", type: "sentence_transformers.base.modules.transformer.Transformer" }];

test("the activation of scores, where sentence-transformers writes it", async () => {
  const { query, documents, logits } = readExpected("bert_ranker", "expected_embeddings.json");
  const scores = async (changes, sentence) => {
    const others = sentence && { "modules.json": MODULES, "config_sentence_transformers.json": sentence };
    const model = await rw.model(filesWith("bert_ranker", changes, others));
    const ranked = await model.rank(query, documents);
    model.dispose();
    return documents.map((_, i) => ranked.find(({ index }) => index === i).score);
  };
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const named = (name) => ({ model_type: "CrossEncoder", activation_fn: name });
  for (const [changes, sentence, activation] of [
    [{}, undefined, sigmoid],
    [{}, {}, sigmoid],
    [{}, named("torch.nn.modules.linear.Identity"), (x) => x],
    [{}, named("torch.nn.modules.activation.Sigmoid"), sigmoid],
    [{}, named("torch.nn.modules.activation.Tanh"), Math.tanh],
    [{}, named("torch.nn.modules.activation.ReLU"), (x) => Math.max(0, x)],
    [{}, named("my_code.Squared"), sigmoid], // sentence-transformers doesn't run it either
    [{ sentence_transformers: { activation_fn: "torch.nn.modules.linear.Identity" } }, undefined, (x) => x],
    [{ sbert_ce_default_activation_function: "torch.nn.modules.linear.Identity" }, undefined, (x) => x],
  ]) {
    const found = await scores(changes, sentence);
    const what = JSON.stringify([changes, sentence]);
    assert.ok(largestDifference([found], [logits.map(activation)]) < 1e-4, what);
  }
  const unknown = scores({}, named("torch.nn.modules.activation.Softmax"));
  await rejects(unknown, "UNSUPPORTED_MODEL", "model.safetensors: activation_fn");
});

test("the maximum length of texts, of either file", async () => {
  const modules = { "modules.json": MODULES };
  for (const [name, others, expected] of [
    ["bert", {}, 96],
    ["bert", { "tokenizer_config.json": { model_max_length: 64 } }, 64],
    ["bert", { "tokenizer_config.json": { model_max_length: 1e30 } }, 96], // transformers' number for no limit
    ["bert_ranker", { "tokenizer_config.json": { model_max_length: 64 } }, 64],
    ["bert", { ...modules, "tokenizer_config.json": { model_max_length: 64 } }, 64],
    ["mistral_embedding", { ...modules, "tokenizer_config.json": { model_max_length: 50 } }, 50],
    ["qwen3_embedding", { ...modules, "tokenizer_config.json": { model_max_length: 50 } }, 50],
    // its own file counts first
    [
      "bert",
      {
        ...modules,
        "tokenizer_config.json": { model_max_length: 64 },
        "sentence_bert_config.json": { max_seq_length: 80 },
      },
      80,
    ],
    ["llama", { "tokenizer_config.json": { model_max_length: 20 } }, 128], // generates text
  ]) {
    const { contextLength } = await infoOf(filesWith(name, {}, others));
    assert.equal(contextLength, expected, `${name} ${JSON.stringify(others)}`);
  }
  assert.equal(
    (await infoOf(filesWith("bert", {}, { "tokenizer_config.json": { model_max_length: 64 } }), { contextLength: 90 }))
      .contextLength,
    90,
  );
  for (const model_max_length of [0, "64"])
    await assert.rejects(rw.model(filesWith("bert", {}, { "tokenizer_config.json": { model_max_length } })), {
      code: "INVALID_FILE",
      message: /tokenizer_config\.json: model_max_length: must be a number of tokens/,
    });
});

test("a decoder with attention in both directions embeds, and generates nothing", async () => {
  const model = await rw.model(tinyModel("mistral_embedding/"));
  assert.deepEqual([model.info.generates, model.info.memory.cache], [false, 0]);
  assert.throws(() => model.session(), {
    code: "UNSUPPORTED_MODEL",
    message: /the model has attention in both directions \(is_causal: false\), and generates no text; call embed\(\)/,
  });
  model.dispose();
  // with a head, which isn't used
  const whole = await infoOf(filesWith("qwen3", { is_causal: false }));
  assert.equal(whole.generates, false);
  for (const name of ["lfm2", "jamba", "gpt_oss", "llama4", "gemma3n", "deepseek_v2"])
    await rejects(rw.model(filesWith(name, { is_causal: false })), "UNSUPPORTED_MODEL", "model.safetensors: is_causal");
});

test("a decoder without its head embeds, and generates nothing", async () => {
  const { texts, last } = readExpected("qwen3_embedding", "expected_embeddings.json");
  const changes = { tie_word_embeddings: false, architectures: ["Qwen3Model"] };
  const model = await rw.model(filesWith("qwen3_embedding", changes));
  const vectors = await model.embed(texts, { pooling: "last", normalize: false });
  assert.ok(largestDifference(vectors, last) < 1e-4);
  assert.equal(model.info.generates, false);
  for (const call of [() => model.session(), () => model.perplexity([5, 6]), () => model.generate([5]).next()])
    await assert.rejects(async () => call(), {
      code: "UNSUPPORTED_MODEL",
      message: /the model has no output layer \(lm_head\.weight\), as embedding models are saved/,
    });
  model.dispose();
  // with the class of a whole model, the file is damaged
  const damaged = filesWith("qwen3_embedding", { ...changes, architectures: ["Qwen3ForCausalLM"] });
  await rejects(rw.model(damaged), "INVALID_FILE", "model.safetensors: lm_head.weight");
});

test("encoders that are made decoders are refused", async () => {
  for (const name of ["bert", "xlm_roberta"])
    await rejects(
      rw.model(filesWith(name, { is_decoder: true })),
      "UNSUPPORTED_MODEL",
      "model.safetensors: is_decoder",
    );
});
