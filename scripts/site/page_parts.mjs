// The parts that all pages of the site share, such as the header: files in web/site, named in comments.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "..", "..", "web", "site");

/** The relative address of the site's first page from the page at `path`, such as "/doctor/index.html". */
export function upFrom(path) {
  return "../".repeat(path.split("/").length - 2) || "./";
}

/**
 * Puts parts into a page, `<!-- page/header.html -->`. In them, %ROOT% is the relative address of the site's first page, and the link with
 * the page's path in `data-page` becomes the current one.
 */
export function fillParts(html, path, current = path) {
  const withParts = (text) =>
    text.replace(/<!-- ([\w/]+\.html) -->/g, (_, name) => withParts(readFileSync(join(folder, name), "utf8")));
  return withParts(html)
    .replaceAll("%ROOT%", upFrom(path))
    .replace(`data-page="${current}"`, 'aria-current="page"')
    .replace(/ data-page="[^"]*"/g, "");
}
