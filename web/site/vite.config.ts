// Builds the pages of the site into build/site/. All addresses are relative, so the site works under any path.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { guidePages } from "../../scripts/site/guide_pages.mjs";

const here = import.meta.dirname;
const root = join(here, "..", "..");

/** The pages, by name: the Lab is the first. */
const PAGES = { lab: "index.html", doctor: "doctor/index.html", models: "models/index.html" };

// Charts write style attributes. Models may come from any server.
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "worker-src 'self' blob:",
  "connect-src 'self' blob: https: http://localhost:* http://127.0.0.1:*",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'none'",
].join("; ");

/**
 * Puts parts into each page, `<!-- page/header.html -->`. In parts, %ROOT% is the relative address of the site's first page.
 */
function pageParts(): Plugin {
  const part = (name: string): string => readFileSync(join(here, name), "utf8");
  return {
    name: "page-parts",
    transformIndexHtml: {
      order: "pre",
      handler(html, { path }) {
        const up = "../".repeat(path.split("/").length - 2) || "./";
        return html
          .replace(/<!-- ([\w/]+\.html) -->/g, (_, name: string) => part(name))
          .replaceAll("%ROOT%", up)
          .replaceAll("%POLICY%", POLICY)
          .replace(`data-page="${path}"`, 'aria-current="page"')
          .replace(/ data-page="[^"]*"/g, "");
      },
    },
  };
}

export default defineConfig({
  root: here,
  base: "./",
  plugins: [pageParts()],
  define: { GUIDE_PAGES: JSON.stringify(guidePages()) },
  resolve: {
    alias: [
      { find: /^ropewalk$/, replacement: join(root, "dist/index.js") },
      { find: /^ropewalk\/doctor$/, replacement: join(root, "dist/doctor.js") },
      { find: /^ropewalk\/worker$/, replacement: join(root, "dist/worker.js") },
    ],
  },
  // WebKit runs a Worker's script a second time if another module imports from it, so what both need is in a file of its own
  worker: {
    format: "es",
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 2 }] } } },
  },
  build: {
    outDir: join(root, "build/site"),
    emptyOutDir: true,
    target: "es2022",
    rolldownOptions: { input: Object.values(PAGES).map((page) => join(here, page)) },
  },
  server: { fs: { allow: [root] } },
});
