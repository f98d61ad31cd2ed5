// The cases that must give the same bytes in every engine and in the native library, and their SHA-256.
//
// Pages, Node and native_digest/ share this list. A case is a flat object, so that it can also be written as a command line.

import * as attention from "./cases/attention.mjs";
import * as cache from "./cases/kv_cache.mjs";
import * as linear from "./cases/linear_attention.mjs";
import * as positionTables from "./cases/position_tables.mjs";
import * as rope from "./cases/rope.mjs";

const GROUPS = [rope, attention, cache, linear, positionTables];

/** All cases, by their command line for native_digest. */
export const CASES = Object.fromEntries(
  GROUPS.flatMap(({ cases }) => cases).map((entry) => [
    Object.entries(entry)
      .map(([key, value]) => `${key}=${value}`)
      .join(" "),
    entry,
  ]),
);

const COMPUTE = Object.assign({}, ...GROUPS.map(({ compute }) => compute));

/** All kinds of cases. */
export const ALL_KINDS = Object.keys(COMPUTE);

/** The results of a case: a list of arrays. */
export function computeCase(rw, entry, inTensor = false) {
  return COMPUTE[entry.kind](rw, entry, inTensor);
}

async function sha256(arrays) {
  const copies = arrays.map((array) => array.slice()); // a Blob doesn't take shared memory
  const bytes = new Uint8Array(await new Blob(copies).arrayBuffer());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of each case of some kinds, by name. With `inTensor`, operands are tensors instead of arrays. */
export async function digests(rw, { kinds = ALL_KINDS, inTensor = false } = {}) {
  const results = {};
  for (const [name, entry] of Object.entries(CASES)) {
    if (kinds.includes(entry.kind)) results[name] = await sha256(computeCase(rw, entry, inTensor));
  }
  return results;
}
