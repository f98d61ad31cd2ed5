// Weights whose sizes in the file and in the config disagree: refused before anything is copied into wasm memory. After all of them, a good
// model still gives the same logits, bit for bit.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { load } from "../../dist/index.node.js";
import { assembleWeight, asColumn, wholeTensor } from "../../build/package/runtime/model/weights/weight_mapping.js";
import { tensorBytes } from "../../build/package/core/quantize/weight_formats.js";
import { goodModelOf, partsOf, tinyNames, written } from "../files/model_parts.mjs";
import { expectError } from "../files/reading.mjs";

const rw = await load({ build: "simd" });
const expectGoodModel = await goodModelOf(rw);
after(() => expectGoodModel("after all tests"));

const BLOCKS = { f32: [1, 4], f16: [1, 2], bf16: [1, 2], q8_0: [32, 34], q4_0: [32, 18], q6_k: [256, 210] };
const count = (shape) => shape.reduce((product, extent) => product * extent, 1);

/** A tensor of another shape or type, with as many bytes as it takes. */
function resized(tensor, { shape = tensor.shape, type = tensor.type }) {
  const [elements, bytes] = BLOCKS[type];
  return { ...tensor, shape, type, data: new Uint8Array((count(shape) / elements) * bytes).fill(1) };
}

/** Opens a model and returns the code of its error, which must be a RopewalkError that names the file; undefined if it opens. */
async function codeOf(source, title) {
  try {
    (await rw.model(source)).dispose();
  } catch (error) {
    assert.equal(error.name, "RopewalkError", `${title}: ${error.stack}`);
    assert.notEqual(error.code, "INVALID_ARGUMENT", `${title}: ${error.message}`);
    return error.code;
  }
}

test("gpt_neox with fewer key heads than query heads", async () => {
  for (const name of ["gpt_neox", "gpt_neox_sequential"]) {
    const parts = await partsOf(name, "safetensors");
    const { num_attention_heads: heads, hidden_size } = parts.keys;
    const dim = hidden_size / heads;
    for (let kvHeads = 1; kvHeads < heads; kvHeads++) {
      const rows = (heads + 2 * kvHeads) * dim;
      const tensors = parts.tensors.map((tensor) =>
        tensor.name.includes("query_key_value") ? resized(tensor, { shape: tensor.shape.with(0, rows) }) : tensor,
      );
      const keys = { ...parts.keys, num_key_value_heads: kvHeads };
      for (const changed of [tensors, parts.tensors]) {
        await expectError(
          rw.model(written({ ...parts, keys, tensors: changed }, "safetensors")),
          "INVALID_FILE",
          "model.safetensors: num_key_value_heads",
          heads % kvHeads === 0 ? /must be \d+, the number of heads/ : /must divide the \d+ heads/,
        );
      }
    }
    const same = { ...parts.keys, num_key_value_heads: heads };
    assert.equal(await codeOf(written({ ...parts, keys: same }, "safetensors"), name), undefined);
  }
  await expectGoodModel();
});

test("a fused bias that is cut inside its blocks", async () => {
  const parts = await partsOf("gpt_neox", "gguf");
  const heads = parts.keys["gptneox.attention.head_count"];
  const hidden = parts.keys["gptneox.embedding_length"];
  const bias = parts.tensors.find(({ name }) => name === "blk.0.attn_qkv.bias");
  assert.deepEqual(bias.shape, [3 * hidden]);
  const withBias = (changed, keys = parts.keys) =>
    rw.model(written({ ...parts, keys, tensors: parts.tensors.map((one) => (one === bias ? changed : one)) }, "gguf"));
  if (hidden % 32 === 0) (await withBias(resized(bias, { type: "q8_0" }))).dispose(); // parts of whole blocks are valid
  const keys = { ...parts.keys, "gptneox.attention.key_length": hidden / heads + 4 };
  await assert.rejects(withBias(resized(bias, { type: "q8_0" }), keys), { name: "RopewalkError" });
  const total = 3 * hidden;
  const cut = { tensor: { ...bias, format: "q8_0", bytes: (total / 32) * 34 }, first: 16, count: 32 };
  assert.throws(() => assembled({ isVector: true, columns: 32 }, [{ ...cut, tensor: asColumn(cut.tensor) }]), /block/);
  await expectGoodModel();
});

const place = { layer: 0, slot: 0, expert: 0, isVector: false, rows: 1, columns: 1, added: 0 };
const assembled = (changes, parts) =>
  assembleWeight({ ...place, ...changes }, parts, ({ name }, message) => {
    throw new Error(`${name}: ${message}`);
  });
const stored = (name, format, shape) => ({
  name,
  format,
  shape,
  file: 0,
  offset: 0,
  bytes: tensorBytes(format, shape),
});

test("the pieces of a weight are whole, inside their tensors, and sum to the weight", () => {
  const [a, b] = [stored("a", "f32", [6, 4]), stored("b", "f16", [2, 4])];
  const { slices, bytes, format } = assembled({ rows: 4, columns: 4 }, [
    { tensor: a, first: 4, count: 2 },
    { tensor: a, first: 0, count: 2 },
  ]);
  assert.deepEqual([bytes, format], [64, "f32"]);
  assert.deepEqual(
    slices.map(({ from, bytes, to }) => [from, bytes, to]),
    [
      [64, 32, 0],
      [0, 32, 32],
    ],
  );
  const quantized = stored("q", "q8_0", [4, 64]);
  const bias = stored("bias", "q8_0", [96]);
  const cases = [
    ["rows after the end", { rows: 3, columns: 4 }, [{ tensor: a, first: 4, count: 3 }], /requires rows 4 to 6/],
    ["rows before the start", { rows: 2, columns: 4 }, [{ tensor: a, first: -1, count: 2 }], /requires rows -1/],
    ["no rows", { rows: 0, columns: 4 }, [{ tensor: a, first: 0, count: 0 }], /requires rows/],
    ["half a row", { rows: 1, columns: 4 }, [{ tensor: a, first: 0.5, count: 1 }], /requires rows|has \d+ bytes|block/],
    ["NaN rows", { rows: 1, columns: 4 }, [{ tensor: a, first: NaN, count: 1 }], /requires rows/],
    ["too few rows", { rows: 4, columns: 4 }, [{ tensor: a, first: 0, count: 3 }], /has 48 bytes in f32, but 4 × 4/],
    ["too many rows", { rows: 4, columns: 4 }, [wholeTensor(a)], /has 96 bytes in f32, but 4 × 4 .* take 64/],
    ["rows of another length", { rows: 8, columns: 3 }, [wholeTensor(a)], /must have 3 columns/],
    ["two formats", { rows: 8, columns: 4 }, [wholeTensor(a), wholeTensor(b)], /format must be f32.*got f16/],
    ["fewer bytes than its shape", { rows: 6, columns: 4 }, [wholeTensor({ ...a, bytes: 95 })], /has only 95 bytes/],
    ["an empty tensor", { rows: 1, columns: 4 }, [wholeTensor(stored("e", "f32", [0, 4]))], /requires rows 0 to -1/],
    [
      "a vector cut inside a block",
      { isVector: true, columns: 48 },
      [{ tensor: asColumn(bias), first: 0, count: 48 }],
      /inside a q8_0 block/,
    ],
    [
      "rows that are not whole blocks",
      { rows: 4, columns: 48 },
      [wholeTensor({ ...quantized, shape: [4, 48] })],
      /inside a q8_0 block|has \d+ bytes/,
    ],
    [
      "rows that wrap in 32 bits",
      { rows: 2 ** 32 + 4, columns: 64 },
      [wholeTensor(quantized)],
      /has 272 bytes in q8_0, but 4294967300 × 64/,
    ],
  ];
  for (const [title, changes, parts, message] of cases) assert.throws(() => assembled(changes, parts), message, title);
  assert.equal(assembled({ rows: 4, columns: 64 }, [wholeTensor(quantized)]).bytes, 272);
  assert.equal(
    assembled({ isVector: true, columns: 64 }, [{ tensor: asColumn(bias), first: 32, count: 64 }]).bytes,
    68,
  );
});

/** The numbers of a config that are sizes. */
const SIZE =
  /(hidden_size|intermediate_size|\w*num_\w*heads|n_groups|(mamba_)?n_heads|\w*state_size|mamba_d_state|conv_kernel|conv_L_cache|expand|time_step_rank|n_(embd|heads?|inner|positions)|(hidden_|embedding_)?dim|hidden_size_per_layer_input|head_dim|vocab_size|num_(local_)?experts\w*|moe_intermediate_size|rotary_dim|\.(embedding|feed_forward|expert_feed_forward|key|value)_length|\.head_count(_kv)?|\.expert_(used_)?count|\.dimension_count|ssm\.\w+|wkv\.head_size|lora_rank|low_rank_dim|l_cache)$/;

/** A tenth of the architectures, for time, and all of them in a long run. The fuzz target `weights` damages all of them. */
const STEP = process.env.ROPEWALK_CASES === undefined ? 10 : 1;
const sampled = (kind) =>
  tinyNames(kind)
    .filter((name) => !/^llama_(?!bias)|_mxfp4$/.test(name))
    .filter((_, i) => i % STEP === 0);

for (const kind of ["safetensors", "gguf"]) {
  test(`${kind}: every size of a config against tensors of the old and of other sizes`, async (t) => {
    const tally = {};
    for (const name of sampled(kind)) {
      const parts = await partsOf(name, kind);
      if (parts.keys.text_config !== undefined) continue; // the same sizes, nested
      const sizes = Object.keys(parts.keys).filter((key) => SIZE.test(key) && Number.isInteger(parts.keys[key]));
      assert.ok(sizes.length >= 4, `${name} has sizes: ${sizes}`);
      for (const key of sizes) {
        const size = parts.keys[key];
        for (const value of new Set(
          [size - 1, size + 1, size / 2, size * 2, size + 32, 1].filter((value) => value > 0),
        )) {
          if (value === size || !Number.isInteger(value)) continue;
          const keys = { ...parts.keys, [key]: value };
          // the tensors as they are; and every extent changed that is the size, or a few times the size
          const follow = (factor) =>
            parts.tensors.map((tensor) => {
              const shape = tensor.shape.map((extent) => (extent === factor * size ? factor * value : extent));
              const fits = shape.at(-1) % BLOCKS[tensor.type][0] === 0;
              return fits && count(shape) !== count(tensor.shape) ? resized(tensor, { shape }) : tensor;
            });
          for (const tensors of [parts.tensors, follow(1), follow(3)]) {
            const title = `${name}: ${key} = ${value}`;
            const code = (await codeOf(written({ ...parts, keys, tensors }, kind), title)) ?? "opens";
            tally[code] = (tally[code] ?? 0) + 1;
          }
        }
      }
      await expectGoodModel(`after ${name}`);
    }
    t.diagnostic(JSON.stringify(tally));
    assert.ok(tally.INVALID_FILE > 200 && tally.opens > 0);
  });

  test(`${kind}: every tensor of another shape or type`, async (t) => {
    const tally = {};
    for (const name of sampled(kind)) {
      const parts = await partsOf(name, kind);
      for (const [i, tensor] of parts.tensors.entries()) {
        if (/\.1\./.test(tensor.name)) continue; // the second layer behaves like the first
        const { shape, type } = tensor;
        const types = ["f32", "f16", "bf16", ...(kind === "gguf" ? ["q8_0", "q4_0"] : [])];
        const changes = [
          ...(shape.length > 1 ? [{ shape: shape.toReversed() }, { shape: [count(shape)] }] : []),
          { shape: [...shape, 1] },
          { shape: [1, ...shape] },
          ...(shape.length > 0 ? [{ shape: shape.with(0, shape[0] * 2) }, { shape: shape.with(0, 0) }] : []),
          { shape: [] },
          ...types
            .filter((other) => other !== type && (shape.at(-1) ?? 1) % BLOCKS[other][0] === 0)
            .map((type) => ({ type })),
        ].filter(({ shape }) => shape === undefined || (shape.at(-1) ?? 1) % BLOCKS[type][0] === 0);
        for (const change of changes) {
          const tensors = parts.tensors.with(i, resized(tensor, change));
          const title = `${name}: ${tensor.name} as ${JSON.stringify(change)}`;
          const code = (await codeOf(written({ ...parts, tensors }, kind), title)) ?? "opens";
          tally[code] = (tally[code] ?? 0) + 1;
        }
      }
      await expectGoodModel(`after ${name}`);
    }
    t.diagnostic(JSON.stringify(tally));
    assert.ok(tally.INVALID_FILE > 200 && tally.opens > 20);
  });
}
