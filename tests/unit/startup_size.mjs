// What an app loads at startup, bundled and minified.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// Kilobytes that an app may have which only reads configs. 13 of them are the families of transformers 5.24 and llama.cpp:
// more than 400 names. 1 names the nearest key, family or source key for a slip, 5 say what the class of a family doesn't
// read of a config, by family, with the messages, and 1 says which keys of GGUF llama.cpp's code for an architecture doesn't read. 1 is for what
// errors advise, as data. 1 is position maps, log-n scaling and the config of Dual Chunk Attention.
export const CONFIG_LIMIT = 58;

const dynamicImports = {
  name: "dynamic imports are separate files",
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined)),
};

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Bytes of an app with this code, without Emscripten's glue. Models, tokenizers and chat templates are loaded later. */
export const startupBytes = (contents) => bundledBytes({ stdin: { contents, resolveDir: root } });

/** Bytes that the command line imports at its start, minified. */
export const programBytes = () => bundledBytes({ entryPoints: [`${root}/dist/cli.node.js`], platform: "node" });

async function bundledBytes(options) {
  const { outputFiles } = await build({
    ...options,
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["./wasm/*"],
    plugins: [dynamicImports],
    logOverride: { "ignored-bare-import": "silent" }, // of packages in node_modules, esbuild doesn't say it either
  });
  return outputFiles[0].contents.length;
}
