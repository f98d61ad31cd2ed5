// Damaged headers of model files: changes of bytes, edge numbers, and what must hold whatever a file contains.
import assert from "node:assert/strict";
import { load } from "ropewalk";
import { goodModelOf } from "../files/model_parts.mjs";
import { fetchOnly, openModel } from "../files/reading.mjs";

/** Codes of errors that a file may cause. */
const CODES = [
  ...["INVALID_FILE", "UNSUPPORTED_MODEL", "INVALID_CONFIG", "UNKNOWN_KEY", "UNSUPPORTED_ROPE_TYPE"],
  ...["UNKNOWN_FAMILY", "OUT_OF_MEMORY"],
];

/** Codes of errors when a model runs: damaged weights can make keys that a cache can't hold. */
const RUNNING_CODES = ["INVALID_FILE", "INVALID_ARGUMENT"];

const MAX_MILLISECONDS = 10_000; // per file, some thousand times the typical time on an idle machine

/** How often a good model is run after a damaged one. */
const GOOD_MODEL_EVERY = 50;

/** Whole numbers at which counts, sizes and offsets change their meaning. */
export const EDGE_INTEGERS = [
  ...[0n, 1n, 2n, 3n, 4n, 31n, 32n, 33n, 0x7fn, 0x80n, 0xffn, 256n, 4095n, 4096n, 4097n, 0xffffn, 65536n],
  ...[2n ** 20n, 2n ** 22n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 64n, 2n ** 42n + 1n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 58n, 2n ** 62n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 32n, 2n ** 64n - 1n],
];

const byteChanges = [
  (bytes, at, random) => void (bytes[at] ^= 1 << random.int(8)),
  (bytes, at, random) => void (bytes[at] = random.int(256)),
  (bytes, at, random) => bytes.set(bytes.slice(random.int(bytes.length)).subarray(0, bytes.length - at), at), // moved up or down
  (bytes, at) => bytes.subarray(0, at), // cut off
  (bytes, at, random) => {
    let value = random.pick(EDGE_INTEGERS);
    const width = random.pick([1, 2, 4, 8]);
    for (let i = 0; i < width && at + i < bytes.length; i++, value >>= 8n) bytes[at + i] = Number(value & 0xffn);
  },
  (bytes, at, random) => joined(bytes.subarray(0, at), bytes.subarray(random.int(at + 1))), // repeated
  (bytes, at, random) => joined(bytes.subarray(0, at), bytes.subarray(Math.min(bytes.length, at + random.int(16)))), // left out
];

const joined = (...parts) => new Uint8Array(Buffer.concat(parts));

/** A copy with one or more changes of bytes in the first `end`, usually one. */
export function changedBytes(original, end, random) {
  let bytes = original.slice();
  for (let changes = random.chance(0.7) ? 1 : random.between(1, 4); changes > 0; changes--) {
    const at = random.int(Math.max(1, Math.min(end, bytes.length)));
    bytes = random.pick(byteChanges)(bytes, at, random) ?? bytes;
  }
  return bytes;
}

/** What a target for model files needs: the runtime, and a check that a good model's logits are still the same. */
export async function setUpModels() {
  const rw = await load({ build: "simd" });
  return { rw, expectGoodModel: await goodModelOf(rw) };
}

/** Awaits `act()` and returns `[result]`, or the code of its error, which must be one that a file may cause. */
async function attempt(act, codes = CODES) {
  const start = performance.now();
  try {
    return [await act()];
  } catch (error) {
    if (error?.name !== "RopewalkError") throw error;
    assert.ok(codes.includes(error.code), `${error.code}: ${error.message}`);
    assert.ok(error.field !== "" && error.field.length < 500 && error.message.length < 3000, error.message);
    // eslint-disable-next-line no-control-regex -- they could change a terminal
    assert.doesNotMatch(error.message + error.field, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    return error.code;
  } finally {
    const milliseconds = performance.now() - start;
    assert.ok(milliseconds < MAX_MILLISECONDS, `takes ${milliseconds} ms`);
  }
}

/**
 * Opens a damaged file, reads its tensors, describes it as a model and loads it. Each step succeeds or raises a RopewalkError. Returns the code
 * of the error, or how far the file was accepted.
 */
export async function openDamaged({ rw, expectGoodModel }, source, iteration) {
  const outcome = await stepsOf(rw, source);
  if (iteration % GOOD_MODEL_EVERY === 0) await expectGoodModel();
  return outcome;
}

async function stepsOf(rw, source) {
  const opened = await attempt(async () => {
    const files = await openModel(fetchOnly, source);
    let read = 0;
    await files.read(files.tensors.values(), (tensor, offset, chunk) => {
      assert.ok(offset >= 0 && offset + chunk.length <= tensor.bytes, tensor.name);
      read += chunk.length;
    });
    assert.equal(read, files.bytes);
  });
  if (!Array.isArray(opened)) return opened;
  const described = await attempt(() => rw.modelInfo(source));
  const loaded = await attempt(() => rw.model(source));
  if (!Array.isArray(loaded)) return Array.isArray(described) ? `described, ${loaded}` : `read, ${loaded}`;
  const [model] = loaded;
  assert.ok(Array.isArray(described), "a model that loads can be described");
  try {
    const tokens = [0, 1, 2].filter((token) => token < model.info.vocabularySize);
    const run = await attempt(async () => {
      if (!model.info.generates) {
        assert.ok((await model.embed([tokens, tokens.slice(0, 1)])).length === 2);
        return;
      }
      const session = model.session({ contextLength: 8 });
      try {
        await session.append(tokens);
        assert.equal(session.logits().length, model.info.vocabularySize);
        session.rewind(1);
      } finally {
        session.dispose();
      }
    }, RUNNING_CODES);
    return Array.isArray(run) ? "runs" : `loads, ${run}`;
  } finally {
    model.dispose();
  }
}
