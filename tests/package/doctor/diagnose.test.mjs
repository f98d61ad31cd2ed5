// diagnose(): what it says about released configs, compared with published numbers.
import assert from "node:assert/strict";
import test from "node:test";
import { diagnose } from "ropewalk/doctor";
import { diagnosed, llama31, llama31Gguf, qwen, qwenGguf, qwenYarn, rw } from "./cases.mjs";

const near = (actual, expected, relative = 1e-9) =>
  assert.ok(Math.abs(actual / expected - 1) <= relative, `${actual} isn't ${expected}`);

test("Qwen2.5 at 100,000 tokens needs YaRN with factor 4, as its documentation says", async () => {
  const { verdict, recipe, trainedLength, servedLength, length } = await diagnosed(qwen, 100000);
  assert.equal(verdict.status, "needs_scaling");
  assert.match(verdict.text, /^Needs YaRN: made for 32,768 tokens, you ask for 100,000\..* factor 4\.$/);
  assert.deepEqual([trainedLength, servedLength, length], [32768, 32768, 100000]);
  const { rope_scaling } = recipe.configs[0].config;
  assert.deepEqual(rope_scaling, { rope_type: "yarn", factor: 4, original_max_position_embeddings: 32768 });
  for (const { title, checked } of recipe.blocks) assert.ok(checked.same, `${title}: ${checked.text}`);
});

test("the frequencies of its recipe are those of the literature", async () => {
  const { recipe } = await diagnosed(qwen, 100000);
  const { plan } = rw.describe(recipe.configs[0].config, 100000);
  // computed in f64 from transformers' formulas: d = 128, base 1e6, factor 4, range [23, 40]
  near(plan.attention_factor, 1.1386294361, 1e-10);
  assert.deepEqual(plan.correction_range, [23, 40]);
  near(plan.inv_freq[32], 0.000602941176, 1e-9);
  near(plan.inv_freq[63], 3.1023444e-7, 1e-7);
});

test("the flags of llama.cpp and vLLM are those that users paste", async () => {
  const { recipe } = await diagnosed(qwen, 100000);
  const textOf = (title) => recipe.blocks.find((block) => block.title === title).text.replace(/\s*\\\n\s*/g, " ");
  assert.equal(
    textOf("llama.cpp"),
    "llama-server -m model.gguf -c 100000 --rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768",
  );
  const [, json] = /^vllm serve MODEL --max-model-len 100000 --hf-overrides '(.*)'$/.exec(textOf("vLLM"));
  assert.deepEqual(JSON.parse(json), {
    max_position_embeddings: 131072,
    rope_parameters: { rope_type: "yarn", rope_theta: 1e6, factor: 4, original_max_position_embeddings: 32768 },
  });
});

test("a GGUF file of the same model", async () => {
  const { verdict, recipe, kind, family, layers } = await diagnosed({ metadata: qwenGguf }, 100000);
  assert.deepEqual([kind, family, layers[0].pairing, verdict.status], ["gguf", "qwen2", "half", "needs_scaling"]);
  assert.deepEqual(
    recipe.blocks.map(({ title, checked }) => [title, checked.same]),
    [
      ["llama.cpp", true],
      ["Ropewalk", true],
      ["Ropewalk, command line", true],
      ["Ropewalk, with a position map instead", true],
    ],
  );
  assert.match(recipe.note, /open the model's config\.json/);
  assert.match(recipe.blocks[0].note, /--override-kv qwen2\.context_length=int:131072/);
});

test("within its length a model fits, and only the length is set", async () => {
  const { verdict, recipe } = await diagnosed(llama31, 100000);
  assert.equal(verdict.text, "Fits: made for 131,072 tokens with llama3 scaling from 8,192, you ask for 100,000.");
  for (const { text, checked } of recipe.blocks) {
    assert.ok(checked.same, checked.text);
    assert.doesNotMatch(text, /rope/i.test(text) ? /rope[-_]sc|hf-overrides/ : /^$/);
  }
  assert.equal((await diagnosed(llama31)).length, 131072);
});

test("past a scaling that was trained for one length there is no recipe", async () => {
  const { verdict, recipe } = await diagnosed(llama31, 200000);
  assert.deepEqual([verdict.status, recipe], ["cannot", null]);
  assert.match(
    verdict.text,
    /^Not recommended: .*llama3 scaling was chosen for that length.* Use at most 131,072 tokens/,
  );
  const { findings, layers } = await diagnosed(llama31, 200000);
  const { text } = findings.find(({ code }) => code === "past-trained-length");
  assert.doesNotMatch(text, /A scaling/);
  assert.deepEqual([layers[0].trained, layers[0].served], [8192, 131072]);
});

test("a scaled model that fits: nothing to change in any system", async () => {
  const config = { ...qwen, max_position_embeddings: 131072, rope_scaling: qwenYarn };
  const { recipe } = await diagnosed(config, 50000);
  assert.equal(recipe.summary, "the file's own yarn, factor 4 from 32,768 to 131,072 tokens");
  const blocks = Object.fromEntries(recipe.blocks.map((block) => [block.title, block]));
  assert.equal(blocks["llama.cpp"].text, "llama-server -m model.gguf -c 50000");
  assert.match(blocks["llama.cpp"].note, /has its scaling/);
  assert.doesNotMatch(blocks["llama.cpp"].note, /override-kv/);
  assert.match(blocks["transformers"].note, /^Nothing to change/);
});

test("a model with YaRN gets a larger factor and keeps its other keys", async () => {
  const scaling = { rope_type: "yarn", factor: 32, original_max_position_embeddings: 4096, truncate: false };
  const config = { model_type: "gpt_oss", hidden_size: 2880, num_attention_heads: 64, head_dim: 64 };
  const { verdict, recipe } = await diagnosed(
    { ...config, rope_theta: 150000, max_position_embeddings: 131072, rope_scaling: scaling },
    200000,
  );
  assert.match(verdict.text, /^Needs a larger factor: made for 131,072 tokens with yarn scaling from 4,096/);
  assert.match(verdict.text, /48\.8 times the 4,096 that it is scaled from, so factor 49 instead of 32\.$/);
  assert.match(recipe.blocks.find(({ title }) => title === "Ropewalk").note, /^The other keys .* are kept/);
  assert.deepEqual(recipe.configs[0].config.rope_scaling, { ...scaling, factor: 49 });
  const checks = Object.fromEntries(recipe.blocks.map(({ title, checked }) => [title, checked]));
  assert.ok(checks["vLLM"].same && checks["transformers 5: config.json"].same);
  assert.match(checks["llama.cpp"].text, /can't do the same: .* pair 17 turns/); // it rounds the range
});

test("families without RoPE", async () => {
  const gpt2 = await diagnosed({ model_type: "gpt2", n_embd: 768, n_head: 12, n_positions: 1024 }, 4096);
  assert.deepEqual(gpt2.verdict, {
    status: "cannot",
    text: "Can't: gpt2 has learned positions, one vector for each of its 1,024 positions. No RoPE scaling applies; it ends there.",
  });
  assert.match((await diagnosed({ model_type: "bloom" })).verdict.text, /ALiBi/);
  const mamba = { model_type: "mamba2", hidden_size: 64, num_hidden_layers: 3 };
  const { verdict, findings, layersWithoutRope, recurrentLayers, support } = await diagnosed(mamba);
  assert.match(verdict.text, /^Nothing to scale: mamba2 has recurrent layers.* and no RoPE\. No length is the last/);
  assert.equal(verdict.status, "fits");
  assert.deepEqual(
    findings.map(({ code, severity, field }) => [code, severity, field]),
    [["no-rope", "note", "model_type"]],
  );
  assert.deepEqual(
    [layersWithoutRope, recurrentLayers],
    [
      [0, 1, 2],
      [0, 1, 2],
    ],
  );
  assert.equal(support.text, "Ropewalk runs mamba2.");
  assert.match((await diagnosed({ ...llama31, alibi: true })).verdict.text, /^Nothing to scale: .*ALiBi/);
});

test("whether Ropewalk runs the model, and lines only for models that it runs", async () => {
  const sizes = { hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 2, max_position_embeddings: 512 };
  const cases = [
    ["qwen2", "generates", /^Ropewalk runs qwen2\.$/, "npx ropewalk generate"],
    ["eurobert", "embeds", /^Ropewalk runs eurobert, an encoder/, "npx ropewalk embed"],
    ["persimmon", null, /^Ropewalk can't run it: architecture persimmon is not supported: no operation/, undefined],
  ];
  for (const [model_type, runs, text, command] of cases) {
    const { support, recipe } = await diagnosed({ ...sizes, model_type });
    assert.deepEqual([support.architecture, support.runs], [model_type, runs]);
    assert.match(support.text, text);
    const own = recipe.blocks.filter(({ system }) => system === "Ropewalk");
    assert.equal(own.length, command === undefined ? 0 : 2);
    if (command !== undefined) assert.ok(own[1].text.startsWith(command), own[1].text);
    assert.ok(recipe.blocks.every(({ checked }) => checked.same));
  }
});

test("encoders get advice of their own, and none about cached keys or chats", async () => {
  const sizes = { hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 2, max_position_embeddings: 512 };
  const encoder = { ...sizes, model_type: "nomic_bert" };
  const dynamic = { rope_type: "dynamic", factor: 2 };
  const codesOf = ({ findings }) => findings.map(({ code }) => code);
  const decoders = ["dynamic-cached-keys", "context-shift"];
  for (const rope_scaling of [dynamic, { rope_type: "yarn", factor: 4, original_max_position_embeddings: 512 }]) {
    const asDecoder = await diagnosed({ ...sizes, model_type: "llama", rope_scaling }, 4096);
    const asEncoder = await diagnosed({ ...encoder, rope_scaling }, 4096);
    assert.ok(decoders.some((code) => codesOf(asDecoder).includes(code)));
    assert.deepEqual(
      decoders.filter((code) => codesOf(asEncoder).includes(code)),
      [],
    );
    assert.equal(codesOf(asEncoder).includes("dynamic-by-text"), rope_scaling === dynamic);
    assert.deepEqual([asEncoder.memory, asDecoder.memory !== null], [null, true]);
    for (const code of ["long-texts", "pooling"]) {
      assert.ok(codesOf(asEncoder).includes(code), code);
      assert.ok(!codesOf(asDecoder).includes(code), code);
    }
  }
  const ranker = { ...encoder, architectures: ["NomicBertForSequenceClassification"] };
  const gguf = { "general.architecture": "nomic-bert", "nomic-bert.context_length": 512, "nomic-bert.block_count": 2 };
  const more = { "nomic-bert.embedding_length": 64, "nomic-bert.attention.head_count": 4 };
  for (const [source, command, flag] of [
    [encoder, "embed", "--embedding"],
    [ranker, "rank", "--reranking"],
    [{ metadata: { ...gguf, ...more, "nomic-bert.pooling_type": 4 } }, "rank", "--reranking"],
  ])
    for (const length of [512, 1024]) {
      const { recipe } = await diagnosed(source, length);
      const text = recipe.blocks.map((block) => `${block.text} ${block.note}`).join("\n");
      assert.doesNotMatch(text, /chat|generate|llama-cli|context-shift|retune|AutoModelForCausalLM|memory/);
      assert.match(text, new RegExp(`npx ropewalk ${command} `));
      assert.match(text, new RegExp(`llama-server -m model\\.gguf -c ${length} ${flag} -b ${length} -ub ${length}\\b`));
      assert.ok(recipe.blocks.every(({ checked }) => checked.same));
    }
  assert.ok(!codesOf(await diagnosed(ranker)).includes("pooling"), "a ranker's head says how it pools");
  const named = { metadata: { ...gguf, ...more, "nomic-bert.pooling_type": 1 } };
  assert.ok(!codesOf(await diagnosed(named)).includes("pooling"));
  const { findings } = await diagnosed({ metadata: { ...gguf, ...more } });
  assert.equal(findings.find(({ code }) => code === "pooling").field, "nomic-bert.pooling_type");
});

test("encoders with learned positions end there", async () => {
  for (const model_type of ["bert", "roberta", "xlm-roberta", "camembert"]) {
    const { verdict, findings } = await diagnosed({ model_type, max_position_embeddings: 514 }, 2048);
    assert.match(
      verdict.text,
      /^Can't: .* has learned positions, .*Split longer texts, or use an encoder with RoPE\.$/,
    );
    assert.deepEqual(
      findings.map(({ code }) => code),
      ["no-rope"],
    );
  }
});

test("a chat is only proposed for a file that is known to have a chat template", async () => {
  const commandOf = async (metadata) =>
    (await diagnosed({ metadata })).recipe.blocks.find(({ title }) => title === "Ropewalk, command line");
  assert.match(
    (await commandOf({ ...qwenGguf, "tokenizer.chat_template": "{{ x }}" })).text,
    /^npx ropewalk chat model\.gguf --context 32768$/,
  );
  const without = await commandOf(qwenGguf);
  assert.match(without.text, /^npx ropewalk generate model\.gguf --context 32768 "a text"$/);
  assert.match(without.note, /^Or perplexity, and chat if the model has a chat template/);
});

test("memory of the cache: 16 GiB for Llama 3.1 8B at its full length, as llama.cpp prints", async () => {
  const bytesAt = async (source, length) =>
    (await diagnosed(source, length)).memory.lengths.find((row) => row.length === length).bytes;
  assert.equal(await bytesAt(llama31, 131072), 16384 * 2 ** 20);
  assert.equal(await bytesAt({ metadata: llama31Gguf }, 131072), 16384 * 2 ** 20);
  assert.equal(await bytesAt(qwen, 32768), 1792 * 2 ** 20);
  // DeepSeek-V3: 70,272 bytes for each token (arXiv:2505.09343, table 1: 70.272 KB)
  const mla = { model_type: "deepseek_v3", hidden_size: 7168, num_attention_heads: 128, num_hidden_layers: 61 };
  const deepseek = { ...mla, kv_lora_rank: 512, qk_rope_head_dim: 64, qk_nope_head_dim: 128, rope_theta: 1e4 };
  assert.equal((await diagnosed({ ...deepseek, max_position_embeddings: 4096 })).memory.bytesPerToken, 70272);
  assert.equal((await diagnosed({ ...llama31, num_hidden_layers: undefined })).memory, null);
});

test("layers are grouped by RoPE and by window", async () => {
  const gemma = {
    model_type: "gemma3_text",
    hidden_size: 1152,
    num_attention_heads: 4,
    num_key_value_heads: 1,
    head_dim: 256,
    num_hidden_layers: 26,
    sliding_window: 512,
    sliding_window_pattern: 6,
    max_position_embeddings: 32768,
    rope_theta: 1e6,
    rope_local_base_freq: 1e4,
  };
  const { layers, recipe, verdict } = await diagnosed(gemma, 65536);
  assert.deepEqual(
    layers.map(({ kind, window, base, layers }) => [kind, window, base, layers.length]),
    [
      ["full_attention", 0, 1e6, 4],
      ["sliding_attention", 512, 1e4, 22],
    ],
  );
  assert.equal(verdict.status, "needs_scaling");
  assert.deepEqual(
    recipe.configs.map(({ config }) => config.rope_scaling.rope_type),
    ["yarn", "default"],
  );
  for (const { title, checked } of recipe.blocks) assert.ok(checked.same, `${title}: ${checked.text}`);
});

test("keys that a system ignores are found by trying them", async () => {
  const config = { ...qwen, rope_scaling: { ...qwenYarn, attention_factor: 1, beta_fast: 16 } };
  const { systems } = await diagnosed(config, 100000);
  const [hf, llama, vllm] = systems;
  assert.deepEqual([hf.same, hf.ignores], [true, []]);
  assert.deepEqual([vllm.same, vllm.ignores], [true, []]);
  assert.equal(llama.same, false);
  assert.deepEqual([...llama.ignores].sort(), ["attention_factor", "beta_fast"]);
  near(llama.layers[0].attention_factor, 1.1386294361, 1e-10);
});

test("nested configs of multimodal models", async () => {
  const { recipe } = await diagnosed({ model_type: "llava", text_config: { ...qwen } }, 100000);
  const block = recipe.blocks.find(({ title }) => title === "transformers 5: config.json");
  assert.equal(JSON.parse(block.text).text_config.rope_parameters.factor, 4);
  for (const { title, checked } of recipe.blocks) assert.ok(checked.same, `${title}: ${checked.text}`);
});

test("a file without its length: one finding, and the recipe once the length is given", async () => {
  const { max_position_embeddings: _, ...config } = qwen;
  const { "qwen2.context_length": __, ...metadata } = qwenGguf;
  const scaled = { ...config, rope_scaling: { rope_type: "yarn", factor: 2 } };
  const nested = { model_type: "llava", text_config: config };
  const sources = [
    [config, "max_position_embeddings"],
    [scaled, "max_position_embeddings"],
    [{ ...config, rope_scaling: { rope_type: "dynamic", factor: 2 } }, "max_position_embeddings"],
    [nested, "text_config.max_position_embeddings"],
    [{ metadata }, "qwen2.context_length"],
  ];
  for (const [source, field] of sources) {
    const { verdict, findings, recipe } = await diagnosed(source, 100000);
    const errors = findings.filter(({ severity }) => severity === "error");
    assert.deepEqual(
      errors.map(({ code, field }) => [code, field]),
      [["trained-length-missing", field]],
    );
    assert.match(verdict.text, /doesn't say how many tokens the model was trained on/);
    assert.ok(!verdict.text.includes(errors[0].text));
    assert.equal(recipe, null);
    const given = await diagnose(rw, source, { length: 100000, trainedLength: 32768 });
    assert.equal(given.trainedLength, 32768);
    assert.ok(given.recipe.blocks.length > 0);
    const isTold = given.recipe.blocks.some(({ note }) => note.includes("memory shown here"));
    assert.equal(isTold, given.memory !== null);
    for (const { title, checked } of given.recipe.blocks) assert.ok(checked.same, `${title}: ${checked.text}`);
  }
  const own = await diagnose(rw, qwen, { trainedLength: 4096 });
  assert.equal(own.trainedLength, 32768);
  assert.ok(own.findings.some(({ code }) => code === "trained-length-not-used"));
  await assert.rejects(diagnose(rw, qwen, { trainedLength: 0 }), { code: "INVALID_ARGUMENT", field: "trainedLength" });
});

test("a multimodal Gemma 3 leaves out its length; vLLM doesn't multiply it by the factor", async () => {
  // as released with gemma-3-4b-it, without the other parts
  const text_config = {
    hidden_size: 2560,
    model_type: "gemma3_text",
    num_hidden_layers: 34,
    rope_scaling: { factor: 8.0, rope_type: "linear" },
    sliding_window: 1024,
  };
  const { verdict, systems, findings, trainedLength } = await diagnosed({ model_type: "gemma3", text_config }, 100000);
  assert.equal(verdict.status, "fits");
  assert.equal(trainedLength, 131072); // the default of Gemma3TextConfig
  assert.equal(systems.find(({ system }) => system === "vLLM").maxLength, 131072);
  assert.deepEqual(findings, []);
});

test("without a length, the verdict says that none was given", async () => {
  const { verdict, length } = await diagnosed(qwen);
  assert.equal(verdict.text, "Fits: made for 32,768 tokens. You gave no length, so this is for all of it.");
  assert.equal(length, 32768);
});

test("what can't be read is named in the verdict, and explained once, in the finding", async () => {
  const { verdict, findings } = await diagnosed({ ...qwen, rope_scaling: { ...qwenYarn, factor: 0.5 } });
  assert.equal(verdict.text, "Can't tell: rope_scaling.factor has an error.");
  assert.doesNotMatch(findings[0].text, /^rope_scaling/);
  const tokenizer = await diagnosed({ version: "1.0", model: {} });
  assert.match(tokenizer.findings[0].text, /^is missing, .* Is this the model's whole config\.json/);
});

test("a diagnosis is plain JSON", async () => {
  for (const source of [qwen, llama31, { metadata: llama31Gguf }, { model_type: "gpt2" }]) {
    const diagnosis = await diagnosed(source, 50000);
    assert.deepEqual(JSON.parse(JSON.stringify(diagnosis)), diagnosis);
  }
});

test("wrong arguments", async () => {
  await assert.rejects(diagnose(undefined, qwen), { name: "RopewalkError", code: "INVALID_ARGUMENT", field: "rw" });
  await assert.rejects(diagnose(rw, 7), { code: "INVALID_ARGUMENT", field: "source" });
  await assert.rejects(diagnose(rw, { f: () => 1 }), { code: "INVALID_ARGUMENT", field: "source" });
  for (const length of [0, -1, 1.5, NaN, "9"])
    await assert.rejects(diagnose(rw, qwen, { length }), { code: "INVALID_ARGUMENT", field: "length" });
  await assert.rejects(diagnose(rw, qwen, { lenght: 1 }), { code: "UNKNOWN_KEY" });
  await assert.rejects(diagnose(rw, new Uint8Array(100)), { code: "INVALID_FILE" });
});
