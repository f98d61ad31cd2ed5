// Builds the package into dist/: both wasm builds, their glue and the TypeScript.
//
//   npm run build                 everything that has changed
//   npm run build -- --no-wasm    only the TypeScript, with the wasm of the last build
//   npm run build -- --wasm-from <folder or address>
//                                 only the TypeScript, with the wasm of another build of the same C++ sources: dist/wasm/ of a checkout or of a
//                                 released package. Needs no Emscripten
//   npm run build -- --verbose    with the compiler's output
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { runBuild } from "./progress.mjs";
import { capture, runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";
import { compilerOf } from "./wasm_compiler.mjs";
import { copyWasmFiles, sourcesChecksum, takeWasmFiles, writeWasmFiles } from "./wasm_files.mjs";

const root = join(import.meta.dirname, "..");
const wasmFolder = join(root, "dist", "wasm");
const compiled = join(root, "build", "package");
const libraries = join(root, "build", "libraries");
// The sources that are bundled, and the names of those files of the package that aren't named after one.
const entries = [
  "index",
  "index.node",
  "index.workerd",
  "inline",
  "doctor",
  "doctor.node",
  "openai",
  "search",
  "ai_sdk",
  "worker",
  "worker.node",
  "worker_inline",
  "cli.node",
].map((name) => ({ in: name, out: name }));
entries.push(
  { in: "core/load/helper_thread", out: "load/helper_thread" },
  { in: "core/config/rope_config", out: "config/rope_config" }, // an app that only reads configs loads this one file
);

// The entries that have types; package.json names them in "exports".
const typedEntries = ["index", "inline", "worker", "worker_inline", "doctor", "openai", "search", "ai_sdk"];

// Libraries that call require(), which ES modules don't have. Each is bundled into a module first.
const nodeLibraries = ["commander", "cli-progress", "linkedom"];

// The command line imports the same entries as other users in Node, so that both share its files.
const entriesForProgram = {
  name: "entries for the program",
  setup({ onResolve }) {
    onResolve({ filter: /^(\.\.\/)+(index|doctor|worker)\.node\.js$/ }, ({ path }) => ({
      path: `./${path.replace(/^(\.\.\/)+/, "")}`,
      external: true,
    }));
  },
};

// What the build writes to dist/wasm/ is imported from there, not bundled.
const shippedApart = {
  name: "files of dist/wasm",
  setup({ onResolve }) {
    onResolve({ filter: /\/wasm\/[\w.]+$/ }, ({ path }) => ({ path: `./wasm/${basename(path)}`, external: true }));
  },
};

// Libraries are minified entirely and have no sources in source maps, which would double the size of the package.
const minifiedLibraries = ({ transform }) => ({
  name: "minified libraries",
  setup({ onLoad }) {
    const emptyMap = Buffer.from('{"version":3,"sources":[""],"mappings":"A"}').toString("base64");
    onLoad({ filter: /[\\/](node_modules|build[\\/]libraries)[\\/].*\.m?js$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { minify: true, format: "esm" });
      return { contents: `${code}\n//# sourceMappingURL=data:application/json;base64,${emptyMap}\n`, loader: "js" };
    });
  },
});

// The builds, and the names of their wasm files.
const builds = [
  { name: "simd", file: "ropewalk.wasm" },
  { name: "relaxed", file: "ropewalk.relaxed.wasm" },
];

const linked = (name, extension) => join(root, "build", "wasm", "web", name, `ropewalk.${extension}`);

async function sha256(path) {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

// Both builds share the glue. That works only while the linked files are the same.
async function requireEqual(paths) {
  const hashes = new Set(await Promise.all(paths.map(sha256)));
  if (hashes.size !== 1) throw new Error(`these files must have the same bytes, but differ:\n  ${paths.join("\n  ")}`);
}

async function buildWasm(chosen) {
  await capture("cmake", ["--preset", "wasm", ...((await isOfAnotherFolder()) ? ["--fresh"] : [])], {
    cwd: root,
  });
  const targets = chosen.map(({ name }) => `ropewalk_web_${name}`);
  await runBuild("wasm", "cmake", ["--build", "--preset", "wasm", "--target", ...targets], { cwd: root });
  await requireEqual(chosen.map(({ name }) => linked(name, "mjs")));
}

// CMake stops at a build folder that came from elsewhere with a copy of this repository.
async function isOfAnotherFolder() {
  const cache = await readFile(join(root, "build", "wasm", "CMakeCache.txt"), "utf8").catch(() => undefined);
  return cache !== undefined && !cache.includes(`CMAKE_HOME_DIRECTORY:INTERNAL=${root}\n`);
}

// Keeps what was linked in the form that ships.
async function keepWasm({ transform }, chosen, sources) {
  const { withUnsharedMemory } = await import(join(compiled, "core", "load", "shared_memory.js"));
  // Emscripten's glue has long names: minified, it is less than half as large. It gets a compiled module, so it doesn't need the wasm
  // file's address. If the address stayed, bundlers would ship the wasm file, even with ropewalk/inline.
  const define = { "import.meta.url": '"about:blank"' };
  const settings = { minify: true, format: "esm", target: "es2022", define };
  const { code } = await transform(await readFile(linked(chosen[0].name, "mjs"), "utf8"), settings);
  const files = { "ropewalk.js": Buffer.from(code) };
  for (const { name, file } of chosen)
    files[file] = Buffer.from(withUnsharedMemory(await readFile(linked(name, "wasm"))));
  await writeWasmFiles(root, files, sources);
}

async function shipWasm() {
  for (const file of await copyWasmFiles(root, wasmFolder)) {
    const base64 = (await readFile(join(wasmFolder, file))).toString("base64");
    await writeFile(join(wasmFolder, file.replace(".wasm", ".inline.js")), `export default "${base64}";\n`);
  }
}

const bundleSettings = (esbuild) => ({
  outdir: join(root, "dist"),
  bundle: true,
  // Names and lines stay as written, so that stacks are readable. Minifying with keepNames is no way out: bundlers can't tree-shake its
  // calls, and an app would carry 116 KB instead of 76.
  minifySyntax: true,
  sourcemap: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  plugins: [entriesForProgram, minifiedLibraries(esbuild)],
  alias: Object.fromEntries(nodeLibraries.map((name) => [name, join(libraries, `${name}.js`)])),
  metafile: true,
  mainFields: ["module", "main"],
  logLevel: "warning",
});

// Bundles the script of a page's Worker, and the main entry for CDNs, into one file each, with the glue: bundlers that make a classic script
// of a Worker (Vite before 8, unless told otherwise) refuse one that consists of several. Another one ships as text, for places where files
// can't be started.
async function shipSingleFiles(esbuild) {
  const shipped = {
    name: "shipped files",
    setup: ({ onResolve }) =>
      onResolve({ filter: /\/wasm\/(ropewalk|helper_thread\.inline)\.js$/ }, ({ path }) => ({
        path: join(wasmFolder, basename(path)),
      })),
  };
  const settings = bundleSettings(esbuild);
  const bundled = (entry, others = {}) =>
    esbuild.build({
      ...settings,
      entryPoints: [join(compiled, `${entry}.js`)],
      plugins: [shipped, ...settings.plugins],
      ...others,
    });
  await bundled("worker_thread", { sourcemap: false }); // most of its sources are in the maps of other files
  const text = { format: "iife", minifyWhitespace: true, sourcemap: false, write: false };
  const { outputFiles } = await bundled("worker_thread_inline", text);
  await writeScriptText("worker_thread", outputFiles[0].text);
  // the main entry as one file, for CDNs and for service workers, which can't load parts
  await bundled("index", { outdir: undefined, outfile: join(root, "dist", "ropewalk.min.js"), ...MINIFIED });
}

const MINIFIED = { minify: true, sourcemap: false };

// Bundles each entry and the modules they share into few files, so that a page without a bundler makes few requests. Declarations are shipped
// as TypeScript writes them.
async function shipPackage(esbuild) {
  const { build: bundle } = esbuild;
  await rm(compiled, { recursive: true, force: true });
  await capture("tsc", ["-p", "tsconfig.json"], { cwd: root, preferLocal: true });
  const nodeInputs = await bundleNodeLibraries(esbuild);
  const settings = bundleSettings(esbuild);
  const { metafile } = await bundle({
    ...settings,
    entryPoints: entries.map(({ in: source, out }) => ({ in: join(compiled, `${source}.js`), out })),
    plugins: [shippedApart, ...settings.plugins],
    splitting: true,
    external: ["node:*"],
    chunkNames: "shared-[hash]",
  });
  await dropProgramMaps(metafile);
  await shipHelperText(esbuild);
  await shipDeclarations();
  return [...bundledFiles(metafile), ...nodeInputs];
}

// Removes the source maps of files that only the command line loads: nobody debugs them in an app, and they are a third of all maps.
async function dropProgramMaps({ outputs }) {
  const imported = new Set();
  const follow = (path) => {
    if (imported.has(path) || outputs[path] === undefined) return;
    imported.add(path);
    for (const { path: next } of outputs[path].imports) follow(next);
  };
  const scripts = Object.keys(outputs).filter((path) => path.endsWith(".js"));
  for (const { out } of entries) if (out !== "cli.node") follow(`dist/${out}.js`);
  for (const path of scripts.filter((path) => !imported.has(path))) {
    await rm(join(root, `${path}.map`));
    const text = await readFile(join(root, path), "utf8");
    await writeFile(join(root, path), text.replace(/\n\/\/# sourceMappingURL=\S+\n$/, "\n"));
  }
}

// Ships the script of helper threads once more, as text, for places where its file can't be started.
async function shipHelperText({ transform }) {
  const script = await readFile(join(compiled, "core", "load", "helper_thread.js"), "utf8");
  const { code } = await transform(script, { minify: true, format: "iife", target: "es2022" });
  await writeScriptText("helper_thread", code);
}

async function writeScriptText(name, text) {
  await mkdir(wasmFolder, { recursive: true });
  await writeFile(join(wasmFolder, `${name}.inline.js`), `export default ${JSON.stringify(text)};\n`);
}

// Ships the declarations that the entries reach, and no others: most modules are internal.
async function shipDeclarations() {
  const { default: typescript } = await import("typescript");
  const shipped = new Set();
  const ship = async (path) => {
    if (shipped.has(path)) return;
    shipped.add(path);
    const text = await readFile(join(compiled, path), "utf8");
    await mkdir(join(root, "dist", dirname(path)), { recursive: true });
    await writeFile(join(root, "dist", path), text);
    const imported = typescript.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
    for (const name of imported.filter((name) => name.startsWith(".")))
      await ship(join(dirname(path), name).replace(/\.js$/, ".d.ts"));
  };
  for (const entry of typedEntries) await ship(`${entry}.d.ts`);
  await cp(join(root, "web", "src", "core", "wasm", "asset.d.ts"), join(wasmFolder, "asset.d.ts"));
}

async function bundleNodeLibraries({ build: bundle }) {
  const { metafile } = await bundle({
    entryPoints: nodeLibraries,
    outdir: libraries,
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "node",
    external: ["canvas"], // linkedom takes it where it is installed
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    metafile: true,
    logLevel: "warning",
  });
  return bundledFiles(metafile);
}

// The source files that contribute to a bundle.
function bundledFiles({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}

// Writes the licenses of the bundled libraries.
async function shipLicenses(inputs) {
  const folders = new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const texts = await Promise.all(
    [...folders].sort().map(async (folder) => {
      const { name, version, license, author } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
      const file = (await readdir(join(root, folder))).find((entry) => /^licen[cs]e/i.test(entry));
      const text =
        file === undefined ? `Copyright ${author.name ?? author}` : await readFile(join(root, folder, file), "utf8");
      return `${name} ${version}, ${license}\n\n${text.trim()}\n`;
    }),
  );
  await writeFile(join(root, "dist", "third_party_licenses.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}

/**
 * Builds the package. With `wasm: false` it keeps the wasm of the last build, with `from` it takes that of another build, with `only` ("simd" or
 * "relaxed") it has only that build, for a Node that loads no other.
 */
export async function build({ wasm = true, from, only } = {}) {
  const chosen = builds.filter(({ name }) => only === undefined || name === only);
  const links = wasm && from === undefined;
  await setUp(links ? ["build"] : []);
  if (from !== undefined) await takeWasmFiles(root, from);
  const sources = links ? await sourcesChecksum(root) : undefined; // before the compiler reads them
  if (links) await buildWasm(chosen);
  await rm(join(root, "dist"), { recursive: true, force: true });
  const esbuild = await import("esbuild");
  await shipLicenses(await shipPackage(esbuild));
  if (links) await keepWasm(esbuild, chosen, sources);
  await shipWasm();
  await shipSingleFiles(esbuild);
}

await runMain(import.meta.url, async (args) => {
  const { values } = parseArgs({ args, options: { "no-wasm": { type: "boolean" }, "wasm-from": { type: "string" } } });
  await build({ wasm: !values["no-wasm"], from: values["wasm-from"] });
  console.log(`built dist/ with ${compilerOf(join(wasmFolder, builds[0].file))}`);
});
