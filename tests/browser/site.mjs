// The site of the browser tests: pages/ and the unpacked package, served correctly and incorrectly.

import { join } from "node:path";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";
import { CSP_WITHOUT_WASM, CSP_WITHOUT_WORKERS, serve, STRICT_CSP, WASM_ANSWERS } from "./server.mjs";

/** Addresses of the package's main entry, by the server's response for its wasm. */
export const ENTRIES = {
  good: "/package/dist/index.js",
  page: "/page/dist/index.js",
  missing: "/missing/dist/index.js",
  empty: "/empty/dist/index.js",
  wrongType: "/wrong-type/dist/index.js",
};

/** The main entry for pages under /isolated/, where threads can share memory. */
export const ISOLATED_ENTRY = "/isolated/package/dist/index.js";

/** The entry with the wasm inside, on a server without wasm files. */
export const INLINE_ENTRY = "/missing/dist/inline.js";

/** Unpacks the package and serves the site. Returns the result of `serve`, and `unpacked`, the folder of the package. */
export async function openSite() {
  const folder = await makeFolder();
  const unpacked = await unpackPackage(folder);
  const pages = join(root, "tests", "browser", "pages");
  const site = await serve({
    "/pages/": { folder: pages },
    "/no-wasm/pages/": { folder: pages, csp: CSP_WITHOUT_WASM },
    "/package/": { folder: unpacked },
    "/isolated/pages/": { folder: pages, isIsolated: true },
    "/isolated/no-workers/pages/": { folder: pages, isIsolated: true, csp: CSP_WITHOUT_WORKERS },
    "/isolated/blobs/pages/": { folder: pages, isIsolated: true, csp: `${STRICT_CSP}; worker-src blob:` },
    "/isolated/package/": { folder: unpacked, isIsolated: true },
    "/isolated/no-helper/": { folder: unpacked, isIsolated: true },
    "/isolated/no-helper/dist/load/": { folder: pages, isIsolated: true },
    "/isolated/models/": { folder: join(root, "tests", "golden", "tiny_models"), isIsolated: true },
    "/examples/": { folder: join(root, "examples"), packages: { ropewalk: ENTRIES.good } },
    "/page/": { folder: unpacked, wasm: WASM_ANSWERS.page },
    "/missing/": { folder: unpacked, wasm: WASM_ANSWERS.missing },
    "/empty/": { folder: unpacked, wasm: WASM_ANSWERS.empty },
    "/wrong-type/": { folder: unpacked, wasmType: "text/plain" },
  });
  const close = async () => {
    await site.close();
    await removeFolder(folder);
  };
  return { ...site, unpacked, close };
}
