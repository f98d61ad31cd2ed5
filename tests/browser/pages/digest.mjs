// Cases whose results must have the same bits in every engine and in the native library, and their SHA-256.
//
// Pages, Node and native_digest/ share this list. A case is a flat object, so that it can be a command line too.

import * as attention from "./cases/attention.mjs";
import * as cache from "./cases/kv_cache.mjs";
import * as linear from "./cases/linear_attention.mjs";
import * as positionTables from "./cases/position_tables.mjs";
import * as rope from "./cases/rope.mjs";

const STAGES = [rope, attention, cache, linear, positionTables];

/** All cases, by native_digest's command line for each. */
export const CASES = Object.fromEntries(
  STAGES.flatMap(({ cases }) => cases).map((entry) => [
    Object.entries(entry)
      .map(([key, value]) => `${key}=${value}`)
      .join(" "),
    entry,
  ]),
);

const COMPUTE = Object.assign({}, ...STAGES.map(({ compute }) => compute));

/** The modules that have cases. */
export const EVERYTHING = Object.keys(COMPUTE);

/** Runs a case. Returns its results, a list of arrays. */
export function computeCase(rw, entry, inTensor = false) {
  return COMPUTE[entry.what](rw, entry, inTensor);
}

async function sha256(arrays) {
  const bytes = new Uint8Array(await new Blob(arrays).arrayBuffer());
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of each case, by its name. `inTensor` passes tensors instead of arrays. */
export async function digests(rw, { what = EVERYTHING, inTensor = false } = {}) {
  const results = {};
  for (const [name, entry] of Object.entries(CASES)) {
    if (what.includes(entry.what)) results[name] = await sha256(computeCase(rw, entry, inTensor));
  }
  return results;
}
