// The wasm files and their glue, with what they were made from, in build/wasm_files/. A build with Emscripten writes them there, or they are
// taken from a folder or a server that has those of another build, such as dist/wasm/ of a released package.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";

/** The record beside the files: { sources, files }, the checksum of the C++ sources and those of the files by name. */
export const RECORD = "wasm_files.json";

const GLUE = "ropewalk.js";

/** What of a checkout the wasm is made from. */
const SOURCES = [
  "src",
  "bindings",
  "cmake",
  "CMakeLists.txt",
  "CMakePresets.json",
  join("scripts", "emscripten.cmake"),
];

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

export const wasmFilesFolder = (root) => join(root, "build", "wasm_files");

/** The checksum of the sources in a checkout: of the paths and contents of all that the wasm is made from. */
export async function sourcesChecksum(root) {
  const listed = await Promise.all(
    SOURCES.map(async (source) => {
      const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true }).catch(
        () => undefined,
      );
      if (entries === undefined) return [join(root, source)]; // a file
      return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    }),
  );
  const paths = listed.flat().filter((path) => !path.endsWith(".md"));
  const nameOf = (path) => relative(root, path).split(sep).join("/");
  const lines = await Promise.all(paths.map(async (path) => `${nameOf(path)} ${sha256(await readFile(path))}\n`));
  return sha256(lines.sort().join(""));
}

/** Writes the glue and the wasm files of a build, { name: bytes }, with their record. */
export async function writeWasmFiles(root, files, sources) {
  const folder = wasmFilesFolder(root);
  const record = {
    sources,
    files: Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, sha256(bytes)])),
  };
  await rm(`${folder}.new`, { recursive: true, force: true });
  await mkdir(`${folder}.new`, { recursive: true });
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(`${folder}.new`, name), bytes);
  await writeFile(join(`${folder}.new`, RECORD), `${JSON.stringify(record, null, 2)}\n`);
  await rm(folder, { recursive: true, force: true });
  await rename(`${folder}.new`, folder); // whole, or not at all
}

/**
 * Takes the files of another build. Throws, and changes nothing, if they were made from other sources than this checkout has, or if one is missing
 * or damaged.
 * @param from - a folder, or the http(s) address of one
 */
export async function takeWasmFiles(root, from) {
  const base = /^https?:/.test(from) ? from : pathToFileURL(from).href;
  const read = (name) => readAt(new URL(name, base.endsWith("/") ? base : `${base}/`));
  const record = parseRecord(await read(RECORD), from);
  const sources = await sourcesChecksum(root);
  if (record.sources !== sources)
    throw new Error(
      `the wasm in ${from} was made from other C++ sources (${record.sources.slice(0, 12)}) than this checkout has (${sources.slice(0, 12)}).\n` +
        "Take it from a build of this version, or build it: npm run build",
    );
  const files = {};
  for (const [name, checksum] of Object.entries(record.files)) {
    files[name] = await read(name);
    if (sha256(files[name]) !== checksum)
      throw new Error(`${name} in ${from} is damaged: its checksum isn't that of ${RECORD}`);
  }
  await writeWasmFiles(root, files, sources);
}

async function readAt(url) {
  if (url.protocol === "file:")
    return readFile(url).catch((error) => {
      throw new Error(`${url.pathname} can't be read (${error.code}); name a folder with the files of dist/wasm/`);
    });
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`${url} answers ${response.status}; name the address of a folder with the files of dist/wasm/`);
  return Buffer.from(await response.arrayBuffer());
}

function parseRecord(bytes, from) {
  const isChecksum = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
  let record;
  try {
    record = JSON.parse(bytes.toString("utf8"));
  } catch {
    record = undefined;
  }
  const files = Object.entries(record?.files ?? {});
  const isFile = ([name, checksum]) =>
    (name === GLUE || /^ropewalk(\.relaxed)?\.wasm$/.test(name)) && isChecksum(checksum);
  if (!isChecksum(record?.sources) || files.length < 2 || !(GLUE in record.files) || !files.every(isFile))
    throw new Error(`${RECORD} in ${from} isn't the record of a build`);
  return record;
}

/** Copies the glue, the wasm files and their record to a folder. Returns the names of the wasm files. */
export async function copyWasmFiles(root, folder) {
  const source = wasmFilesFolder(root);
  const names = await readdir(source).catch(() => {
    throw new Error(
      "there is no wasm of an earlier build; run npm run build, or npm run build -- --wasm-from <folder or address>",
    );
  });
  await cp(source, folder, { recursive: true });
  return names.filter((name) => name.endsWith(".wasm"));
}
