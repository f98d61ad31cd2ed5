// Model files with inconsistent contents: a typed error that names the file, quickly. No memory leaks, and a valid file still opens after it.
import assert from "node:assert/strict";
import test from "node:test";
import { load } from "../../dist/index.node.js";
import { ggufHeader } from "../files/gguf_writer.mjs";
import { partsOf, readTiny as read, tinyNames, written } from "../files/model_parts.mjs";
import { expectError, fileOf } from "../files/reading.mjs";

const rw = await load({ build: "simd" });

const MAX_MILLISECONDS = 20_000; // to reject a file, ten thousand times the typical time on an idle machine
const CODES = [
  "INVALID_FILE",
  "UNSUPPORTED_MODEL",
  "INVALID_CONFIG",
  "UNKNOWN_KEY",
  "UNSUPPORTED_ROPE_TYPE",
  "UNKNOWN_FAMILY",
  "OUT_OF_MEMORY",
];
/** Tensors that may be missing or have any length: the head, RoPE factors, GGUF's embedding. */
const MAY_DIFFER = /^(rope_|output\.|lm_head|embed_out|token_embd)/;
// Without values, a layer of a Gemma 4 GGUF file takes its keys as values, as in llama.cpp.
const MAY_MISS = { gemma4: /^blk\.\d+\.attn_v/, gemma4_dense: /^blk\.\d+\.attn_v/ };

/** Opens a model. Returns undefined, or the code of its error, which must be a RopewalkError that names a file or key. */
async function outcomeOf(source, name) {
  const start = performance.now();
  let code;
  try {
    (await rw.model(source)).dispose();
  } catch (error) {
    assert.equal(error.name, "RopewalkError", `${name}: ${error.stack}`);
    assert.ok(CODES.includes(error.code), `${name}: ${error.code}`);
    assert.ok(error.field !== "", `${name}: ${error.message}`);
    ({ code } = error);
  }
  const time = performance.now() - start;
  assert.ok(time < MAX_MILLISECONDS, `${name}: ${time} ms`);
  return code;
}

async function opensStill() {
  const model = await rw.model(fileOf("model.gguf", read("llama/model.gguf")));
  const session = model.session();
  await session.append([1, 5, 9]);
  assert.ok(session.logits().every(Number.isFinite));
  model.dispose();
}

const bothFormats = tinyNames("gguf").filter((name) => tinyNames("safetensors").includes(name));
const values = [
  0,
  -1,
  1,
  3,
  1.5,
  1e-30,
  1e308,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 53,
  "x",
  "",
  true,
  [],
  {},
  [0],
  [1, 2],
  { rope_type: "yarn" },
];
const settable = (value, kind) =>
  kind !== "gguf" || (!(Number.isInteger(value) && Math.abs(value) > 2 ** 32 - 1) && value?.constructor !== Object);

for (const kind of ["safetensors", "gguf"]) {
  test(`${kind}: every config key with valid and invalid values`, async (t) => {
    const tally = {};
    for (const name of ["llama", "gemma3", "phi3", "qwen3_moe", "stablelm"].filter((name) =>
      bothFormats.includes(name),
    )) {
      const parts = await partsOf(name, kind);
      const keys = Object.keys(parts.keys).filter((key) => !/^(tokenizer\.|transformers_version|_name)/.test(key));
      for (const key of keys) {
        for (const value of [undefined, ...values.filter((value) => settable(value, kind))]) {
          const { [key]: _, ...others } = parts.keys;
          const changed = { ...parts, keys: value === undefined ? others : { ...others, [key]: value } };
          const code =
            (await outcomeOf(written(changed, kind), `${name}: ${key} = ${JSON.stringify(value)}`)) ?? "opens";
          tally[code] = (tally[code] ?? 0) + 1;
        }
      }
    }
    t.diagnostic(JSON.stringify(tally));
    assert.ok(tally.INVALID_FILE > 100 && tally.UNSUPPORTED_MODEL > 10 && tally.opens > 100, "every outcome occurs");
    await opensStill();
  });

  test(`${kind}: each tensor missing, with another shape, or one too many`, async () => {
    const file = `model.${kind}`;
    for (const name of bothFormats) {
      const parts = await partsOf(name, kind);
      for (const [i, tensor] of parts.tensors.entries()) {
        const withOther = (...others) =>
          rw.model(written({ ...parts, tensors: parts.tensors.toSpliced(i, 1, ...others) }, kind));
        if (/visual/.test(tensor.name)) continue; // not read, whatever there is
        if (i % 5 !== 0 && name !== "llama") continue; // the other tensors behave the same in all architectures
        const added = { ...tensor, name: tensor.name.replace(/\.?(weight|bias|)$/, "_extra.$1") };
        await expectError(
          withOther(tensor, added),
          "UNSUPPORTED_MODEL",
          `${file}: ${added.name}`,
          /this package doesn't support/,
        );
        if (!tensor.name.endsWith(".weight") || MAY_DIFFER.test(tensor.name)) continue;
        const rows = tensor.shape[0];
        const longer = {
          ...tensor,
          shape: tensor.shape.with(0, rows + 1),
          data: new Uint8Array((tensor.data.length / rows) * (rows + 1)),
        };
        for (const [change, others] of [
          ["longer", [longer]],
          ["missing", []],
        ]) {
          if (change === "missing" && MAY_MISS[name]?.test(tensor.name)) continue;
          const source = written({ ...parts, tensors: parts.tensors.toSpliced(i, 1, ...others) }, kind);
          assert.notEqual(await outcomeOf(source, name), undefined, `${name}: ${tensor.name} is ${change}`);
        }
      }
    }
    await opensStill();
  });
}

test("errors name the tensor that is missing or has the wrong shape", async () => {
  const { keys, tensors } = await partsOf("llama", "gguf");
  const [down, norm] = ["blk.1.ffn_down.weight", "output_norm.weight"];
  const without = (name) => written({ keys, tensors: tensors.filter((tensor) => tensor.name !== name) }, "gguf");
  for (const name of [down, norm])
    await expectError(rw.model(without(name)), "INVALID_FILE", `model.gguf: ${name}`, /is missing/);
  const header = written({ keys, tensors: [] }, "gguf");
  await expectError(rw.model(header), "INVALID_FILE", "model.gguf: tensors", /only a header/);
  const transposed = tensors.map((tensor) =>
    tensor.name === down ? { ...tensor, shape: tensor.shape.toReversed() } : tensor,
  );
  await expectError(
    rw.model(written({ keys, tensors: transposed }, "gguf")),
    "INVALID_FILE",
    `model.gguf: ${down}`,
    /shape must be \d+ × \d+ by the config \(got \d+ × \d+\)/,
  );
  await expectError(
    rw.model(written({ keys: { ...keys, "general.architecture": "rwkv6" }, tensors }, "gguf")),
    "UNSUPPORTED_MODEL",
    "model.gguf: general.architecture",
    /rwkv6 is not supported: another form of RWKV than RWKV-7 \(docs\/architectures\.md lists those that are\)$/,
  );
});

test("no memory leaks if a download aborts or breaks while weights arrive", async () => {
  const bytes = read("llama/model.gguf");
  const expectNoLeak = async (fail) => {
    await fail();
    const before = rw.memoryBytes;
    for (let i = 0; i < 300; i++) await fail(); // 80 KB each, so that a leak in one of ten would be detected
    assert.equal(rw.memoryBytes, before);
  };
  class Breaking extends File {
    slice(start, end) {
      if (end - start < 20000) return super.slice(start, end);
      let sent = 0;
      const pull = (controller) => {
        if (sent++ === 2) return controller.error(new DOMException("gone", "NotReadableError"));
        controller.enqueue(new Uint8Array(bytes.subarray(start + sent * 10000 - 10000, start + sent * 10000)));
      };
      return { stream: () => new ReadableStream({ pull }) };
    }
  }
  await expectNoLeak(() =>
    assert.rejects(rw.model(new Breaking([bytes], "model.gguf")), { code: "INVALID_FILE", field: "model.gguf: file" }),
  );
  for (const isEnough of [({ loaded }) => loaded > 0, ({ loaded, total }) => loaded === total]) {
    await expectNoLeak(async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const onProgress = (progress) => progress.stage === "weights" && isEnough(progress) && controller.abort(reason);
      await assert.rejects(rw.model(fileOf("model.gguf", bytes), { signal: controller.signal, onProgress }), reason);
    });
  }
  await opensStill();
});

test("a model that is too large is rejected before weights are read or memory is allocated", async () => {
  const llama = fileOf("model.gguf", read("llama/model.gguf"));
  const before = rw.memoryBytes;
  const long = rw.model(llama, { contextLength: 2 ** 24, kv: { dtype: "f32" } });
  await expectError(
    long,
    "OUT_OF_MEMORY",
    "model.gguf",
    /needs \d+ MB, more than the 4096 MB .* use a smaller contextLength/,
  );

  const { keys, tensors } = await partsOf("llama", "gguf");
  const [columns, rows] = [320, 2 ** 22]; // 5 GB of zeros that are never allocated
  const embedding = { name: "token_embd.weight", type: "f32", shape: [rows, columns] };
  const wider = tensors.map(({ shape, ...tensor }) => ({
    ...tensor,
    shape: shape.map((extent) => ({ 32: columns, 16: columns / 2 })[extent] ?? extent),
  }));
  const others = wider.filter(({ name }) => name !== embedding.name && name !== "output.weight");
  const head = { "llama.attention.key_length": columns / 4, "llama.rope.dimension_count": columns / 4 };
  const metadata = { ...keys, "llama.embedding_length": columns, ...head };
  const header = ggufHeader({ metadata, tensors: [...others, embedding] });
  class Large extends File {
    get size() {
      return header.length + 2 ** 22 + 4 * columns * rows;
    }
    slice(start, end) {
      assert.ok(start < header.length && end <= 2 ** 22, "only the header is read");
      const bytes = new Uint8Array(end - start);
      bytes.set(header.subarray(start, end));
      return new Blob([bytes]);
    }
  }
  await expectError(
    rw.model(new Large([], "large.gguf")),
    "OUT_OF_MEMORY",
    "large.gguf",
    /weights \d+ MB.* use a smaller model or a smaller quantization/,
  );
  const { memory } = await rw.modelInfo(new Large([], "large.gguf"));
  assert.ok(memory.weights > 4 * columns * rows && memory.weights < 4.1 * columns * rows);
  assert.equal(rw.memoryBytes, before);
  await opensStill();
});

test("an output head that is not tied to the embedding and is missing from the file", async () => {
  const parts = await partsOf("gpt_neox", "safetensors");
  assert.equal(parts.keys.tie_word_embeddings, false);
  const source = (keys) =>
    written(
      { ...parts, keys, tensors: parts.tensors.filter(({ name }) => name !== "embed_out.weight") },
      "safetensors",
    );
  await expectError(rw.model(source(parts.keys)), "INVALID_FILE", "model.safetensors: embed_out.weight", /is missing/);
  assert.equal(await outcomeOf(source({ ...parts.keys, tie_word_embeddings: true }), "tied"), undefined);
});
