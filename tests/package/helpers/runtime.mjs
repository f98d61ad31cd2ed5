// The runtime under test: the build in ROPEWALK_BUILD (simd), loaded once per test file.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { load, RopewalkError } from "ropewalk";

export const build = process.env.ROPEWALK_BUILD ?? "simd";
export const rw = await load({ build });

let others = 0;

/** Loads the same build once more, with memory of its own: a custom section makes other bytes. */
export async function anotherModule(options) {
  const file = build === "relaxed" ? "ropewalk.relaxed.wasm" : "ropewalk.wasm";
  const bytes = await readFile(new URL(import.meta.resolve(`ropewalk/${file}`)));
  return load({ build, wasm: Buffer.concat([bytes, Uint8Array.of(0, 2, 1, ++others)]), ...options });
}

/** Relaxed kernels use fused multiply-add if the processor has it, so their last bits may differ from the scalar kernels. */
export const isExact = build !== "relaxed";

/** Calls `use` with a rope, or another disposable object, and disposes of it. */
export function withRope(rope, use) {
  try {
    return use(rope);
  } finally {
    rope.dispose();
  }
}

/** Asserts that `act` throws a RopewalkError with this code and field, and a message that begins with the field. */
export function raises(act, code, field) {
  assert.throws(act, (error) => isError(error, code, field));
}

/** Same as raises, for the error that a promise rejects with. */
export async function rejects(promise, code, field) {
  await assert.rejects(promise, (error) => isError(error, code, field));
}

function isError(error, code, field) {
  if (!(error instanceof RopewalkError)) return false;
  assert.deepEqual({ code: error.code, field: error.field }, { code, field });
  assert.equal(error.name, "RopewalkError");
  assert.ok(field === "" ? error.message.length > 0 : error.message.startsWith(`${field}: `), error.message);
  return true;
}
