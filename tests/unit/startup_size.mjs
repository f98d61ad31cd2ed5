// What an app loads at startup, bundled and minified.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const dynamicImports = {
  name: "dynamic imports are separate files",
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined)),
};

/** Bytes of an app with this code, without Emscripten's glue. Models, tokenizers and chat templates are loaded later. */
export async function startupBytes(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL("../..", import.meta.url)) },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["./wasm/*"],
    plugins: [dynamicImports],
  });
  return outputFiles[0].contents.length;
}
