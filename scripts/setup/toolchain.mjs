// Finds, configures and removes the Emscripten in .toolchain/, for both ways of installing it.
//
//   .toolchain/emscripten        link to the folder that holds emcc
//   .toolchain/emscripten.json   written last: { home, version, source }

import { existsSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture } from "./process.mjs";

/** The folder of the toolchain. */
export const home = join(import.meta.dirname, "..", "..", ".toolchain");
/** The folder of emcc in it. */
export const emscriptenFolder = join(home, "emscripten");

/** Since this version the factory of an ES module build always returns a promise. The build needs nothing newer. */
export const minimumVersion = "4.0.12";

export function isNewEnough(version) {
  return version.localeCompare(minimumVersion, "en", { numeric: true }) >= 0;
}

/** The version that emcc prints, or undefined if emcc doesn't run. */
export function versionOf(emcc) {
  try {
    return /^emcc .*?(\d+\.\d+\.\d+)/m.exec(capture(emcc, ["--version"]))?.[1];
  } catch {
    return undefined;
  }
}

/** The path of emcc in a folder, or undefined. */
export function findEmcc(folder) {
  const names = process.platform === "win32" ? ["emcc.exe", "emcc.bat"] : ["emcc"];
  return names.map((name) => join(folder, name)).find(existsSync);
}

const record = join(home, "emscripten.json");

/** `{ root, version, source }` of the Emscripten in .toolchain/, or undefined if it is missing, unfinished, moved or too old. */
export function findToolchain() {
  const { version, source, ...made } = readRecord();
  return made.home !== undefined && isHere(made.home) && isNewEnough(version)
    ? { root: emscriptenFolder, version, source }
    : undefined;
}

/** The source of a whole toolchain that came here with its checkout, and has the paths of another folder; otherwise undefined. */
export function movedToolchain() {
  const { version, source, ...made } = readRecord();
  return made.home !== undefined && !isHere(made.home) && isNewEnough(version) ? source : undefined;
}

/** Whether a toolchain was made for the folder where it is. .toolchain/ may be a link to that of another checkout. */
function isHere(folder) {
  return folder === home || (existsSync(home) && folder === realpathSync(home));
}

function readRecord() {
  try {
    return JSON.parse(readFileSync(record, "utf8"));
  } catch {
    return {};
  }
}

/** Removes a toolchain, whole or unfinished. */
export function removeToolchain() {
  rmSync(home, { recursive: true, force: true });
}

/** Writes Emscripten's configuration, tries emcc and records the toolchain as complete. Folders are absolute. */
export function finishToolchain({ emscripten, llvm, binaryen, source }) {
  const python = JSON.stringify; // its strings are valid Python
  writeFileSync(
    join(emscripten, ".emscripten"),
    [
      "import shutil",
      `LLVM_ROOT = ${python(llvm)}`,
      `BINARYEN_ROOT = ${python(binaryen)}`,
      `CACHE = ${python(join(emscripten, "cache"))}`,
      `NODE_JS = shutil.which("node") or ${python(process.execPath)}`,
      "",
    ].join("\n"),
  );
  // without one, Node would read Emscripten's .js files as this repository's package.json says: as ES modules
  const manifest = join(emscripten, "package.json");
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "type": "commonjs" }\n');
  rmSync(emscriptenFolder, { force: true }); // of a toolchain that was moved
  symlinkSync(emscripten, emscriptenFolder, "junction");
  const version = /\d+\.\d+\.\d+/.exec(capture(findEmcc(emscriptenFolder), ["--version"]))?.[0];
  if (!version || !isNewEnough(version)) throw new Error(`${source} has Emscripten ${version}, not ${minimumVersion}`);
  writeFileSync(record, `${JSON.stringify({ home, version, source })}\n`);
}
