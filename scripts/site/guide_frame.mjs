// The frame of the guide's pages: the site's header, faces and colors in place of TypeDoc's, and a content security policy.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { fillParts, upFrom } from "./page_parts.mjs";

const site = join(import.meta.dirname, "..", "..", "web", "site");

/** Styles of the guide, in order: what it shares with the other pages, and its own. */
const STYLES = ["page/fonts.css", "page/colors.css", "page/header.css", "guide.css"];

/** The policy of the guide's pages. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; object-src 'none'; base-uri 'self'";

/** Markdown has no tables without a header, so those of the first page have an empty one. */
const EMPTY_HEADER = /<thead>\s*<tr>(\s*<th[^>]*><\/th>)+\s*<\/tr>\s*<\/thead>/g;

/** What TypeDoc's script needs in its header: a button that opens the search, the search, and a button for the menu of narrow windows. */
const TOOLS = `<div class="tools">
<button type="button" id="tsd-search-trigger">Search <kbd>/</kbd></button>
<a href="#" class="button" id="tsd-toolbar-menu-trigger" data-toggle="menu" role="button">Pages</a>
</div>`;

/** The styles as one text. The faces are those that the site's build has written to `assets`. */
export async function guideStyles(assets) {
  const built = await readdir(assets);
  const texts = await Promise.all(STYLES.map((name) => readFile(join(site, name), "utf8")));
  return texts.join("\n").replace(/url\("@fontsource[^"]*\/([^/"]+)\.woff2"\)/g, (_, face) => {
    const file = built.find((name) => name.startsWith(`${face}-`) && name.endsWith(".woff2"));
    if (file === undefined) throw new Error(`the site's build has no ${face}.woff2`);
    return `url("../../assets/${file}")`; // from guide/assets/custom.css
  });
}

/**
 * Leaves in the navigation only the entries of the API, not their hundreds of names, which the pages of the entries list: building them takes
 * a phone a second. TypeDoc stores the navigation as JSON in base64, compressed.
 */
async function shortenNavigation(folder) {
  const path = join(folder, "assets", "navigation.js");
  const [, packed] = /= "([^"]*)"/.exec(await readFile(path, "utf8"));
  const groups = JSON.parse(inflateSync(Buffer.from(packed, "base64")).toString());
  const entries = groups.find(({ text }) => text === "API").children;
  for (const entry of entries) delete entry.children;
  const text = deflateSync(JSON.stringify(groups)).toString("base64");
  await writeFile(path, `window.navigationData = "${text}"`);
}

/** Gives the pages in `folder` their frame. */
export async function framePages(folder) {
  await shortenNavigation(folder);
  const faces = (await readdir(join(folder, "..", "assets"))).filter((name) => /normal.*\.woff2$/.test(name));
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".html")) continue;
    const path = join(folder, name);
    await writeFile(path, framed(await readFile(path, "utf8"), `/guide/${relative(folder, path)}`, faces));
  }
}

/** TypeDoc's own script in a page: it reads the theme that a reader has chosen, and hides the page until main.js has run. Neither is needed here. */
const THEME_SCRIPT = /<script>document\.documentElement\.dataset\.theme[\s\S]*?<\/script>/;

/** A page of TypeDoc in the site's frame. */
function framed(html, path, faces) {
  const up = upFrom(path);
  const header = fillParts("<!-- page/header.html -->", path, "/guide/index.html");
  const search = /<dialog id="tsd-search"[\s\S]*?<\/dialog>/.exec(html)[0];
  const preloads = faces.map(
    (file) => `<link rel="preload" as="font" type="font/woff2" href="${up}assets/${file}" crossorigin/>`,
  );
  const page = html
    .replace(THEME_SCRIPT, "")
    .replace(/<header class="tsd-page-toolbar">[\s\S]*?<\/header>/, () =>
      header.replace("</header>", `${TOOLS}</header>\n${search}`),
    )
    .replace('<div class="col-content">', '<div class="col-content" id="main" role="main">')
    .replace(/<a href="([^"]*)modules\.html">Ropewalk guide<\/a>/, '<a href="$1index.html">Ropewalk guide</a>')
    .replace('<div class="page-menu">', '<div class="page-menu" role="navigation" aria-label="On this page">')
    .replaceAll("<table>", '<table tabindex="0">') // wide ones scroll, also by keys
    .replaceAll(EMPTY_HEADER, "");
  return page
    .replace("<head>", () => `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}"/>`)
    .replace("</head>", () => `${preloads.join("")}</head>`);
}
