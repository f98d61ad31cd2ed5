// Builds the pages of the site into build/site/. All addresses are relative, so the site works under any path.
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { guidePages } from "../../scripts/site/guide_pages.mjs";
import { fillParts, upFrom } from "../../scripts/site/page_parts.mjs";
import { recordedStory } from "./front/recorded.js";

const here = import.meta.dirname;
const root = join(here, "..", "..");

/** The pages, by name: the Lab is the first. */
const PAGES = {
  lab: "index.html",
  doctor: "doctor/index.html",
  models: "models/index.html",
  arena: "arena/index.html",
};

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

/** Puts the parts that pages share into each page. */
function pageParts(): Plugin {
  return {
    name: "page-parts",
    transformIndexHtml: {
      order: "pre",
      handler: (html, { path }) => fillParts(html, path).replaceAll("%POLICY%", POLICY),
    },
  };
}

/** Lets each page load the upright faces at once: its styles would name them only later. */
function preloadFonts(): Plugin {
  return {
    name: "preload-fonts",
    transformIndexHtml: {
      order: "post",
      handler(_html, { path, bundle }) {
        const up = upFrom(path);
        return Object.keys(bundle ?? {})
          .filter((name) => name.endsWith("normal.woff2") || /normal-[\w-]+\.woff2$/.test(name))
          .map((name) => ({
            tag: "link",
            attrs: { rel: "preload", as: "font", type: "font/woff2", href: up + name, crossorigin: true },
            injectTo: "head" as const,
          }));
      },
    },
  };
}

export default defineConfig({
  root: here,
  base: "./",
  plugins: [pageParts(), preloadFonts()],
  define: { GUIDE_PAGES: JSON.stringify(guidePages()), RECORDED_STORY: JSON.stringify(recordedStory()) },
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
