// Published faults of other readers of GGUF, by name: the headers that caused them are refused here, and a good model works afterwards.
import assert from "node:assert/strict";
import { truncateSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { load } from "../../dist/index.node.js";
import { ggufBytes, ggufHeader, typed } from "../files/gguf_writer.mjs";
import { goodModelOf, partsOf } from "../files/model_parts.mjs";
import { expectError, fileOf } from "../files/reading.mjs";

const rw = await load({ build: "simd" });
const expectGoodModel = await goodModelOf(rw);
const { keys, tensors } = await partsOf("llama", "gguf");
after(() => expectGoodModel());

const embedding = tensors.findIndex(({ name }) => name === "token_embd.weight");

/** The tiny llama with another header: dimensions are innermost first, as in the file. Both entries refuse it. */
async function expectRefused(changes, part, message) {
  const { metadata = keys, tensors: changed = tensors, ...counts } = changes;
  const bytes = new Uint8Array(
    Buffer.concat([ggufHeader({ metadata, tensors: changed, ...counts }), new Uint8Array(1 << 17)]),
  );
  for (const open of [(source) => rw.modelInfo(source), (source) => rw.model(source)]) {
    await expectError(open(fileOf("model.gguf", bytes)), "INVALID_FILE", `model.gguf: ${part}`, message);
  }
  await expectGoodModel(`after ${part}`);
}

const withEmbedding = (changes) => ({ tensors: tensors.with(embedding, { ...tensors[embedding], ...changes }) });

// llama.cpp before b8146: the sum of the sizes of all tensors, or that sum and the memory of their descriptions, wrapped around 2^64, so that
// too little memory was allocated for the data (GHSA-3p4r-fq3f-q74v, which went around the check of CVE-2025-53630).
test("CVE-2026-27940: sizes of tensors whose sum wraps", async () => {
  const huge = (name, length) => ({ ...tensors[embedding], name, dimensions: [length] });
  const few = [2 ** 50, 2 ** 50, 2 ** 50].map((length, i) => huge(`x${i}`, length));
  await expectRefused({ tensors: [...tensors, ...few] }, "x0", /truncated/);
  // 16 tensors of 2^60 bytes are 2^64 bytes
  const sixteen = Array.from({ length: 16 }, (_, i) => huge(`x${i}`, 2n ** 58n));
  await expectRefused({ tensors: [...sixteen, ...tensors] }, "x0", /more than any file holds/);
  const exact = Array.from({ length: 5 }, (_, i) => ({ ...huge(`x${i}`, 2 ** 51 - 1), offset: 2n ** 53n - 32n }));
  await expectRefused({ tensors: [...tensors, ...exact] }, "x0", /beyond the end of any file|truncated|more than any/);
  await expectRefused({ tensorCount: 2n ** 64n - 1n }, "tensor count", /more than any file holds/);
  await expectRefused({ tensorCount: 2n ** 58n / 3n }, "tensor count", /more than any file holds|needs \d+ bytes/);
});

// llama.cpp before b7824: the number of elements was checked, but not their bytes, which wrapped in ggml_nbytes (GHSA-96jg-mvhq-q7q7).
test("CVE-2026-33298: bytes of a tensor that wrap", async () => {
  const part = "token_embd.weight";
  await expectRefused(withEmbedding({ dimensions: [1152, 2 ** 42 + 1] }), part, /truncated|too large/);
  await expectRefused(withEmbedding({ dimensions: [2n ** 62n] }), part, /more than any file holds/);
  await expectRefused(withEmbedding({ dimensions: [2 ** 31, 2 ** 31] }), part, /too large/);
  await expectRefused(withEmbedding({ dimensions: [32, 2 ** 32 + 64] }), part, /truncated/); // 64 rows in 32 bits
  await expectRefused(withEmbedding({ dimensions: [2 ** 20, 2 ** 20, 2 ** 20, 2 ** 4] }), part, /too large/);
  await expectRefused(withEmbedding({ dimensions: [0, 2 ** 52, 2 ** 52, 2 ** 52] }), part, /too large/);
  await expectRefused(withEmbedding({ type: "q8_0", dimensions: [2 ** 32, 2 ** 30] }), part, /too large/);
  await expectRefused(
    { metadata: { ...keys, "general.alignment": typed("u32", 2 ** 31) } },
    "blk.0.attn_norm.weight",
    /alignment/,
  );
});

// Ollama before 0.17.1: shapes and offsets that are not in the file were read from the memory behind it ("Bleeding Llama").
test("CVE-2026-7482: tensors that the file does not have", async () => {
  const part = "token_embd.weight";
  await expectRefused(withEmbedding({ dimensions: [32, 2 ** 24] }), part, /truncated/);
  await expectRefused(withEmbedding({ offset: 2 ** 30 }), part, /truncated/);
  await expectRefused(withEmbedding({ offset: 2n ** 64n - 32n }), part, /more than any file holds/);
  await expectRefused(withEmbedding({ type: "f16", dimensions: [32, 65536] }), part, /truncated/);
  const bytes = ggufBytes({ metadata: keys, tensors });
  for (const missing of [1, 31, 4096, bytes.length - 100]) {
    const short = bytes.slice(0, bytes.length - Math.max(missing, 33));
    await assert.rejects(rw.model(fileOf("model.gguf", short)), { name: "RopewalkError", code: "INVALID_FILE" });
  }
  await expectGoodModel();
});

test("CVE-2026-7482: a file that becomes shorter after its header was read", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "model.gguf");
  const bytes = ggufBytes({ metadata: keys, tensors });
  await writeFile(path, bytes);
  const onProgress = ({ stage, loaded }) => {
    if (stage === "weights" && loaded === 0) truncateSync(path, bytes.length - 20_000);
  };
  await assert.rejects(rw.model(path, { onProgress }), { name: "RopewalkError", code: "INVALID_FILE" });
  await expectGoodModel();
});
