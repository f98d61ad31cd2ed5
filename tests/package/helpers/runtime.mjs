// The runtime under test: the build that ROPEWALK_BUILD names (simd), loaded once for each test file.
import assert from "node:assert/strict";
import { load, RopewalkError } from "ropewalk";

export const build = process.env.ROPEWALK_BUILD ?? "simd";
export const rw = await load({ build });

/** Relaxed kernels fuse a product and a sum where the processor does, so that their last bits are not the scalar kernel's. */
export const isExact = build !== "relaxed";

/** Uses a rope, or anything else to be disposed of, and disposes of it. */
export function withRope(rope, use) {
  try {
    return use(rope);
  } finally {
    rope.dispose();
  }
}

/** Asserts that `act` raises a RopewalkError with this code and field, and a message that begins with the field. */
export function raises(act, code, field) {
  assert.throws(act, (error) => isError(error, code, field));
}

/** The same for what a promise is rejected with. */
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
