// The models with random weights that benchmarks read: the formats of their tensors, and that the package loads them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { GGMLQuantizationType, gguf } from "@huggingface/gguf";
import { load } from "ropewalk";
import { tensorsOf } from "../bench/random_model/layers.mjs";
import { SHAPES } from "../bench/random_model/shapes.mjs";
import { writeRandomModel } from "../bench/random_model/random_model.mjs";

const folder = mkdtempSync(join(tmpdir(), "ropewalk-random-model-"));
after(() => rmSync(folder, { recursive: true }));

const shape = {
  architecture: "qwen2",
  hidden: 256,
  feedForward: 512,
  layers: 16,
  heads: 4,
  kvHeads: 2,
  headDim: 64,
  vocabulary: 512,
  theta: 1e4,
  context: 64,
};

async function write(type, changes = {}) {
  const path = join(folder, `${type}.gguf`);
  assert.equal(await writeRandomModel(path, { ...shape, ...changes }, type), statSync(path).size);
  return path;
}

/** The format of each matrix in a file, by name. */
async function formatsOf(path) {
  const { tensorInfos } = await gguf(path, { allowLocalFile: true });
  const names = Object.fromEntries(Object.entries(GGMLQuantizationType).map(([name, number]) => [number, name]));
  const matrices = tensorInfos.filter(({ shape }) => shape.length === 2);
  return Object.fromEntries(matrices.map(({ name, dtype }) => [name.replace(".weight", ""), names[dtype]]));
}

test("shapes have as many parameters as the released models", () => {
  const named = Object.entries(SHAPES).filter(([, { parameters }]) => parameters !== undefined);
  assert.ok(named.length > 10);
  for (const [name, shape] of named) {
    const sizes = tensorsOf(shape).map(({ rows, columns, shape }) => shape?.reduce((a, b) => a * b) ?? rows * columns);
    const total = sizes.reduce((a, b) => a + b);
    assert.equal(total, shape.parameters, name);
  }
});

test("q4_k_m has the formats of llama-quantize", async () => {
  const formats = await formatsOf(await write("q4_k_m"));
  // of 16 layers: the first and last eighth, and each third one between
  const important = [0, 1, 4, 7, 10, 13, 14, 15];
  for (let layer = 0; layer < shape.layers; layer++) {
    const more = important.includes(layer) ? "Q6_K" : "Q4_K";
    for (const name of ["attn_q", "attn_k", "attn_output", "ffn_gate", "ffn_up"])
      assert.equal(formats[`blk.${layer}.${name}`], "Q4_K");
    for (const name of ["attn_v", "ffn_down"]) assert.equal(formats[`blk.${layer}.${name}`], more, `${name} ${layer}`);
  }
  assert.equal(formats.token_embd, "Q6_K");
});

test("rows that aren't whole blocks have formats with blocks of 32", async () => {
  const formats = await formatsOf(await write("q4_k_m", { hidden: 192, heads: 3, kvHeads: 1 }));
  assert.deepEqual(
    ["token_embd", "blk.0.attn_q", "blk.0.attn_v", "blk.2.attn_v", "blk.0.ffn_down", "blk.2.ffn_down"].map(
      (name) => formats[name],
    ),
    ["Q8_0", "Q5_0", "Q8_0", "Q5_0", "Q6_K", "Q4_K"],
  );
});

test("the fused matrix of a gated delta network counts as values", async () => {
  const hybrid = { architecture: "qwen35", attentionInterval: 4, rotated: 64, sections: [11, 11, 10, 0] };
  const sizes = { kernel: 4, keySize: 64, keyHeads: 2, scanHeads: 4, inner: 256 };
  const formats = await formatsOf(await write("q4_k_m", { ...hybrid, ...sizes, headDim: 256, heads: 2, kvHeads: 1 }));
  const [values, more] = [
    [0, 1, 2, 3, 4, 7].map((n) => formats[`blk.${n}.attn_${n === 3 || n === 7 ? "v" : "qkv"}`]),
    "Q6_K",
  ];
  assert.deepEqual(values, [more, more, "Q4_K", "Q4_K", more, more]);
  assert.equal(formats["blk.0.ssm_out"], "Q4_K");
});

test("the head of q4_0 has more bits", async () => {
  const formats = await formatsOf(await write("q4_0"));
  assert.deepEqual([formats.token_embd, formats["blk.0.ffn_down"]], ["Q6_K", "Q4_0"]);
});

test("the package runs them", async () => {
  const rw = await load({ build: "simd" });
  for (const type of ["q8_0", "q4_0", "q4_k_m"]) {
    const model = await rw.model(await write(type));
    const session = model.session();
    await session.append([1, 2, 3, 4]);
    const logits = session.logits();
    assert.ok(logits.every(Number.isFinite) && new Set(logits).size > 100, type);
    model.dispose();
  }
});
