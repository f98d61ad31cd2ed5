// Weights in safetensors that other systems have quantized (tests/golden/packed_weights.json), and layouts that aren't read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { expectError, fetchOnly, fileOf, openModel } from "../../files/reading.mjs";
import { safetensorsBytes } from "../../files/safetensors_writer.mjs";
import { folderFiles } from "../../files/tiny_models.mjs";
import { tinyModel } from "../../package/helpers/models.mjs";

const cases = JSON.parse(readFileSync(new URL("../../golden/packed_weights.json", import.meta.url), "utf8"));
const bytesOf = (base64) => new Uint8Array(Buffer.from(base64, "base64"));

/** Opens a folder with the tensors of one weight, "layer", and an ordinary one. */
function open(config, tensors, stem = "layer", separator = ".") {
  const norm = { dtype: "F32", shape: [4], data: new Uint8Array(16) };
  const named = Object.entries(tensors).map(([name, tensor]) => [`${stem}${separator}${name}`, tensor]);
  const weights = safetensorsBytes({ "norm.weight": norm, ...Object.fromEntries(named) });
  const files = { "model.safetensors": weights, ...folderFiles };
  files["config.json"] = new TextEncoder().encode(JSON.stringify({ model_type: "llama", hidden_size: 64, ...config }));
  return openModel(
    fetchOnly,
    Object.entries(files).map(([name, bytes]) => fileOf(name, bytes)),
  );
}

const decoded = (tensors) =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [name, { ...tensor, data: bytesOf(tensor.data) }]),
  );

async function read(model, tensor) {
  const bytes = new Uint8Array(tensor.bytes);
  let next = 0;
  await model.read([tensor, model.tensors.get("norm.weight")], ({ name }, offset, chunk) => {
    if (name !== tensor.name) return;
    assert.equal(offset, next, "rows arrive in order");
    bytes.set(chunk, offset);
    next = offset + chunk.length;
  });
  assert.equal(next, tensor.bytes);
  return bytes;
}

/** The elements of blocks as ggml defines them. */
function elementsOf(bytes, format) {
  const view = new DataView(bytes.buffer);
  const half = (at) => {
    const bits = view.getUint16(at, true);
    const [exponent, mantissa] = [(bits >> 10) & 31, bits & 1023];
    return (bits & 0x8000 ? -1 : 1) * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
  };
  if (format === "bf16")
    return new Float32Array(Uint32Array.from(new Uint16Array(bytes.buffer), (bits) => bits << 16).buffer);
  const [blockBytes, lead] = format === "q4_0" ? [18, 2] : [20, 4];
  const values = [];
  for (let block = 0; block < bytes.length; block += blockBytes) {
    const scale = half(block);
    for (let i = 0; i < 32; i++) {
      const byte = bytes[block + lead + (i % 16)];
      const code = i < 16 ? byte & 15 : byte >> 4;
      values.push(format === "q4_0" ? scale * (code - 8) : Math.fround(scale * code) + half(block + 2));
    }
  }
  return Float32Array.from(values);
}

for (const { name, config, tensors, values, exact } of cases) {
  test(`${name}: ${exact ? "the same values" : "values within the rounding of zero points to f16"}`, async () => {
    const model = await open(config, decoded(tensors));
    assert.deepEqual([...model.tensors.keys()].sort(), ["layer.weight", "norm.weight"]);
    const tensor = model.tensors.get("layer.weight");
    const expected = new Float32Array(bytesOf(values).buffer);
    assert.equal(
      tensor.shape.reduce((a, b) => a * b),
      expected.length,
    );
    const ours = elementsOf(await read(model, tensor), tensor.format);
    if (exact) {
      assert.deepEqual(ours, expected);
      return;
    }
    assert.equal(tensor.format, "q4_1");
    // the minimum is at most 16 scales, a step is one scale, and f16 rounds by 2^-11
    const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const difference = expected.reduce((most, value, i) => Math.max(most, Math.abs(value - ours[i])), 0);
    assert.ok(difference <= 2.2 * 2 ** -11 * largest, `${difference} of ${largest}`);
  });
}

test("what isn't plain is refused by its name", async () => {
  const golden = (start) => {
    const found = cases.find(({ name }) => name.startsWith(start));
    return { config: found.config, tensors: decoded(found.tensors) };
  };
  const changed = ({ config, tensors }, change) => [
    { quantization_config: { ...config.quantization_config, ...change } },
    tensors,
  ];
  const symmetric = golden("GPTQ, symmetric");
  const order = { ...symmetric.tensors.g_idx, data: symmetric.tensors.g_idx.data.slice().reverse() };
  const ct = golden("compressed-tensors, symmetric, f16");
  const group = (weights) => ({ config_groups: { a: { weights } } });
  const compressed = ct.config.quantization_config.config_groups.group_0.weights;
  const mlx = golden("MLX, f16");
  const fp8 = golden("FP8, a scale for each block");
  const refused = [
    [
      changed(symmetric, { desc_act: true }),
      /desc_act, whose columns are in another order, can't be read; use a model without it/,
    ],
    [changed(symmetric, { bits: 8 }), /GPTQ weights of 8 bits can't be read, only of 4 bits/],
    [changed(symmetric, { checkpoint_format: "marlin" }), /in the layout "marlin" can't be read/],
    [
      changed(symmetric, { quant_method: "hqq" }),
      /quantized weights of hqq can't be read, only those of compressed-tensors, gptq/,
    ],
    [changed(golden("AWQ"), { version: "gemv" }), /AWQ weights in the layout gemv can't be read, only gemm/],
    [changed(golden("AWQ"), { bits: 3 }), /AWQ weights of 3 bits can't be read/],
    [changed(ct, group({ ...compressed, num_bits: 2 })), /weights of 2 bits can't be read/],
    [changed(ct, group({ ...compressed, num_bits: 8 })), /int weights of 8 bits can't be read/],
    [[{ quantization: { group_size: 64, bits: 8 } }, mlx.tensors], /MLX weights of 8 bits \("affine"\) can't be read/],
    [[{ quantization: { group_size: 64, bits: 4, mode: "mxfp4" } }, mlx.tensors], /MLX weights of 4 bits \("mxfp4"\)/],
    [[{ quantization: { group_size: 64, bits: 4, layer: { bits: 6 } } }, mlx.tensors], /MLX weights of 6 bits/],
    [
      [{ quantization: { group_size: 32, bits: 4 } }, mlx.tensors],
      /groups must have 32 elements by config\.json \(got 64\)/,
    ],
    [changed(fp8, { weight_block_size: [16, 16] }), /scales don't fit 16 × 128 elements, nor blocks of \[16, 16\]/],
    [[{}, symmetric.tensors], /dtype I32 is not supported/],
    [
      [{ quantization_config: { quant_method: "bitsandbytes" } }, mlx.tensors],
      /quantized weights of bitsandbytes can't be read/,
    ],
  ];
  for (const [[config, tensors], message] of refused)
    await assert.rejects(open(config, tensors), (error) => {
      assert.equal(error.code, "UNSUPPORTED_MODEL");
      assert.match(error.message, message);
      return true;
    });
  const shuffled = await open(symmetric.config, { ...symmetric.tensors, g_idx: order });
  await expectError(
    shuffled.read([shuffled.tensors.get("layer.weight")], () => {}),
    "UNSUPPORTED_MODEL",
    "model.safetensors: layer.qweight",
    /GPTQ columns in another order \(g_idx\) can't be read/,
  );
  const { scales, ...withoutScales } = symmetric.tensors;
  assert.ok(scales);
  await assert.rejects(open(symmetric.config, withoutScales), /needs the tensor layer\.scales, which is missing/);
  const short = { ...symmetric.tensors, qzeros: { dtype: "I32", shape: [1], data: new Uint8Array(4) } };
  await assert.rejects(open(symmetric.config, short), /has 4 bytes of zero points/);
});

test("symmetric weights with zero points, and scales beyond f16, are errors when they are read", async () => {
  const { config, tensors } = cases.find(({ name }) => name === "GPTQ, with zero points");
  const wrong = await open({ quantization_config: { ...config.quantization_config, sym: true } }, decoded(tensors));
  await assert.rejects(
    read(wrong, wrong.tensors.get("layer.weight")),
    /has zero points, although its config says that it is symmetric/,
  );
  const mlx = cases.find(({ name }) => name === "MLX, bf16");
  const huge = decoded(mlx.tensors);
  huge.scales.data.fill(0x7e);
  const model = await open(mlx.config, huge);
  await assert.rejects(read(model, model.tensors.get("layer.weight")), /has a scale that f16 can't hold/);
});

test("MXFP4 experts: the bytes that the gguf package writes for the same weights", async () => {
  const open = (...names) =>
    openModel(
      fetchOnly,
      names.map((name) => fileOf(name, readFileSync(tinyModel(`gpt_oss_mxfp4/${name}`)))),
    );
  const folder = await open("model.safetensors", "config.json", "tokenizer.json");
  const gguf = await open("model.gguf");
  const bytesIn = async ({ tensors, read }, name) => {
    const bytes = new Uint8Array(tensors.get(name).bytes);
    await read([tensors.get(name)], (_, offset, chunk) => bytes.set(chunk, offset));
    return bytes;
  };
  const down = folder.tensors.get("model.layers.0.mlp.experts.down_proj");
  assert.deepEqual([down.format, ...down.shape], ["mxfp4", 4, 64, 32]);
  assert.deepEqual(await bytesIn(folder, down.name), await bytesIn(gguf, "blk.0.ffn_down_exps.weight"));
});

test("MXFP4 whose codes and scales don't fit is refused", async () => {
  const config = { quantization_config: { quant_method: "mxfp4" } };
  const codes = { dtype: "U8", shape: [2, 3, 2, 16], data: new Uint8Array(192) };
  const scales = { dtype: "U8", shape: [2, 3, 2], data: new Uint8Array(12) };
  const openAs = (tensors) => open(config, tensors, "experts", "_");
  const ok = await openAs({ blocks: codes, scales });
  assert.deepEqual(ok.tensors.get("experts").shape, [2, 3, 64]);
  await assert.rejects(openAs({ blocks: codes }), /needs the tensor experts_scales, which is missing/);
  const few = { dtype: "U8", shape: [2, 3], data: new Uint8Array(6) };
  await assert.rejects(openAs({ blocks: codes, scales: few }), /shapes 2 × 3 × 2 × 16 and 2 × 3 of codes and scales/);
  const floats = { dtype: "F32", shape: [2, 3, 2], data: new Uint8Array(48) };
  await assert.rejects(openAs({ blocks: codes, scales: floats }), /scales must be in U8/);
});
