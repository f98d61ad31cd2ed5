// Uses Ropewalk's tables in another engine: rope.table() returns the cos_cache and sin_cache of ONNX's RotaryEmbedding operator, which then needs no
// knowledge of the model's scaling. Here onnxruntime-web runs it on the CPU with bit-equal results; its WebGPU backend takes the same inputs.
//
//   node examples/onnxruntime.mjs
import { readFile } from "node:fs/promises";
import * as ort from "onnxruntime-web";
import { load, ropeConfig } from "ropewalk";
import { oneNodeModel } from "./onnx_model.mjs";

// The two operators of this name, with their inputs in order.
const OPERATORS = {
  "ONNX opset 23": { domain: "", opset: 23, inputs: ["X", "cos_cache", "sin_cache", "position_ids"] },
  "com.microsoft": { domain: "com.microsoft", opset: 1, inputs: ["X", "position_ids", "cos_cache", "sin_cache"] },
};
const TYPES = {
  X: ["float", "batch", "heads", "tokens", "head_dim"],
  cos_cache: ["float", "rows", "pairs"],
  sin_cache: ["float", "rows", "pairs"],
  position_ids: ["int64", "batch", "tokens"],
};

async function rotaryEmbedding({ domain, opset, inputs }, interleaved, tensors) {
  const pick = (from) => Object.fromEntries(inputs.map((name) => [name, from[name]]));
  const graph = {
    op: "RotaryEmbedding",
    domain,
    opset,
    inputs: pick(TYPES),
    outputs: { Y: TYPES.X },
    attributes: { interleaved: Number(interleaved) },
  };
  const session = await ort.InferenceSession.create(oneNodeModel(graph));
  const { Y } = await session.run(pick(tensors));
  await session.release();
  return Y.data;
}

const model = JSON.parse(await readFile(new URL("configs/qwen2.5-7b.json", import.meta.url), "utf8"));
const rw = await load({ build: "simd" }); // the build with the same bits in every engine
const [heads, tokens] = [4, 64];
const positions = Int32Array.from({ length: tokens }, (_, t) => 100000 + t);

for (const pairing of ["half", "interleaved"]) {
  const rope = rw.rope(ropeConfig(model, { overrides: { pairing, rope_scaling: { rope_type: "yarn", factor: 4 } } }));
  const { head_dim } = rope.plan();
  const shape = [1, heads, tokens, head_dim];
  const x = Float32Array.from({ length: heads * tokens * head_dim }, (_, i) => Math.cos(i * i));
  const ours = rope.rotate(x.slice(), { layout: "bhtd", shape, positions });

  const { cos, sin, shape: tableShape } = rope.table(positions); // [positions, rotary_dim/2]
  const tensors = {
    X: new ort.Tensor("float32", x, shape),
    cos_cache: new ort.Tensor("float32", cos, tableShape),
    sin_cache: new ort.Tensor("float32", sin, tableShape),
    position_ids: new ort.Tensor(
      "int64",
      BigInt64Array.from({ length: tokens }, (_, row) => BigInt(row)),
      [1, tokens],
    ), // row numbers of the table
  };
  for (const [name, operator] of Object.entries(OPERATORS)) {
    const theirs = await rotaryEmbedding(operator, pairing === "interleaved", tensors);
    const difference = theirs.reduce((largest, value, i) => Math.max(largest, Math.abs(value - ours[i])), 0);
    console.log(`${name}, ${pairing} pairing, positions from ${positions[0]}: largest difference ${difference}`);
  }
  rope.dispose();
}
