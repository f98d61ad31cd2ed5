// Multimodal models: the text model is found under each naming scheme, and unknown tensors are errors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { rejects, rw } from "../helpers/runtime.mjs";

const read = (name) => readFileSync(tinyModel(name));
const config = JSON.parse(read("gemma3/config.json"));
const { prompt } = readExpected("gemma3", "expected.json");

/** Parses a safetensors file to { name: { dtype, shape, data } }. */
function tensorsOf(bytes) {
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _, ...header } = JSON.parse(bytes.subarray(8, start).toString());
  const entries = Object.entries(header);
  return Object.fromEntries(
    entries.map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [begin, end],
        },
      ]) => [name, { dtype, shape, data: bytes.subarray(start + begin, start + end) }],
    ),
  );
}

/** The files of a model, as if dropped on a page. */
function filesOf(tensors, config) {
  let end = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
      end += data.length;
      return [name, { dtype, shape, data_offsets: [end - data.length, end] }];
    }),
  );
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const weights = [length, text, ...Object.values(tensors).map(({ data }) => data)];
  return [
    new File(weights, "model.safetensors"),
    new File([JSON.stringify(config)], "config.json"),
    new File([read("gemma3/tokenizer.json")], "tokenizer.json"),
  ];
}

const renamed = (tensors, nameOf) =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [nameOf(name), tensor]));
const zeros = (...shape) => ({
  dtype: "BF16",
  shape,
  data: Buffer.alloc(2 * shape.reduce((product, length) => product * length, 1)),
});

async function logitsOf(source) {
  const model = await rw.model(source, { kv: { dtype: "f32" } });
  const session = model.session();
  await session.append(prompt);
  const logits = session.logits();
  model.dispose();
  return logits;
}

const own = tensorsOf(read("gemma3/model.safetensors"));
const vision = ["vision_tower.patch_embedding.weight", "multi_modal_projector.mm_soft_emb_norm.weight"];
const larger = { model_type: "gemma3", text_config: config, vision_config: { model_type: "siglip_vision_model" } };
const namings = {
  "as released": { nameOf: (name) => `language_model.${name}`, others: vision },
  "as transformers 5 holds them": {
    nameOf: (name) => name.replace(/^model\./, "model.language_model."),
    others: vision.map((name) => `model.${name}`),
  },
  "as SmolVLM's": {
    nameOf: (name) => name.replace(/^model\./, "model.text_model."),
    others: [
      "model.vision_model.post_layernorm.bias",
      "model.connector.modality_projection.proj.weight",
      "model.image_newline",
    ],
  },
};

for (const [how, { nameOf, others }] of Object.entries(namings)) {
  test(`a vision model, ${how}: logits of the text model`, async () => {
    const tensors = { ...renamed(own, nameOf), ...Object.fromEntries(others.map((name) => [name, zeros(2, 3)])) };
    assert.deepEqual(await logitsOf(filesOf(tensors, larger)), await logitsOf(filesOf(own, config)));
  });

  test(`a vision model, ${how}: with a separate head`, async () => {
    const head = {
      ...own["model.embed_tokens.weight"],
      data: Buffer.alloc(own["model.embed_tokens.weight"].data.length),
    };
    const tensors = renamed({ ...own, "lm_head.weight": head }, nameOf);
    assert.ok((await logitsOf(filesOf(tensors, larger))).every((logit) => logit === 0));
  });

  test(`a vision model, ${how}: the error names an unknown tensor`, async () => {
    for (const name of ["adapter.weight", nameOf("model.layers.0.self_attn.gate.weight"), "lenses.weight"]) {
      const tensors = { ...renamed(own, nameOf), [name]: zeros(2, 3) };
      await rejects(rw.model(filesOf(tensors, larger)), "UNSUPPORTED_MODEL", `model.safetensors: ${name}`);
    }
    const { [nameOf("model.norm.weight")]: _, ...without } = renamed(own, nameOf);
    await rejects(
      rw.model(filesOf(without, larger)),
      "INVALID_FILE",
      `model.safetensors: ${nameOf("model.norm.weight")}`,
    );
  });
}

test("a text-only model has no vision part", async () => {
  await rejects(
    rw.model(filesOf({ ...own, [vision[0]]: zeros(2) }, config)),
    "UNSUPPORTED_MODEL",
    `model.safetensors: ${vision[0]}`,
  );
});

test("a text_config without the keys whose values are those of Gemma 3 4B", async () => {
  const [hidden, inner, heads, kvHeads, size] = [32, 16, 8, 4, 256]; // the last three are defaults of Gemma3TextConfig() in transformers
  const layer = {
    ...{
      "self_attn.q_proj": [heads * size, hidden],
      "self_attn.k_proj": [kvHeads * size, hidden],
      "self_attn.v_proj": [kvHeads * size, hidden],
    },
    ...{ "self_attn.o_proj": [hidden, heads * size], "self_attn.q_norm": [size], "self_attn.k_norm": [size] },
    ...{ "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden], "mlp.down_proj": [hidden, inner] },
    ...Object.fromEntries(
      ["input", "post_attention", "pre_feedforward", "post_feedforward"].map((name) => [`${name}_layernorm`, [hidden]]),
    ),
  };
  const layers = Array.from({ length: 6 }, (_, n) =>
    Object.entries(layer).map(([name, shape]) => [`model.layers.${n}.${name}.weight`, zeros(...shape)]),
  );
  const tensors = {
    "model.embed_tokens.weight": zeros(262208, hidden),
    "model.norm.weight": zeros(hidden),
    ...Object.fromEntries(layers.flat()),
  };
  const text_config = {
    ...{
      hidden_size: hidden,
      intermediate_size: inner,
      model_type: "gemma3_text",
      num_hidden_layers: 6,
      sliding_window: 1024,
    },
    rope_scaling: { factor: 8, rope_type: "linear" },
  };
  const source = filesOf(renamed(tensors, namings["as released"].nameOf), { model_type: "gemma3", text_config });
  const info = await rw.modelInfo(source);
  assert.deepEqual([info.architecture, info.vocabularySize, info.trainedLength], ["gemma3_text", 262208, 131072]);
  assert.deepEqual(
    info.layers.map(({ window }) => window),
    [1024, 1024, 1024, 1024, 1024, 0],
  );
  const ropes = [info.layers[0], info.layers[5]].map(({ rope }) => [
    rope.head_dim,
    rope.rope_theta,
    rope.rope_scaling?.factor,
  ]);
  assert.deepEqual(ropes, [
    [256, 1e4, undefined],
    [256, 1e6, 8],
  ]);
});

test("models with other operations are rejected by name", async () => {
  for (const [refused, config] of [
    ["recurrent_gemma", { model_type: "paligemma", text_config: { model_type: "recurrent_gemma" } }],
    ["mllama_text_model", { model_type: "mllama", text_config: { model_type: "mllama_text_model" } }],
  ]) {
    const opened = rw.model(filesOf(own, config));
    await rejects(opened, "UNSUPPORTED_MODEL", "model.safetensors: model_type");
    await assert.rejects(opened, (error) => error.message.includes(`${refused} is not supported`));
  }
});
