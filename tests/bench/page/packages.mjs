// The packages of `npm run bench -- page`: where they come from, and the models that they read.
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { ourBytes, peerBytes, PEERS as PEER_SIZES } from "../../../scripts/peer_sizes.mjs";
import { capture } from "../../../scripts/run.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const folder = join(root, "build", "peers", "page");
const SMOLLM2 = "SmolLM2-135M-Instruct.Q4_0.gguf";

/** Each package, the script of its Worker, and its sources of texts and of vectors. */
export const PACKAGES = {
  ropewalk: {
    title: "ropewalk",
    worker: "../page/ropewalk_worker.mjs",
    text: `/build/peers/page/${SMOLLM2}`,
    vectors: "/build/peers/page/minilm_source/",
  },
  wllama: {
    name: "@wllama/wllama",
    version: "3.13.0",
    title: "wllama 3.13",
    worker: "/build/peers/page/workers/wllama_worker.js",
    text: `/build/peers/page/${SMOLLM2}`,
  },
  transformers: {
    name: "@huggingface/transformers",
    version: "4.3.1",
    title: "transformers.js 4.3, wasm",
    worker: "/build/peers/page/workers/transformers_worker.js",
    text: "smollm2",
    vectors: "minilm",
  },
};
const peers = Object.values(PACKAGES).filter(({ name }) => name !== undefined);

/** Installs the peers as an app does and bundles their Workers. */
export async function preparePackages() {
  if (!existsSync(join(folder, "smollm2", "onnx", "model_q4.onnx")))
    throw new Error("no models: run python tests/bench/peers/export_page.py SMOLLM2.gguf MINILM_FOLDER");
  const packages = peers.map(({ name, version }) => `${name}@${version}`);
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  await capture("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages], { cwd: folder });
  await build({
    entryPoints: ["wllama_worker.mjs", "transformers_worker.mjs"].map((name) => join(import.meta.dirname, name)),
    bundle: true,
    format: "esm",
    outdir: join(folder, "workers"),
    nodePaths: [join(folder, "node_modules"), join(root, "node_modules")],
    external: ["/examples/*"],
  });
}

/** Bytes of scripts and wasm that a page downloads for a chat, with gzip. */
export async function bytesOf({ name }) {
  const peer = PEER_SIZES.find((each) => each.name === name);
  const { script, wasm } = await (name === undefined ? ourBytes() : peerBytes(peer));
  return script + wasm;
}
