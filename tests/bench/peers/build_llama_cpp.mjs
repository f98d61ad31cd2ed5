// Builds the llama.cpp that `npm run bench -- models` compares with, into build/peers/:
//
//   node tests/bench/peers/build_llama_cpp.mjs CHECKOUT           native, wasm, and wasm with threads
//   node tests/bench/peers/build_llama_cpp.mjs CHECKOUT native    only some of them
//
// CHECKOUT is a folder with llama.cpp's source, cloned or unpacked. Nothing is downloaded. The native build uses all instructions of this
// machine, the wasm builds llama.cpp's own SIMD kernels. On processors with AMX, GCC 12 makes a native build that crashes: set CC=clang and
// CXX=clang++.
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { runBuild } from "../../../scripts/progress.mjs";
import { capture, runMain } from "../../../scripts/run.mjs";

const root = join(import.meta.dirname, "..", "..", "..");

// Emscripten's platform file overwrites CMAKE_SYSTEM_PROCESSOR. Without "wasm" in it, llama.cpp leaves out its SIMD kernels.
const wasm = [
  `-DCMAKE_TOOLCHAIN_FILE=${join(root, "scripts", "emscripten.cmake")}`,
  "-DEMSCRIPTEN_SYSTEM_PROCESSOR=wasm32",
];
const builds = {
  native: [],
  wasm: [...wasm, "-DWITH_THREADS=OFF"],
  "wasm-threads": [...wasm, "-DWITH_THREADS=ON"],
};

await runMain(import.meta.url, async ([checkout, ...names]) => {
  if (checkout === undefined || !existsSync(join(checkout, "include", "llama.h")))
    throw new Error(`usage: build_llama_cpp.mjs CHECKOUT [${Object.keys(builds).join(" | ")}]…`);
  for (const name of names.length > 0 ? names : Object.keys(builds)) {
    if (builds[name] === undefined) throw new Error(`no build ${name}: there are ${Object.keys(builds).join(", ")}`);
    const folder = join(root, "build", "peers", name);
    const settings = ["-DCMAKE_BUILD_TYPE=Release", `-DLLAMA_CPP=${resolve(checkout)}`, ...builds[name]];
    await mkdir(folder, { recursive: true });
    // Emscripten's test of the linker leaves a.out.js in the current folder
    await capture("cmake", ["-G", "Ninja", "-S", import.meta.dirname, "-B", ".", ...settings], { cwd: folder });
    await runBuild(`llama.cpp ${name}`, "cmake", ["--build", folder, "--target", "llama_driver"]);
  }
});
