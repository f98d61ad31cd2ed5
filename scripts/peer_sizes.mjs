// Prints what a page downloads for a first chat, with gzip and without the model: this package and others, from the npm registry.
//
//   node scripts/peer_sizes.mjs
//
// Scripts are minified for all alike. The packages are downloaded into build/peers/, once for each version.
import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { capture, runMain } from "./run.mjs";

const root = join(import.meta.dirname, "..");
const folder = join(root, "build", "peers");

/** Packages and the files that they load for a chat. A file of a dependency begins with the dependency's name and a colon. */
export const PEERS = [
  { name: "@wllama/wllama", files: ["esm/index.js", "esm/wasm/wllama.wasm"] },
  {
    name: "@huggingface/transformers",
    files: [
      "dist/transformers.web.js",
      "onnxruntime-web:dist/ort.webgpu.bundle.min.mjs",
      "onnxruntime-web:dist/ort-wasm-simd-threaded.asyncify.wasm",
    ],
  },
  { name: "@mlc-ai/web-llm", files: ["lib/index.js"], lacks: "each model brings wasm of its own" },
];

/** Downloads a package, unless it is there. Returns its folder and manifest. */
async function unpacked(name, range = "latest") {
  const version = JSON.parse(await capture("npm", ["view", `${name}@${range}`, "version", "--json"], { cwd: root }));
  const place = join(folder, `${name.replace(/\W+/g, "_")}_${version}`);
  if ((await stat(place).catch(() => undefined)) === undefined) {
    await mkdir(folder, { recursive: true });
    const packed = await capture("npm", ["pack", "--silent", `${name}@${version}`], { cwd: folder });
    await mkdir(`${place}.part`, { recursive: true });
    await capture("tar", ["-xzf", join(folder, packed.trim()), "-C", `${place}.part`]);
    await rm(join(folder, packed.trim()));
    await rename(join(`${place}.part`, "package"), place);
    await rm(`${place}.part`, { recursive: true });
  }
  return { place, manifest: JSON.parse(await readFile(join(place, "package.json"), "utf8")) };
}

const gzipped = (content) => gzipSync(content, { level: 9 }).length;

/** Bytes of a file with gzip, of a script after minifying it. */
async function bytesOf(path) {
  if (path.endsWith(".wasm")) return gzipped(await readFile(path));
  return gzipped((await transform(await readFile(path, "utf8"), { minify: true, format: "esm" })).code);
}

/** Bytes of this package: an app that imports ropewalk/worker, the Worker's script, and the wasm that Chrome loads. */
export async function ourBytes() {
  const { outputFiles } = await build({
    stdin: { contents: 'export { load } from "./dist/worker.js";', resolveDir: root },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    logOverride: { "ignored-bare-import": "silent" }, // parts that a chunk no longer needs
  });
  return {
    script: gzipped(outputFiles[0].contents) + (await bytesOf(join(root, "dist", "worker_thread.js"))),
    wasm: await bytesOf(join(root, "dist", "wasm", "ropewalk.relaxed.wasm")),
  };
}

export async function peerBytes({ name, files }) {
  const { place, manifest } = await unpacked(name);
  const sizes = { name: `${name} ${manifest.version}`, script: 0, wasm: 0 };
  for (const file of files) {
    const [dependency, path] = file.includes(":") ? file.split(":") : [undefined, file];
    const from = dependency ? (await unpacked(dependency, manifest.dependencies[dependency])).place : place;
    sizes[path.endsWith(".wasm") ? "wasm" : "script"] += await bytesOf(join(from, path));
  }
  return sizes;
}

const kilobytes = (bytes) => (bytes === 0 ? "" : Math.round(bytes / 1024).toLocaleString("en"));

await runMain(import.meta.url, async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const rows = [{ name: `ropewalk ${version}`, ...(await ourBytes()) }];
  for (const peer of PEERS) rows.push({ ...(await peerBytes(peer)), lacks: peer.lacks });
  console.log("| | scripts, KB | wasm, KB | together, KB |\n|---|---|---|---|");
  for (const { name, script, wasm, lacks } of rows)
    console.log(`| ${name} | ${kilobytes(script)} | ${lacks ?? kilobytes(wasm)} | ${kilobytes(script + wasm)} |`);
});
