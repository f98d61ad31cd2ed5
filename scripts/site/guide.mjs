// Writes the guide: the pages of docs/ and the API in one navigation, by TypeDoc.
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { katex } from "@mdit/plugin-katex";
import { Application } from "typedoc";
import { sections } from "./guide_pages.mjs";

const root = join(import.meta.dirname, "..", "..");
const docs = join(root, "docs");
/** Copies of the pages with titles and groups for TypeDoc. */
const copies = join(root, "build", "guide");

/** Addresses of the other pages of the site. TypeDoc has no relative links in its header, so they are replaced in what it writes. */
const SITE = "https://site.invalid/";
const LINKS = {
  "RoPE Lab": "index.html",
  Doctor: "doctor/index.html",
  Models: "models/index.html",
  Guide: "guide/index.html",
};

/** Markdown has no tables without a header, so those of the start page have an empty one. */
const EMPTY_HEADER = /<thead>\s*<tr>(\s*<th[^>]*><\/th>)+\s*<\/tr>\s*<\/thead>/g;

/** Writes the guide into `folder`. */
export async function writeGuide(folder) {
  const pages = await copyPages();
  const application = await Application.bootstrap({
    options: join(root, "typedoc.json"),
    out: folder,
    name: "Ropewalk guide",
    readme: join(copies, "README.md"),
    projectDocuments: pages,
    groupOrder: [...new Set([...sections().values()].map(({ section }) => section)), "*"],
    navigation: { includeGroups: true },
    navigationLinks: Object.fromEntries(Object.entries(LINKS).map(([name, page]) => [name, SITE + page])),
    customCss: join(root, "web", "site", "guide.css"),
    markdownItLoader: (parser) => parser.use(katex, { output: "mathml", mathFence: true, throwOnError: true }),
    searchInDocuments: true,
    searchGroupBoosts: Object.fromEntries([...sections().values()].map(({ section }) => [section, 4])),
    hideGenerator: true,
    favicon: join(root, "web", "site", "public", "icon.svg"),
    logLevel: "Warn",
  });
  const project = await application.convert();
  if (project === undefined) throw new Error("TypeDoc can't read the sources");
  await application.generateOutputs(project);
  if (application.logger.hasErrors() || application.logger.hasWarnings()) throw new Error("TypeDoc has complaints");
  await finishPages(folder);
}

/** Copies docs/ into `copies`. Returns the paths of the copies. */
async function copyPages() {
  const { repository } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const source = `${repository.url.replace(/^git\+|\.git$/g, "")}/blob/main/`;
  await rm(copies, { recursive: true, force: true });
  await mkdir(copies, { recursive: true });
  await cp(join(docs, "pictures"), join(copies, "pictures"), { recursive: true });
  const adapted = async (file) => {
    const text = await readFile(join(docs, file), "utf8");
    return text.replace(/(!?)(\[[^\]]*\])\((\.\.\/[^)\s]+)\)/g, (link, picture, label, target) => {
      const path = join("docs", dirname(file), target);
      if (path.startsWith("docs/")) return link;
      return picture
        ? `!${label}(${relative(join(copies, dirname(file)), join(root, path))})`
        : `${label}(${source}${path})`;
    });
  };
  const readme = await adapted("README.md");
  await writeFile(join(copies, "README.md"), readme.replace(/^# .*\n/, "")); // TypeDoc writes a title
  const paths = [];
  for (const [file, { section, title }] of sections()) {
    const path = join(copies, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `---\ntitle: ${JSON.stringify(title)}\ngroup: ${section}\n---\n\n${await adapted(file)}`);
    paths.push(path);
  }
  return paths;
}

/** Links the pages of the guide with the rest of the site, and gives them a content security policy. */
async function finishPages(folder) {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".html")) continue;
    const path = join(folder, name);
    const html = await readFile(path, "utf8");
    const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
      ([, script]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
    );
    const policy = `default-src 'self'; script-src 'self' ${[...new Set(scripts)].join(" ")}; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; object-src 'none'; base-uri 'self'`;
    const up = `${relative(join(path, ".."), join(folder, ".."))}/`;
    await writeFile(
      path,
      html
        .replaceAll(SITE, up)
        .replaceAll(EMPTY_HEADER, "")
        .replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${policy}"/>`),
    );
  }
}
