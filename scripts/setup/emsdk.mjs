// Downloads the pinned Emscripten release of emsdk into .toolchain/ and checks it against its SHA-256.
//
// Version, release and checksums are copied from emsdk's bazel/revisions.bzl. To pin another version, change them here.
//
// Tested: downloading, checking, unpacking and configuring a small archive from a local server (tests/rules/emsdk.test.mjs).
// Not tested: the real archive, because its host couldn't be reached, and systems other than Linux.

import { createHash } from "node:crypto";
import { createWriteStream, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { run } from "./process.mjs";
import { finishToolchain, home, removeToolchain } from "./toolchain.mjs";

export const version = "6.0.5";
const release = "dbd755b5da399329c2576f6e3dfa7f419f5d8409";
const host = "https://storage.googleapis.com/webassembly/emscripten-releases-builds";

/** Archives by Node's names for platform and processor. */
const archives = {
  "linux x64": {
    path: `linux/${release}/wasm-binaries.tar.xz`,
    sha256: "2c5ba39623f3f3a68373a513530530775b6de31cb44be3e672d060137374d460",
  },
  "linux arm64": {
    path: `linux/${release}/wasm-binaries-arm64.tar.xz`,
    sha256: "34c6c24d50c1c8e88e0a33749737234988be19010c9cddcb66dc5bd819b52189",
  },
  "darwin x64": {
    path: `mac/${release}/wasm-binaries.tar.xz`,
    sha256: "f7491ae6896988b32efd28c8e6cceea44fb8d33c0a786e980d57a3b703c0b596",
  },
  "darwin arm64": {
    path: `mac/${release}/wasm-binaries-arm64.tar.xz`,
    sha256: "82231ed58d0134a9c8796b4133207563b94704088cd5a355464a061ad0d31c15",
  },
  "win32 x64": {
    path: `win/${release}/wasm-binaries.zip`,
    sha256: "3367b1b502e5b388b0c32837cdf9f96a7e3a97e09e71c3fca50f098ab4928648",
  },
};

/** The archive for this machine, `{ url, sha256, megabytes }`, or undefined if there is none or its host can't be reached. */
export async function findRelease() {
  const archive = archives[`${process.platform} ${process.arch}`];
  if (!archive) return undefined;
  const url = `${host}/${archive.path}`;
  try {
    const { ok, headers } = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(10_000) });
    const megabytes = Math.round(Number(headers.get("content-length")) / 1e6);
    return ok ? { url, sha256: archive.sha256, megabytes } : undefined;
  } catch {
    return undefined;
  }
}

/** Downloads a release, checks it and makes it the toolchain. */
export async function installRelease({ url, sha256 }) {
  removeToolchain();
  mkdirSync(home, { recursive: true });
  const archive = join(home, "archive");
  await download(url, archive, sha256);
  run("tar", ["-xf", archive, "-C", home]); // its only folder is install/
  rmSync(archive);
  placeRelease();
}

/** Makes the unpacked release work in the folder where it is now. */
export function placeRelease() {
  const folder = join(home, "install");
  finishToolchain({
    emscripten: join(folder, "emscripten"),
    llvm: join(folder, "bin"),
    binaryen: folder,
    source: `emsdk ${version}`,
  });
}

async function download(url, file, sha256) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}`);
  const hash = createHash("sha256");
  const hashed = async function* (chunks) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(Readable.fromWeb(response.body), hashed, createWriteStream(file));
  const actual = hash.digest("hex");
  if (actual !== sha256) {
    rmSync(file);
    throw new Error(`${url} has SHA-256 ${actual}, not the pinned ${sha256}: don't use it`);
  }
}
