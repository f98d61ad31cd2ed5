// Models whose weights are quantized while they are read. Which bits quantization gives is compared with ggml in tests/native/quantize and
// tests/cli/quantize.test.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { QUANTIZE_FORMATS, RopewalkError } from "ropewalk";
import { load as loadInWorker } from "ropewalk/worker";
import { ggufBytes, tensorBytes } from "../../files/gguf_writer.mjs";
import { wideModel } from "../../files/wide_model.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { anotherModule, build, isExact, rejects, rw } from "../helpers/runtime.mjs";

const golden = JSON.parse(await readFile(new URL("../../golden/quantized_files.json", import.meta.url), "utf8"));
const model = wideModel();
const wide = ggufBytes(model);

/** The model with its matrices quantized by rw.quantizeRows(), in the formats of llama-quantize. */
function quantizedFile(to) {
  const formats = golden.files.find((file) => file.source === "wide" && file.to === to).tensors;
  const tensors = model.tensors.map(({ name, type, shape, data }) => {
    const [format] = formats[name];
    const quantized = type === format ? data : rw.quantizeRows(data, { from: type, to: format, columns: shape.at(-1) });
    return { name, type: format, shape, data: quantized };
  });
  return ggufBytes({ ...model, tensors });
}

async function logitsOf(runtime, source, options) {
  const loaded = await runtime.model(source, { kv: { dtype: "f32" }, contextLength: 64, ...options });
  try {
    const session = await loaded.session();
    await session.append(golden.prompt);
    return { logits: await session.logits(), info: loaded.info, save: await session.save() };
  } finally {
    await loaded.dispose();
  }
}

for (const to of QUANTIZE_FORMATS) {
  test(`${to}: the logits of the quantized file, bit for bit, and near those of llama.cpp`, async () => {
    const ours = await logitsOf(rw, wide, { quantize: to });
    const file = await logitsOf(rw, quantizedFile(to));
    assert.deepEqual(ours.logits, file.logits);
    assert.deepEqual(ours.info.loadedFormats, file.info.loadedFormats);
    assert.deepEqual(ours.info.memory, file.info.memory);
    assert.equal(ours.info.formats.f16, tensorBytesOf("f16"));
    const theirs = golden.files.find((made) => made.source === "wide" && made.to === to).logits;
    const spread = Math.sqrt(theirs.reduce((sum, value) => sum + value * value, 0) / theirs.length);
    const difference = Math.max(...theirs.map((value, i) => Math.abs(value - ours.logits[i])));
    // both round the inputs of products to bytes, but in different blocks
    assert.ok(difference < 0.1 * spread, `${difference} of ${spread}`);
  });
}

const tensorBytesOf = (type) =>
  model.tensors.filter((tensor) => tensor.type === type).reduce((sum, tensor) => sum + tensorBytes(tensor), 0);

test("chunks of any length and every number of threads give the same bits", async () => {
  const expected = await logitsOf(rw, wide, { quantize: "q4_k" });
  const blob = new Blob([wide]); // read in chunks of the platform
  assert.deepEqual((await logitsOf(rw, blob, { quantize: "q4_k" })).logits, expected.logits);
  const threaded = await anotherModule({ threads: 3 });
  try {
    assert.deepEqual((await logitsOf(threaded, wide, { quantize: "q4_k" })).logits, expected.logits);
  } finally {
    await threaded.useThreads(1);
  }
});

test("in a Worker, with the same logits", { skip: !isExact }, async () => {
  const worker = await loadInWorker({ build });
  after(() => worker.dispose());
  const { logits } = await logitsOf(worker, wide, { quantize: "q8_0" });
  assert.deepEqual(logits, (await logitsOf(rw, wide, { quantize: "q8_0" })).logits);
  await rejects(worker.model(wide, { quantize: "q8" }), "INVALID_ARGUMENT", "quantize");
  const { loadedFormats } = await worker.modelInfo(wide, { quantize: "q8_0" });
  assert.deepEqual(Object.keys(loadedFormats), ["q8_0"]);
});

test("safetensors in f32, with rows that aren't whole blocks of 256 or of 32", async () => {
  for (const name of ["llama", "qwen3_moe", "gpt_neox", "phi3"]) {
    for (const to of QUANTIZE_FORMATS) {
      const { logits, info } = await logitsOf(rw, tinyModel(`${name}/`), { quantize: to });
      assert.ok(logits.every(Number.isFinite), `${name} ${to}`);
      const formats = Object.keys(info.loadedFormats);
      assert.ok(!formats.includes("q4_k") && !formats.includes("q6_k"), `${name} ${to}: ${formats}`);
      if (name === "qwen3_moe") assert.ok(formats.includes("f32"), "routers stay");
    }
  }
});

test("weights that are quantized in the file stay as they are", async () => {
  const path = tinyModel("llama_q4_k/model.gguf");
  const [kept, original] = [await rw.modelInfo(path, { quantize: "q8_0" }), await rw.modelInfo(path)];
  assert.deepEqual(kept.loadedFormats, original.loadedFormats);
});

test("a session of a quantized model isn't restored into another one", async () => {
  const { save } = await logitsOf(rw, wide, { quantize: "q8_0" });
  const other = await rw.model(wide, { kv: { dtype: "f32" }, contextLength: 64 });
  after(() => other.dispose());
  const session = other.session();
  assert.throws(
    () => session.restore(save),
    /another model, or with another quantization of it; load the model as it was/,
  );
});

test("a wrong name is an error with the nearest one", async () => {
  await assert.rejects(rw.model(wide, { quantize: "q4_k_m" }), {
    code: "INVALID_ARGUMENT",
    message: 'quantize: must be one of q8_0, q4_0, q4_k (got "q4_k_m"); did you mean q4_k?',
  });
  await rejects(rw.modelInfo(wide, { quantize: 8 }), "INVALID_ARGUMENT", "quantize");
  await rejects(rw.model(wide, { quantise: "q8_0" }), "UNKNOWN_KEY", "quantise");
});

test("infinite weights are an error that names the tensor, and all memory is free again", async () => {
  const damaged = model.tensors.map((tensor) => {
    if (tensor.name !== "blk.0.ffn_up.weight") return tensor;
    const data = Uint8Array.from(tensor.data);
    data.set([0x00, 0x7c], 2 * 256 * 300);
    return { ...tensor, data };
  });
  await rejects(
    rw.model(ggufBytes({ ...model, tensors: damaged }), { quantize: "q8_0" }),
    "INVALID_FILE",
    "model: blk.0.ffn_up.weight",
  );
});

test("an abort ends loading", async () => {
  const controller = new AbortController();
  const loading = rw.model(wide, {
    quantize: "q4_k",
    signal: controller.signal,
    onProgress: ({ stage, loaded }) => stage === "weights" && loaded > 0 && controller.abort(new Error("enough")),
  });
  await assert.rejects(loading, /enough/);
});

test("quantizeRows() checks its arguments", () => {
  const rows = new Uint8Array(2 * 64);
  assert.equal(rw.quantizeRows(rows, { from: "f16", to: "q8_0", columns: 32 }).length, 68);
  const wrong = [
    [new Uint8Array(1088), { from: "q8_0", to: "q8_0", columns: 32 }, "format"],
    [new Uint8Array(512), { from: "f16", to: "q3_k", columns: 256 }, "format"],
    [rows, { from: "f8", to: "q8_0", columns: 32 }, "from"],
    [rows, { from: "f16", to: "q8", columns: 32 }, "to"],
    [rows, { from: "f16", to: "q8_0", columns: 33 }, "columns"],
    [rows, { from: "f16", to: "q4_k", columns: 64 }, "columns"],
    [rows, { from: "f16", to: "q8_0", columns: 96 }, "rows"],
    [new Float32Array(32), { from: "f32", to: "q8_0", columns: 32 }, "rows"],
    [rows, { from: "f16", to: "q8_0", columns: 32, rows: 2 }, "rows"],
  ];
  for (const [given, options, field] of wrong)
    assert.throws(
      () => rw.quantizeRows(given, options),
      (error) => error instanceof RopewalkError && error.field === field,
    );
});
