// Finds Emscripten, or fetches one for this checkout.
//
//   node scripts/emscripten.mjs          prints where Emscripten is and its version, after fetching it if need be
//   node scripts/emscripten.mjs --find   the same, but never fetches
//   node scripts/emscripten.mjs --root   prints only its folder (scripts/emscripten.cmake reads this)
//
// Looked at in this order: `emcc` on PATH, the emsdk that $EMSDK names, .toolchain/ in this checkout. What is too old is passed over.
// Where there is none and the machine runs Debian on x86-64, emscripten_debian.mjs unpacks a newer Debian's package into .toolchain/.

import { realpath } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { installFromDebian, privateFolder, privateToolchain } from "./emscripten_debian.mjs";
import { isNewEnough, minimumVersion, versionOf } from "./emscripten_version.mjs";
import { findProgram } from "./machine.mjs";
import { capture, runMain } from "./run.mjs";

const installByHand =
  `install the Emscripten SDK (emsdk), version ${minimumVersion} or newer, ` +
  "and put its emcc on PATH or let the EMSDK variable name its folder";

function describe(root, version, env, source) {
  return {
    root, // holds emcc, em++, emcmake and cmake/Modules/Platform/Emscripten.cmake
    emcc: join(root, "emcc"),
    empp: join(root, "em++"),
    emcmake: join(root, "emcmake"),
    version,
    env: { ...process.env, ...env, PATH: [root, process.env.PATH].filter(Boolean).join(delimiter) },
    source,
  };
}

/** An Emscripten that a person installed: on PATH, or through $EMSDK. */
async function findInstalled() {
  const inSdk = process.env.EMSDK && join(process.env.EMSDK, "upstream", "emscripten", "emcc");
  for (const [source, emcc] of [
    ["PATH", findProgram("emcc")],
    ["EMSDK", inSdk],
  ]) {
    if (!emcc || dirname(emcc) === privateFolder) continue;
    const version = await versionOf(emcc);
    if (!version || !isNewEnough(version)) continue;
    // Where emcc is only a link or a wrapper, em-config beside it knows the folder that holds the rest.
    const stated = await capture(join(dirname(emcc), "em-config"), ["EMSCRIPTEN_ROOT"]).catch(() => "");
    return describe(stated.trim() || dirname(await realpath(emcc)), version, {}, source);
  }
  return null;
}

/** The Emscripten to use: `{ emcc, empp, emcmake, root, version, env, source }`, or null when there is none yet. Fetches nothing. */
export async function findEmscripten() {
  const installed = await findInstalled();
  if (installed) return installed;
  const toolchain = await privateToolchain();
  return toolchain && isNewEnough(toolchain.version)
    ? describe(toolchain.root, toolchain.version, toolchain.env, ".toolchain")
    : null;
}

/** As `findEmscripten`, but fetches one into .toolchain/ when there is none, or throws an error that says what to install. */
export async function ensureEmscripten() {
  const found = await findEmscripten();
  if (found) return found;
  try {
    await installFromDebian();
  } catch (error) {
    throw new Error(
      `no Emscripten ${minimumVersion} or newer was found, and none could be fetched: ${error.message}\nTo go on, ${installByHand}.`,
    );
  }
  return findEmscripten();
}

runMain(import.meta.url, async ([option]) => {
  const found = option === "--find" ? await findEmscripten() : await ensureEmscripten();
  if (!found)
    throw new Error(
      `no Emscripten ${minimumVersion} or newer: run \`node scripts/emscripten.mjs\`, or ${installByHand}.`,
    );
  console.log(option === "--root" ? found.root : `Emscripten ${found.version} (${found.source}): ${found.emcc}`);
});
