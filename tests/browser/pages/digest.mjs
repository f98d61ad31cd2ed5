// The cases that must give the same bytes in every engine and in the native library, and their SHA-256.
//
// Pages, Node and native_digest/ share this list. A case is a flat object, so it can also be a command line.

import * as attention from "./cases/attention.mjs";
import * as cache from "./cases/kv_cache.mjs";
import * as linear from "./cases/linear_attention.mjs";
import * as positionTables from "./cases/position_tables.mjs";
import * as rope from "./cases/rope.mjs";

const STAGES = [rope, attention, cache, linear, positionTables];

/** All cases, by their command line for native_digest. */
export const CASES = Object.fromEntries(
  STAGES.flatMap(({ cases }) => cases).map((entry) => [
    Object.entries(entry)
      .map(([key, value]) => `${key}=${value}`)
      .join(" "),
    entry,
  ]),
);

const COMPUTE = Object.assign({}, ...STAGES.map(({ compute }) => compute));

/** The kinds of cases. */
export const EVERYTHING = Object.keys(COMPUTE);

/** The results of a case: a list of arrays. */
export function computeCase(rw, entry, inTensor = false) {
  return COMPUTE[entry.what](rw, entry, inTensor);
}

async function sha256(arrays) {
  const bytes = new Uint8Array(await new Blob(arrays).arrayBuffer());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of each case, by name. With `inTensor` it passes tensors instead of arrays. */
export async function digests(rw, { what = EVERYTHING, inTensor = false } = {}) {
  const results = {};
  for (const [name, entry] of Object.entries(CASES)) {
    if (what.includes(entry.what)) results[name] = await sha256(computeCase(rw, entry, inTensor));
  }
  return results;
}
