// Helpers for tests that read model files: a minimal platform, whole tensors, and expected errors.

import assert from "node:assert/strict";
import { cachedModels, deleteCachedModel } from "../../build/package/runtime/files/cache/models.js";
import { openModel } from "../../build/package/runtime/files/model_files.js";
import { patternOf } from "./tiny_models.mjs";

export { cachedModels, deleteCachedModel, openModel };

/** A platform with fetch only: no disk, no cache. */
export const fetchOnly = { fetch: (...request) => fetch(...request) };

/** A file as dropped on a page. */
export const fileOf = (name, bytes) => new File([bytes], name);

/** Reads whole tensors and checks that the chunks of each arrive in order. */
export async function readWhole(model, tensors = model.tensors.values(), options) {
  const read = new Map();
  await model.read(
    tensors,
    (tensor, offset, chunk) => {
      const bytes = read.get(tensor.name) ?? new Uint8Array(tensor.bytes);
      read.set(tensor.name, bytes);
      assert.equal(bytes.filled ?? 0, offset, `${tensor.name} in order`);
      bytes.set(chunk, offset);
      bytes.filled = offset + chunk.length;
    },
    options,
  );
  return read;
}

/** Reads every tensor and compares it with the pattern it was written with. */
export async function expectIntact(model, options) {
  const read = await readWhole(model, model.tensors.values(), options);
  assert.deepEqual([...read.keys()].sort(), [...model.tensors.keys()].sort());
  for (const [name, bytes] of read) {
    assert.equal(bytes.filled, bytes.length, name);
    assert.ok(Buffer.from(bytes.buffer).equals(patternOf(name, bytes.length)), `${name} differs from what was written`);
  }
}

/** Checks that a promise rejects with a RopewalkError of this code, field and message. */
export async function expectError(promise, code, field, message = /./) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.name, "RopewalkError", error.stack);
    assert.deepEqual({ code: error.code, field: error.field }, { code, field }, error.message);
    assert.match(error.message, message);
    return true;
  });
}
