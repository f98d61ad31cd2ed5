// A model in safetensors whose matrices MLX has quantized to four bits. The values of every layout are compared in
// tests/unit/files/packed.test.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { File } from "node:buffer";
import { safetensorsBytes } from "../../files/safetensors_writer.mjs";
import { largestDifference, rootMeanSquare, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const GROUP = 32;
const prompt = [5, 17, 33, 9, 41, 2, 60, 23];

/** Drops the bits that bf16 doesn't have. */
function truncated(value) {
  const word = new Uint32Array(Float32Array.of(value).buffer);
  word[0] &= 0xffff0000;
  return new Float32Array(word.buffer)[0];
}

const bytesOf = (array) => new Uint8Array(array.buffer);

/** Quantizes a matrix as MLX stores it, and to the same values in f32. */
function quantized(stem, [rows, columns], values) {
  const groups = columns / GROUP;
  const [scales, biases, words] = [rows * groups, rows * groups, (rows * columns) / 8].map((length, i) =>
    i < 2 ? new Float32Array(length) : new Uint32Array(length),
  );
  const plain = new Float32Array(values.length);
  for (let group = 0; group < rows * groups; group++) {
    const part = values.subarray(group * GROUP, (group + 1) * GROUP);
    const least = truncated(Math.min(...part));
    const scale = truncated((Math.max(...part) - least) / 15) || 1;
    [scales[group], biases[group]] = [scale, least];
    part.forEach((value, i) => {
      const at = group * GROUP + i;
      const code = Math.max(0, Math.min(15, Math.round((value - least) / scale)));
      words[at >> 3] |= code << (4 * (at & 7));
      plain[at] = scale * code + least;
    });
  }
  const floats = (array) => ({ dtype: "F32", shape: [rows, groups], data: bytesOf(array) });
  return {
    packed: {
      [`${stem}.biases`]: floats(biases),
      [`${stem}.scales`]: floats(scales),
      [`${stem}.weight`]: { dtype: "U32", shape: [rows, columns / 8], data: bytesOf(words) },
    },
    plain: { [`${stem}.weight`]: { dtype: "F32", shape: [rows, columns], data: bytesOf(plain) } },
  };
}

/** Values of 8-bit floats (E4M3) from 0 up, by code. */
const E4M3 = Float32Array.from({ length: 127 }, (_, code) =>
  code < 8 ? code * 2 ** -9 : (8 + (code & 7)) * 2 ** ((code >> 3) - 10),
);

/** Rounds a matrix to 8-bit floats with a scale for each row, and to the same values in f32. */
function eightBits(stem, [rows, columns], values) {
  const codes = new Uint8Array(values.length);
  const scales = Float32Array.from({ length: rows }, (_, row) => 2 ** -(4 + (row % 3)));
  const plain = values.map((value, i) => {
    const scale = scales[Math.floor(i / columns)];
    const code = E4M3.findLastIndex((magnitude) => magnitude <= Math.abs(value) / scale);
    codes[i] = code | (value < 0 ? 128 : 0);
    return Math.sign(value) * E4M3[code] * scale;
  });
  return {
    packed: {
      [`${stem}.weight`]: { dtype: "F8_E4M3", shape: [rows, columns], data: codes },
      [`${stem}.weight_scale`]: { dtype: "F32", shape: [rows, 1], data: bytesOf(scales) },
      [`${stem}.input_scale`]: { dtype: "F32", shape: [1], data: new Uint8Array(4) },
    },
    plain: { [`${stem}.weight`]: { dtype: "F32", shape: [rows, columns], data: bytesOf(plain) } },
  };
}

const MLX = { quantization: { group_size: GROUP, bits: 4 } };
const FP8 = { quantization_config: { quant_method: "fp8" } };

async function models(pack, settings) {
  const folder = tinyModel("llama/");
  const bytes = await readFile(`${folder}model.safetensors`);
  const headerBytes = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + headerBytes));
  const [packed, plain] = [{}, {}];
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape, data_offsets: [begin, end] } = entry; // prettier-ignore
    const data = Uint8Array.from(bytes.subarray(8 + headerBytes + begin, 8 + headerBytes + end));
    if (shape.length === 1) {
      packed[name] = plain[name] = { dtype, shape, data };
      continue;
    }
    const made = pack(name.replace(/\.weight$/, ""), shape, new Float32Array(data.buffer));
    Object.assign(packed, made.packed);
    Object.assign(plain, made.plain);
  }
  const config = JSON.parse(await readFile(`${folder}config.json`, "utf8"));
  const files = (tensors, more) => [
    new File([safetensorsBytes(tensors)], "model.safetensors"),
    new File([JSON.stringify({ ...config, ...more })], "config.json"),
  ];
  return { packed: files(packed, settings), plain: files(plain) };
}

async function logitsOf(source, options) {
  const model = await rw.model(source, { kv: { dtype: "f32" }, contextLength: 64, ...options });
  const session = model.session();
  await session.append(prompt);
  const result = { logits: session.logits(), info: model.info };
  session.dispose();
  model.dispose();
  return result;
}

test("a model with MLX's groups of four bits: the logits of its values, up to the rounding of inputs", async () => {
  const { packed, plain } = await models(quantized, MLX);
  const [ours, expected] = [await logitsOf(packed), await logitsOf(plain)];
  assert.deepEqual(Object.keys(ours.info.loadedFormats), ["q4_1"]);
  assert.equal(ours.info.parameters, expected.info.parameters);
  const spread = rootMeanSquare([expected.logits], [new Float32Array(expected.logits.length)]);
  const difference = rootMeanSquare([ours.logits], [expected.logits]);
  // rounding weights to q8_0 instead moves them by 0.03
  assert.ok(difference < 0.06 * spread, `${difference} of ${spread}`);
  // what is quantized already stays
  assert.deepEqual((await logitsOf(packed, { quantize: "q8_0" })).logits, ours.logits);
});

test("a model with 8-bit floats: the logits of its values, with a scale for each row", async () => {
  const { packed, plain } = await models(eightBits, FP8);
  const [ours, expected] = [await logitsOf(packed), await logitsOf(plain)];
  assert.deepEqual(Object.keys(ours.info.loadedFormats), ["bf16"]);
  assert.ok(largestDifference([ours.logits], [expected.logits]) < 1e-5);
  const quantizedTwice = await logitsOf(packed, { quantize: "q8_0" });
  assert.deepEqual(quantizedTwice.logits, (await logitsOf(plain, { quantize: "q8_0" })).logits);
});

test("an abort between the parts of a weight frees what has arrived", async () => {
  const { packed } = await models(quantized, MLX);
  const controller = new AbortController();
  const onProgress = ({ stage, loaded }) => stage === "weights" && loaded > 0 && controller.abort(new Error("enough"));
  await assert.rejects(rw.model(packed, { signal: controller.signal, onProgress }), /enough/);
  assert.ok((await logitsOf(packed)).logits.every(Number.isFinite));
});
