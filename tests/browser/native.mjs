// Builds native_digest in the folder of the optimized native tests, which have compiled the library before, and runs it, for the comparison with
// browsers.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { configureNative, nativeBuilds } from "../../scripts/check/native.mjs";
import { capture } from "../../scripts/run.mjs";
import { CASES } from "./pages/digest.mjs";

async function build() {
  const folder = await configureNative(nativeBuilds.find(({ preset }) => preset === "native"));
  await capture("cmake", ["--build", folder, "--target", "native_digest"]);
  return join(folder, "tests", "browser", "native_digest", "native_digest");
}

/** The digest of each case, by name, in the form of `digests` in pages/digest.mjs. */
export async function nativeDigests() {
  const program = await build();
  const results = {};
  for (const name of Object.keys(CASES)) {
    const { stdout } = await promisify(execFile)(program, name.split(" "), { encoding: "buffer", maxBuffer: 1 << 27 });
    results[name] = createHash("sha256").update(stdout).digest("hex");
  }
  return results;
}
