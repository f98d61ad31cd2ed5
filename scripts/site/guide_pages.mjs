// The pages of docs/README.md: their sections, titles, and where TypeDoc writes them.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const docs = join(import.meta.dirname, "..", "..", "docs");

/** The pages in order: file name → { section, title }. */
export function sections() {
  const pages = new Map();
  let section;
  for (const line of readFileSync(join(docs, "README.md"), "utf8").split("\n")) {
    section = /^## (.*)/.exec(line)?.[1] ?? section;
    const [, title, file] = /^\| \[([^\]]*)\]\(([\w-]+(?:\/[\w-]+)?\.md)\)/.exec(line) ?? [];
    if (file !== undefined) pages.set(file, { section, title });
  }
  return pages;
}

/** `docs/kv_caches.md` → `KV_caches.html`, in guide/documents/. */
export function guidePages() {
  return Object.fromEntries(
    [...sections()].map(([file, { title }]) => [`docs/${file}`, `${title.replace(/\W+/g, "_")}.html`]),
  );
}
