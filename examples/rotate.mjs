// Rotates queries and keys of a real model's shape, and shows what a rotation preserves.
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

// Queries and keys as projections produce them, [tokens, heads, head_dim]; keys have fewer heads.
const tokens = 512;
const vectors = (count, seed) =>
  Float32Array.from({ length: tokens * count * head_dim }, (_, i) => Math.cos(i * i + seed));
const q = vectors(heads, 1);
const k = vectors(keyHeads, 2);
console.log(`q is [${tokens}, ${heads}, ${head_dim}], k is [${tokens}, ${keyHeads}, ${head_dim}]\n`);

// Token t is at position start + t. For models whose scaling depends on the length, seqLen gives all calls the same plan.
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
/** The rotated elements of a token's first head. */
const rotaryPart = (x, token) => x.subarray((token * x.length) / tokens + rotary_offset).subarray(0, rotary_dim);
const norm = (x) => Math.sqrt(dot(x, x));

const rotatedQ = rotated(q, 4096);
const ratio = norm(rotaryPart(rotatedQ, 100)) / norm(rotaryPart(q, 100));
console.log(
  `A rotation preserves lengths: |Rq| / |q| = ${ratio.toFixed(5)}, the attention factor ${attention_factor.toFixed(5)}.`,
);

console.log("A score depends only on the distance. Query 511 and key 11 of a sequence that starts");
for (const start of [0, 4096, 131072, 16777216]) {
  const score = dot(rotaryPart(rotated(q, start), 511), rotaryPart(rotated(k, start), 11));
  console.log(`  at ${String(start).padStart(8)}: q · k = ${score.toFixed(4)}`);
}

console.log(
  `The inverse restores q: largest difference ${difference(rotated(rotatedQ, 4096, true), q).toExponential(1)}.`,
);

const tensor = rw.tensor([tokens, heads, head_dim]).set(q); // in wasm memory,
rope.rotate(tensor, { layout: "thd", positions: 4096, seqLen }); // so this copies nothing
console.log(`A Tensor gives the same bits without copies: largest difference ${difference(tensor.data, rotatedQ)}.`);
tensor.dispose();
rope.dispose();
