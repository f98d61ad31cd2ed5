// Finds Emscripten.
//
//   node scripts/emscripten.mjs          prints which Emscripten builds use, and which compiler built the wasm files in dist/
//   node scripts/emscripten.mjs --root   prints only the folder of emcc, for emscripten.cmake
//
// It looks for emcc on PATH, then in the emsdk that $EMSDK names, then in .toolchain/, and skips what is too old. `npm run setup` fills
// .toolchain/ if there is none: with emsdk's pinned release (setup/emsdk.mjs), or else with Debian's packages (setup/emscripten_debian.mjs).

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { runMain } from "./run.mjs";
import { findProgram } from "./setup/machine.mjs";
import { capture } from "./setup/process.mjs";
import { findEmcc, findToolchain, isNewEnough, minimumVersion, versionOf } from "./setup/toolchain.mjs";
import { compilerOf } from "./wasm_compiler.mjs";

/** The Emscripten to build with, `{ root, version, source }`, or undefined. `root` is the folder of emcc and its CMake modules. */
export function findEmscripten() {
  const { EMSDK } = process.env;
  const installed = [
    ["PATH", findProgram("emcc")],
    ["EMSDK", EMSDK && findEmcc(join(EMSDK, "upstream", "emscripten"))],
  ];
  for (const [source, emcc] of installed) {
    const version = emcc && versionOf(emcc);
    if (version && isNewEnough(version)) return { root: rootOf(emcc), version, source };
  }
  return findToolchain();
}

/** The folder of Emscripten. emcc on PATH may be a link to it, or a script elsewhere that starts it. */
function rootOf(emcc) {
  try {
    return capture(join(dirname(emcc), "em-config"), ["EMSCRIPTEN_ROOT"]).trim();
  } catch {
    return dirname(realpathSync(emcc));
  }
}

await runMain(import.meta.url, async ([option]) => {
  const found = findEmscripten();
  if (!found)
    throw new Error(
      `Emscripten ${minimumVersion} or newer is missing: run \`npm run setup\`, or install emsdk and put its emcc on PATH`,
    );
  if (option === "--root") return console.log(found.root);
  console.log(`Emscripten ${found.version} (${found.source}): ${found.root}`);
  const folder = join(import.meta.dirname, "..", "dist", "wasm");
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".wasm")))
    console.log(`dist/wasm/${name}: built by ${compilerOf(join(folder, name)) ?? "an unknown compiler"}`);
});
