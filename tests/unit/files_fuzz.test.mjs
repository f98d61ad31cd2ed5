// Damaged files: each is read or raises a typed error that names the file, quickly. LONG_TESTS=1 runs 100,000.
import assert from "node:assert/strict";
import test from "node:test";
import { ggufBytes, typed } from "../files/gguf_writer.mjs";
import { fetchOnly, fileOf, openModel } from "../files/reading.mjs";
import { safetensorsFolder } from "../files/tiny_models.mjs";

const count = process.env.LONG_TESTS === "1" ? 50000 : 1000; // of each kind
const MAX_MILLISECONDS = 2000; // per file, a thousand times the typical time on an idle machine
const MAX_MEMORY = 256 << 20;

/** A seeded generator of 32-bit numbers (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const boundaryValues = [
  ...[0n, 1n, 31n, 0x7fn, 0x80n, 0xffn, 0xffffn, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 64n - 32n],
];

const mutations = [
  (bytes, at, random) => void (bytes[at] ^= 1 << random(8)),
  (bytes, at, random) => void (bytes[at] = random(256)),
  (bytes, at, random) => bytes.set(bytes.slice(random(bytes.length)).subarray(0, bytes.length - at), at), // bytes moved up or down
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at, random) => {
    const width = [1, 2, 4, 8][random(4)];
    let value = boundaryValues[random(boundaryValues.length)];
    for (let i = 0; i < width && at + i < bytes.length; i++, value >>= 8n) bytes[at + i] = Number(value & 0xffn);
  },
  (bytes, at, random) => Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(random(at + 1))]), // bytes repeated
  (bytes, at, random) =>
    Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(Math.min(bytes.length, at + random(16)))]), // bytes left out
];

/** A copy with one or more changes to the header, usually one. */
function mutated(original, header, random) {
  let bytes = original.slice();
  for (let changes = 1 + Math.floor(random(6) / 4) * random(4); changes > 0; changes--) {
    const at = random(Math.max(1, Math.min(header, bytes.length)));
    bytes = mutations[random(mutations.length)](bytes, at, random) ?? bytes;
  }
  return bytes;
}

const gguf = ggufBytes({
  metadata: {
    "general.architecture": "llama",
    "general.alignment": 32,
    "llama.context_length": 4096,
    "llama.rope.freq_base": 1e4 + 0.5,
    flag: true,
    "tokenizer.ggml.tokens": ["a", "ü", "日本"],
    "tokenizer.ggml.scores": typed("f32", [0, -1, -2]),
    nested: [[1, 2], [3]],
    big: typed("u64", 2n ** 60n),
  },
  tensors: [
    { name: "a.weight", type: "q4_0", shape: [2, 32] },
    { name: "b.weight", type: "f16", shape: [2, 3, 4] },
    { name: "c", type: "f32", shape: [1] },
  ],
});
const { "model.safetensors": safetensors, ...otherFiles } = safetensorsFolder();
const others = Object.entries(otherFiles).map(([name, bytes]) => fileOf(name, bytes));
const indexOf = (header) => 8 + Number(new DataView(header.buffer, header.byteOffset).getBigUint64(0, true));

const kinds = {
  gguf: { original: gguf, header: gguf.length - 256, source: (bytes) => fileOf("m.gguf", bytes) },
  safetensors: {
    original: safetensors,
    header: indexOf(safetensors),
    source: (bytes) => [fileOf("model.safetensors", bytes), ...others],
  },
};

for (const [kind, { original, header, source }] of Object.entries(kinds)) {
  test(`${count} damaged ${kind} files`, async (t) => {
    const tally = {};
    const before = process.memoryUsage().rss;
    for (let seed = 1; seed <= count; seed++) {
      const bytes = mutated(original, header, randomOf(seed));
      const start = performance.now();
      let outcome = "opens";
      try {
        const model = await openModel(fetchOnly, source(bytes));
        let read = 0;
        await model.read(model.tensors.values(), (tensor, offset, chunk) => {
          assert.ok(offset + chunk.length <= tensor.bytes, `seed ${seed}: ${tensor.name}`);
          read += chunk.length;
        });
        assert.equal(read, model.bytes, `seed ${seed}`);
      } catch (error) {
        assert.equal(error.name, "RopewalkError", `seed ${seed}: ${error.stack}`);
        assert.ok(["INVALID_FILE", "UNSUPPORTED_MODEL"].includes(error.code), `seed ${seed}: ${error.code}`);
        assert.match(error.field, /^\S+: [^]*$/, `seed ${seed}`);
        outcome = error.code;
      }
      const time = performance.now() - start;
      assert.ok(time < MAX_MILLISECONDS, `seed ${seed} took ${time} ms`);
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    }
    t.diagnostic(JSON.stringify(tally));
    assert.ok(
      tally.opens > count / 50 && tally.INVALID_FILE > count / 4 && tally.UNSUPPORTED_MODEL > 0,
      "every outcome occurs",
    );
    assert.ok(process.memoryUsage().rss - before < MAX_MEMORY);
  });
}
