// toNpy() and toSafetensors(): against the files of NumPy and of the safetensors package.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { toNpy, toSafetensors } from "ropewalk";
import { raises } from "../helpers/runtime.mjs";

const golden = JSON.parse(readFileSync(new URL("../../golden/array_files.json", import.meta.url), "utf8"));
const [whole] = golden.splice(-1);
const arrays = Object.fromEntries(
  golden.map(({ name, values, shape }) => [name, { data: globalThis[name].from(values), shape }]),
);
const decoded = (text) => new Uint8Array(Buffer.from(text, "base64"));

for (const { name, npy } of golden)
  test(`${name}: the bytes of a .npy file are those of NumPy`, () => {
    assert.deepEqual(toNpy(arrays[name]), decoded(npy));
  });

/** The tensors and metadata of a .safetensors file, by the definition of the format. */
function parts(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const { __metadata__: metadata, ...tensors } = header;
  for (const tensor of Object.values(tensors)) {
    const [begin, end] = tensor.data_offsets;
    tensor.data_offsets = Array.from(bytes.subarray(8 + length + begin, 8 + length + end));
  }
  return { metadata, tensors };
}

test("a .safetensors file has the tensors and metadata of the safetensors package's file", () => {
  assert.deepEqual(parts(toSafetensors(arrays, { text: "a ball" })), parts(decoded(whole.bytes)));
});

test("arrays whose shapes don't fit, and other values, are refused", () => {
  const data = new Float32Array(6);
  raises(() => toNpy({ data, shape: [2, 2] }), "INVALID_SHAPE", "array.shape");
  raises(() => toNpy({ data: [1], shape: [1] }), "INVALID_ARGUMENT", "array.data");
  raises(() => toSafetensors({ a: { data, shape: [-6, -1] } }), "INVALID_SHAPE", "tensors.a.shape");
  raises(() => toSafetensors({ __metadata__: { data, shape: [6] } }), "INVALID_ARGUMENT", "tensors.__metadata__");
  raises(() => toSafetensors({ a: { data, shape: [6] } }, { steps: 3 }), "INVALID_ARGUMENT", "metadata.steps");
});
