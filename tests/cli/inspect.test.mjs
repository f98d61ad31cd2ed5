// `ropewalk inspect`: config.json, GGUF, safetensors, folders and URLs, and errors.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load, ropeConfig } from "ropewalk";
import { ropewalk, withFolder } from "./program.mjs";

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const llama31 = path("examples/configs/llama-3.1-8b.json");
const gemma3 = path("examples/configs/gemma-3-1b.json");
const tiny = path("tests/golden/tiny_models/llama");
const inspected = async (...words) => {
  const { status, stdout, stderr } = await ropewalk(["inspect", ...words, "--json"]);
  assert.equal(status, 0, stdout + stderr);
  return JSON.parse(stdout);
};

test("for a config.json it prints the text of rw.describe()", async () => {
  const rw = await load();
  const description = rw.describe(ropeConfig(JSON.parse(await readFile(llama31, "utf8"))));
  const { status, stdout, stderr } = await ropewalk(["inspect", llama31]);
  assert.equal(status, 0);
  assert.equal(stderr, "");
  assert.ok(stdout.startsWith(String(description)), stdout);
  assert.ok(!stdout.includes("\x1b"));
  const { ropes, model } = await inspected(llama31);
  assert.equal(model, null);
  assert.deepEqual(ropes[0].plan.inv_freq, [...description.plan.inv_freq]);
  assert.equal(ropes[0].pairs.length, 64);
});

test("sliding windows of a config.json, and keys of them with a wrong value", () =>
  withFolder(async (folder) => {
    const file = join(folder, "config.json");
    const config = JSON.parse(await readFile(path("tests/golden/tiny_models/qwen3/config.json"), "utf8"));
    const layers = config.num_hidden_layers;
    const given = async (more) => writeFile(file, JSON.stringify({ ...config, layer_types: undefined, ...more }));
    await given({ use_sliding_window: true, sliding_window: 64, max_window_layers: 1 });
    const { stdout } = await ropewalk(["inspect", file]);
    assert.match(stdout, /\nSliding windows\n {2}window of 64 tokens: layers? 1/);
    const found = await inspected(file);
    assert.deepEqual(found.windows, [{ window: 64, layers: Array.from({ length: layers - 1 }, (_, i) => i + 1) }]);
    for (const [key, value] of [
      ["use_sliding_window", 1],
      ["sliding_window", "64"],
      ["max_window_layers", "1"],
      ["layer_types", "sliding_attention"],
    ]) {
      await given({ use_sliding_window: true, sliding_window: 64, [key]: value });
      const { status, stderr } = await ropewalk(["inspect", file]);
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`^error: (config\\.json: )?${key}: must be `));
    }
  }));

test("a config.json gives the memory that its model has, with windows or without", async () => {
  for (const name of ["qwen3", "gemma3", "starcoder2_window", "mellum", "cohere2", "llama4_chunks"]) {
    const model = path(`tests/golden/tiny_models/${name}`);
    const config = await inspected(join(model, "config.json"), "--context", "96");
    const files = await inspected(model, "--context", "96");
    assert.deepEqual(config.cache, files.cache, name);
    assert.deepEqual(config.windows, files.windows, name);
  }
});

test("a section for each kind of layer, or for the chosen one", async () => {
  const { ropes } = await inspected(gemma3);
  assert.deepEqual(
    ropes.map(({ kind, config }) => [kind, config.rope_theta]),
    [
      ["full_attention", 1e6],
      ["sliding_attention", 1e4],
    ],
  );
  const one = await inspected(gemma3, "--layer-type", "sliding_attention");
  assert.deepEqual(
    one.ropes.map(({ kind }) => kind),
    ["sliding_attention"],
  );
  const { stdout } = await ropewalk(["inspect", gemma3]);
  assert.match(stdout, /^full_attention.*\nRoPE default, base 1000000/m);
  assert.match(stdout, /^sliding_attention.*\nRoPE default, base 10000,/m);
});

test("options change the RoPE, and --context the length", async () => {
  const options = [
    "--rope-type",
    "yarn",
    "--factor",
    "4",
    "--trained-length",
    "8192",
    "--set",
    "rope_scaling.beta_fast=16",
    "--context",
    "32768",
  ];
  const { ropes } = await inspected(llama31, ...options);
  const { rope_scaling } = ropes[0].config;
  assert.deepEqual(
    [rope_scaling.rope_type, rope_scaling.factor, rope_scaling.beta_fast, ropes[0].seqLen],
    ["yarn", 4, 16, 32768],
  );
  const theta = await inspected(llama31, "--theta", "20000", "--pairing", "interleaved");
  assert.deepEqual([theta.ropes[0].config.rope_theta, theta.ropes[0].plan.pairing], [20000, "interleaved"]);
});

test("for a model in any format it prints weights and memory as in rw.modelInfo()", async () => {
  const rw = await load();
  for (const source of [tiny, join(tiny, "model.safetensors"), join(tiny, "model.gguf")]) {
    const info = await rw.modelInfo(source, { contextLength: 64 });
    const { model, cache, ropes } = await inspected(source, "--context", "64");
    assert.deepEqual(
      [model.architecture, model.parameters, model.layers],
      [info.architecture, info.parameters, info.layers.length],
    );
    assert.deepEqual(model.memory, info.memory);
    assert.equal(cache.bytes.f16, info.memory.cache);
    assert.ok(cache.bytes.f32 > cache.bytes.f16);
    assert.deepEqual(ropes[0].layers, [0, 1]);
  }
  const { stdout } = await ropewalk(["inspect", tiny]);
  assert.match(stdout, /^model\.safetensors: llama, 20,640 parameters, made for 128 tokens$/m);
  assert.match(stdout, /^KV cache of 128 tokens$/m);
});

test("it prints the windows of layers that share a RoPE with others, and of kinds with their own", async () => {
  for (const [name, line] of [
    ["gpt_oss", /^ {2}window of 16 tokens: layers 0$/m],
    ["mistral", /^ {2}window of 16 tokens: all layers$/m],
    ["gemma3", /^sliding_attention, layers .*, window of \d+ tokens$/m],
    ["llama", /^(?![^]*window)/],
  ])
    assert.match((await ropewalk(["inspect", join(tiny, "..", name)])).stdout, line, name);
});

test("a config.json with layers and heads also gives memory", async () => {
  const fromConfig = await inspected(join(tiny, "config.json"));
  assert.equal(fromConfig.model, null);
  assert.deepEqual(fromConfig.cache, (await inspected(tiny)).cache);
});

test("for sliding-window and full-attention layers, a config.json gives the same as the model's files", () =>
  withFolder(async (folder) => {
    const gemma = join(tiny, "..", "gemma3");
    const { ropes, cache } = await inspected(gemma);
    const shown = ({ kind, layers, sliding_window }) => ({ kind, layers, sliding_window });
    assert.equal(ropes.length, 2);
    for (const { layers } of ropes) assert.ok(layers.length > 0);
    const { layer_types, ...older } = JSON.parse(await readFile(join(gemma, "config.json"), "utf8"));
    const sliding_window_pattern = layer_types.indexOf("full_attention") + 1; // older files have this instead of layer_types
    for (const config of [
      { ...older, layer_types },
      { ...older, sliding_window_pattern },
      { model_type: "gemma3", text_config: { ...older, sliding_window_pattern } },
    ]) {
      const path = join(folder, "config.json");
      await writeFile(path, JSON.stringify(config));
      const alone = await inspected(path);
      const byKind = (a, b) => a.kind.localeCompare(b.kind);
      assert.deepEqual(alone.ropes.map(shown).sort(byKind), ropes.map(shown).sort(byKind));
      assert.deepEqual(alone.cache, cache);
    }
  }));

test("recurrent layers: which they are, of which kind, and the bytes of their states", async () => {
  const rw = await load();
  for (const [name, kind] of [
    ["lfm2", "conv"],
    ["qwen3_5", "linear_attention"],
    ["granitemoehybrid", "mamba"],
  ]) {
    const folder = join(tiny, "..", name);
    const { memory } = await rw.modelInfo(folder);
    const { ropes, recurrent, layers_without_rope } = await inspected(folder);
    assert.deepEqual(recurrent, { kind, layers: [0, 1, 3], bytes: memory.states });
    const hasRope = name !== "granitemoehybrid";
    assert.deepEqual([ropes.length, layers_without_rope], hasRope ? [1, [0, 1, 3]] : [0, [0, 1, 2, 3]]);
    if (hasRope) assert.deepEqual((await inspected(join(folder, "config.json"))).recurrent, recurrent);
    const { stdout } = await ropewalk(["inspect", folder]);
    assert.match(
      stdout,
      new RegExp(`^Recurrent, ${kind}: layers 0–1, 3\\n {2}states \\d+\\.\\d KiB for a session`, "m"),
    );
    assert.equal(/^Attention without RoPE: layers 2$/m.test(stdout), !hasRope);
    assert.match(stdout, /^KV cache of /m);
  }
  assert.equal((await inspected(tiny)).recurrent, null);
});

test("attention and a recurrence in one layer, and layers with neither", async () => {
  const both = join(tiny, "..", "falcon_h1");
  for (const source of [both, join(both, "config.json"), join(both, "model.gguf")]) {
    const { ropes, recurrent, layers_without_rope, cache } = await inspected(source);
    assert.deepEqual([recurrent.kind, recurrent.layers, layers_without_rope], ["hybrid", [0, 1, 2], []]);
    assert.deepEqual([ropes.length, ropes[0].layers], [1, [0, 1, 2]]);
    assert.ok(cache.bytes.f16 > 0);
  }
  const { stdout } = await ropewalk(["inspect", join(tiny, "..", "nemotron_h")]);
  assert.match(stdout, /^Attention without RoPE: layers 2\n\nRecurrent, mamba: layers 0, 4$/m);
  assert.match(stdout, /^KV cache of /m);
  for (const [name, expected, line] of [
    ["nemotron_h", { mlp: [1, 3], moe: [] }, /^Feed-forward alone, mlp: layers 1, 3$/m],
    ["nemotron_h_moe", { mlp: [], moe: [1, 3] }, /^Feed-forward alone, moe: layers 1, 3$/m],
    ["granitemoehybrid", { mlp: [], moe: [] }, /^Recurrent, mamba/m],
  ])
    for (const source of [
      join(tiny, "..", name),
      join(tiny, "..", name, "config.json"),
      join(tiny, "..", name, "model.gguf"),
    ]) {
      const layers = (await load()).modelInfo(join(tiny, "..", name)).then((info) => info.layers);
      const { feed_forward } = await inspected(source);
      assert.deepEqual(feed_forward, expected, source);
      const kinds = (await layers).map(({ kind }) => kind);
      for (const kind of ["mlp", "moe"])
        assert.deepEqual(
          feed_forward[kind],
          kinds.flatMap((own, i) => (own === kind ? [i] : [])),
        );
      assert.match((await ropewalk(["inspect", source])).stdout, line);
    }
});

test("a model without attention has no KV cache", async () => {
  const folder = join(tiny, "..", "mamba");
  const { ropes, recurrent, cache } = await inspected(folder);
  assert.deepEqual([ropes, recurrent.kind, recurrent.layers, cache], [[], "mamba", [0, 1, 2], null]);
  const { stdout } = await ropewalk(["inspect", folder]);
  assert.match(stdout, /\n\nRecurrent, mamba: layers 0–2\n {2}states [\d.]+ KiB for a session of any length/);
  assert.ok(!/KV cache|\n\n\n/.test(stdout));
});

test("a config.json of a model without RoPE: which key shows it, its layers, and whether Ropewalk runs it", () =>
  withFolder(async (folder) => {
    const file = join(folder, "config.json");
    const said = async (config) => {
      await writeFile(
        file,
        JSON.stringify({ hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 2, ...config }),
      );
      return (await ropewalk(["inspect", file])).stdout;
    };
    const bert = await said({ model_type: "bert", max_position_embeddings: 512 });
    assert.match(bert, /^No RoPE: model_type is "bert"$/m);
    assert.match(bert, /^Attention without RoPE: layers 0–1$/m);
    assert.match(bert, /^Ropewalk runs bert, an encoder: it embeds texts, and generates none\.$/m);
    const mamba = await said({ model_type: "mamba", state_size: 16 });
    assert.match(mamba, /^Recurrent, mamba: layers 0–1$/m);
    assert.match(mamba, /^Ropewalk runs mamba\.$/m);
    const nope = await said({ model_type: "granitemoehybrid", position_embedding_type: "nope" });
    assert.match(nope, /^No RoPE: position_embedding_type is "nope"$/m);
    const rwkv = await said({ model_type: "rwkv7" });
    assert.match(rwkv, /^Recurrent, rwkv: layers 0–1$/m);
    assert.match(rwkv, /^Ropewalk runs rwkv7\.$/m);
    const older = await said({ model_type: "rwkv6" });
    assert.match(
      older,
      /^Ropewalk can't run it: architecture rwkv6 is not supported: another form of RWKV than RWKV-7/m,
    );
    assert.match(await said({ model_type: "qwen2" }), /^Ropewalk runs qwen2\.$/m);
    const { runs, ropes } = JSON.parse((await ropewalk(["inspect", file, "--json"])).stdout);
    assert.deepEqual([runs, ropes.length], ["generates", 1]);
  }));

test("layers with a window are sliding-window layers, also if they share the RoPE of the others", async () => {
  const rw = await load();
  for (const name of ["gemma2", "gpt_oss"]) {
    const { layers } = await rw.modelInfo(join(tiny, "..", name));
    for (const { kind, window } of layers) assert.equal(kind, window > 0 ? "sliding_attention" : "full_attention");
    assert.ok(layers.some(({ window }) => window > 0) && layers.some(({ window }) => window === 0));
    const { stdout } = await ropewalk(["inspect", join(tiny, "..", name)]);
    assert.equal(stdout.match(/^RoPE /gm).length, 1);
  }
});

test("an unrotated pair has an infinite wavelength and no rotations", async () => {
  const { stdout } = await ropewalk(["inspect", join(tiny, "..", "gemma4"), "--layer-type", "full_attention"]);
  assert.match(stdout, /^ +2 +∞ +0 +unrotated$/m);
});

test("only kinds of layers with RoPE can be asked for", async () => {
  const { status, stderr } = await ropewalk([
    "inspect",
    join(tiny, "..", "qwen3_5", "model.gguf"),
    "--layer-type",
    "linear_attention",
  ]);
  assert.deepEqual([status, /must be one of full_attention \(got linear_attention\)/.test(stderr)], [2, true]);
});

test("the same from a server", async () => {
  const server = createServer(async (request, response) => {
    const body = await readFile(join(tiny, request.url.slice(1))).catch(() => undefined);
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}/`;
  try {
    assert.deepEqual(
      (await inspected(`${address}config.json`)).ropes,
      (await inspected(join(tiny, "config.json"))).ropes,
    );
    assert.deepEqual(
      (await inspected(`${address}model.gguf`)).model,
      (await inspected(join(tiny, "model.gguf"))).model,
    );
    const { status, stderr } = await ropewalk(["inspect", `${address}missing.json`]);
    assert.deepEqual(
      [status, /missing\.json: file: http:.*missing\.json: status 404, .* \(NETWORK\)/.test(stderr)],
      [1, true],
    );
    const none = await ropewalk(["inspect", "http://"]);
    assert.deepEqual([none.status, none.stderr], [2, "error: http://: isn't a valid URL (INVALID_ARGUMENT)\n"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("unreadable sources give errors that name the cause", () =>
  withFolder(async (folder) => {
    const write = async (name, content) => {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    };
    await write("cut.gguf", (await readFile(join(tiny, "model.gguf"))).subarray(0, 500));
    const empty = join(folder, "empty");
    await mkdir(empty);
    const cases = [
      [[join(folder, "nowhere.json")], 1, /nowhere\.json: no such file/],
      [[join(folder, "nowhere.gguf")], 1, /nowhere\.gguf: file/],
      [[await write("broken.json", "{")], 1, /broken\.json: isn't valid JSON/],
      [[await write("list.json", "[]")], 1, /must contain a JSON object/],
      [
        [await write("strange.json", '{"model_type":"nobody","hidden_size":64,"num_attention_heads":4}')],
        1,
        /UNKNOWN_FAMILY/,
      ],
      [[join(folder, "cut.gguf")], 1, /cut\.gguf: .*INVALID_FILE/],
      [[empty], 1, /the folder has no config\.json, and no \.gguf or \.safetensors file/],
      [[llama31, "--layer-type", "sideways"], 2, /^error: --layer-type: must be one of/],
      [[llama31, "--set", "rope_scaling.betafast=16"], 2, /--set rope_scaling\.betafast/],
    ];
    for (const [words, expected, message] of cases) {
      const { status, stdout, stderr } = await ropewalk(["inspect", ...words]);
      assert.deepEqual([status, stdout], [expected, ""], `${words.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
    }
  }));
