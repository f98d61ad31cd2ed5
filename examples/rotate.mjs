// Rotates queries and keys as a real model does, and shows what a rotation keeps.
//
//   node examples/rotate.mjs [config.json] [layer_type]
import { readFile } from "node:fs/promises";
import { load, ropeConfig } from "ropewalk";

const [file = new URL("configs/llama-3.1-8b.json", import.meta.url), layer_type] = process.argv.slice(2);
const model = JSON.parse(await readFile(file, "utf8"));
const { num_attention_heads: heads = 32, num_key_value_heads: keyHeads = heads } = model;

const rw = await load();
const rope = rw.rope(ropeConfig(model, { layer_type }));
const { head_dim, rotary_dim, rotary_offset, pairing, attention_factor } = rope.plan();
console.log(
  `${model.model_type}: ${rotary_dim / 2} pairs in heads of ${head_dim}, ${pairing} pairing; ${rw.build} build`,
);

// Queries and keys as projections leave them: [tokens, heads, head_dim], queries with more heads than keys.
const tokens = 512;
const madeUp = (count, seed) =>
  Float32Array.from({ length: tokens * count * head_dim }, (_, i) => Math.cos(i * i + seed));
const q = madeUp(heads, 1);
const k = madeUp(keyHeads, 2);
console.log(`q is [${tokens}, ${heads}, ${head_dim}], k is [${tokens}, ${keyHeads}, ${head_dim}]\n`);

// Token t of the sequence stands at `start` + t. Some models plan by the length: named once, all calls have one plan.
const seqLen = tokens;
const rotated = (x, start, inverse = false) =>
  rope.rotate(x.slice(), {
    layout: "thd",
    shape: [tokens, x.length / (tokens * head_dim), head_dim],
    positions: start,
    inverse,
    seqLen,
  });

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const difference = (a, b) => a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i])), 0);
/** What turns of a token's first head. */
const turning = (x, token) => x.subarray((token * x.length) / tokens + rotary_offset).subarray(0, rotary_dim);
const norm = (x) => Math.sqrt(dot(x, x));

const turned = rotated(q, 4096);
const ratio = norm(turning(turned, 100)) / norm(turning(q, 100));
console.log(
  `A rotation keeps lengths: |Rq| / |q| = ${ratio.toFixed(5)}, the attention factor ${attention_factor.toFixed(5)}.`,
);

console.log("A score depends only on the distance. Query 511 and key 11 of a sequence that begins");
for (const start of [0, 4096, 131072, 16777216]) {
  const score = dot(turning(rotated(q, start), 511), turning(rotated(k, start), 11));
  console.log(`  at ${String(start).padStart(8)}: q · k = ${score.toFixed(4)}`);
}

console.log(
  `The inverse brings q back: largest difference ${difference(rotated(turned, 4096, true), q).toExponential(1)}.`,
);

const tensor = rw.tensor([tokens, heads, head_dim]).set(q); // in wasm memory, where the kernels work:
rope.rotate(tensor, { layout: "thd", positions: 4096, seqLen }); // nothing is copied
console.log(`A Tensor gives the same bits without copies: largest difference ${difference(tensor.data, turned)}.`);
tensor.dispose();
rope.dispose();
