// Writes the service worker, with a list of the files that it caches on the first visit.
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..", "..");

/** Pages of the guide, and models, are cached when they are used. */
const isCachedFirst = (name) => !name.startsWith("guide/") && !/\.(map|gguf|safetensors)$/.test(name);

/** Writes service_worker.js into the site's folder. */
export async function writeServiceWorker(folder) {
  const files = [];
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const path = join(folder, name);
    if (!isCachedFirst(name) || !(await stat(path)).isFile()) continue;
    const revision = createHash("sha256")
      .update(await readFile(path))
      .digest("hex")
      .slice(0, 16);
    files.push({ url: name, revision });
  }
  await build({
    entryPoints: [join(root, "web", "site", "service_worker.ts")],
    outfile: join(folder, "service_worker.js"),
    bundle: true,
    minify: true,
    define: { "process.env.NODE_ENV": '"production"', FILES: JSON.stringify(files) },
  });
}
