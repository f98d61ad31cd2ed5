// Builds native_digest in build/native-digest/ and runs it, for the comparison with browsers.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { capture } from "../../scripts/run.mjs";
import { CASES } from "./pages/digest.mjs";
import { root } from "./tarball.mjs";

const folder = join(root, "build", "native-digest");

async function build() {
  const flags = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2"];
  await capture("cmake", ["-S", import.meta.dirname, "-B", folder, ...flags]);
  await capture("cmake", ["--build", folder]);
  return join(folder, "native_digest");
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
