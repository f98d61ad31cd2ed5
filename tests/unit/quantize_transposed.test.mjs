// Weights that a file stores as [columns][rows], as the experts of gpt-oss and Llama 4, quantized while they arrive in chunks: the bits of
// rw.quantizeRows() on their transposed rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load, QUANTIZE_FORMATS } from "../../dist/index.node.js";
import { tensorBytes, WEIGHT_FORMATS } from "../../build/package/core/quantize/weight_formats.js";
import { loadWeights } from "../../build/package/runtime/model/weights/load_weights.js";
import { quantizeWeights } from "../../build/package/runtime/model/weights/quantize.js";
import { LAYER_MATRICES } from "../../build/package/runtime/model/architectures/parts/tensor_names.js";
import { assembleWeight } from "../../build/package/runtime/model/weights/weight_mapping.js";
import { tinyModel } from "../package/helpers/models.mjs";

const rw = await load({ build: "simd", threads: 1 });
const ELEMENT_BYTES = { f32: 4, f16: 2, bf16: 2 };

/** Bytes of ordinary numbers in any of the formats: the exponent's high bits are fixed. */
function numbers(count, format) {
  const bytes = new Uint8Array(count * ELEMENT_BYTES[format]);
  let state = 7;
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const isHigh = (i + 1) % ELEMENT_BYTES[format] === 0;
    bytes[i] = isHigh ? ((state >>> 24) & 0x80) | (format === "f16" ? 0x2c : 0x3d) : state >>> 24;
  }
  return bytes;
}

/** A heap of which loadWeights() uses only these functions. Quantizes with the runtime under test. */
function heapOf(bytes) {
  const memory = new Uint8Array(bytes);
  let end = 64; // 0 stands for no memory
  let largest = 0;
  const reserve = (size) => {
    const address = end;
    end += Math.ceil(size / 64) * 64;
    assert.ok(end <= bytes, "the heap of the test is large enough");
    return address;
  };
  const heap = {
    buffer: memory.buffer,
    scratch: 8,
    bytes: (address, length) => memory.subarray(address, address + length),
    allocate: (size) => ((largest = Math.max(largest, size)), reserve(size)),
    free: () => undefined,
    check: (status) => assert.equal(status, 0),
    module: {
      model_reserve(...values) {
        const [, , , expert, , , , size, result] = values;
        new Uint32Array(memory.buffer, result, 1)[0] = reserved[expert] = reserve(size);
        return 0;
      },
      model_pack: () => 0,
      model_finish: () => 0,
      quantize_rows(from, source, rows, columns, to, target) {
        const formats = { from: WEIGHT_FORMATS[from], to: WEIGHT_FORMATS[to], columns };
        memory.set(
          rw.quantizeRows(memory.slice(source, source + tensorBytes(formats.from, [rows, columns])), formats),
          target,
        );
        return 0;
      },
    },
  };
  const reserved = [];
  return { heap, reserved, largest: () => largest };
}

/** Experts of one tensor [experts][columns][2 · rows], gate and up in alternating columns or one after the other. */
async function loadExperts({ rows, columns, format, to, isAlternating, chunk }) {
  const [experts, element] = [2, ELEMENT_BYTES[format]];
  const shape = [experts, columns, 2 * rows];
  const data = numbers(experts * columns * 2 * rows, format);
  const tensor = { name: "gate_up", shape, format, bytes: data.length };
  const mappings = [0, 1, 2, 3].map((index) => {
    const role = index % 2;
    const transposed = isAlternating
      ? { first: role, step: 2, count: rows }
      : { first: role * rows, step: 1, count: rows };
    const part = { tensor, first: Math.floor(index / 2) * columns, count: columns, transposed };
    const slot = LAYER_MATRICES.indexOf("up");
    const place = { layer: 0, slot, expert: index, isVector: false, rows, columns, added: 0 };
    return assembleWeight(place, [part], assert.fail);
  });
  const files = {
    tensors: new Map([[tensor.name, tensor]]),
    async read([only], receive) {
      for (let at = 0; at < data.length; at += chunk) receive(only, at, data.subarray(at, at + chunk));
    },
  };
  const { heap, reserved, largest } = heapOf(1 << 23);
  const quantized = quantizeWeights(mappings, to, { experts });
  await loadWeights(heap, 0, files, { file: "test" }, quantized, {});
  quantized.forEach(({ loaded }, index) => {
    const [expert, role] = [Math.floor(index / 2), index % 2];
    const whole = new Uint8Array(rows * columns * element);
    for (let row = 0; row < rows; row++) {
      const column = isAlternating ? 2 * row + role : role * rows + row;
      for (let i = 0; i < columns; i++) {
        const from = ((expert * columns + i) * 2 * rows + column) * element;
        whole.set(data.subarray(from, from + element), (row * columns + i) * element);
      }
    }
    const expected = rw.quantizeRows(whole, { from: format, to: loaded.format, columns });
    const actual = heap.bytes(reserved[index], loaded.bytes);
    assert.ok(Buffer.from(expected).equals(Buffer.from(actual)), `${JSON.stringify({ index, format, to, chunk })}`);
  });
  return { formats: quantized.map(({ loaded }) => loaded.format), largest: largest() };
}

test("every format, in chunks that end anywhere, has the bits of the transposed rows", async () => {
  for (const format of Object.keys(ELEMENT_BYTES)) {
    for (const to of QUANTIZE_FORMATS) {
      for (const [columns, chunk] of [
        [512, 1 << 20],
        [512, 1009],
        [320, 4099],
        [40, 77],
      ]) {
        for (const isAlternating of [true, false]) {
          const { formats } = await loadExperts({ rows: 48, columns, format, to, isAlternating, chunk });
          const whole = columns % 256 === 0 || to !== "q4_k" ? to : "q5_0";
          assert.deepEqual(new Set(formats), new Set([columns % 32 === 0 ? whole : "f16"]));
        }
      }
    }
  }
});

test("a large matrix is quantized through a megabyte of wasm memory", async () => {
  const large = { rows: 2500, columns: 300 - (300 % 32), format: "f32", to: "q8_0", isAlternating: true, chunk: 65536 };
  assert.equal((await loadExperts({ ...large })).largest, 1 << 20);
});

test("models in safetensors: no expert or key stays in its format, and logits are finite", async () => {
  for (const name of ["gpt_oss", "llama4", "deepseek_v2"]) {
    const model = await rw.model(tinyModel(`${name}/`), { quantize: "q8_0", contextLength: 64 });
    const session = model.session();
    await session.append([3, 7, 1]);
    assert.ok(session.logits().every(Number.isFinite), name);
    const { f32 = 0, ...others } = model.info.loadedFormats;
    const routers = f32 / 4;
    const { hiddenSize, layers } = model.info;
    assert.ok(
      routers <= layers.length * hiddenSize * 8,
      `${name}: ${f32} bytes stay in f32 besides ${Object.keys(others)}`,
    );
    model.dispose();
  }
});
