// Writes the guide: the pages of docs/ and the API in one navigation, by TypeDoc.
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { katex } from "@mdit/plugin-katex";
import { Application } from "typedoc";
import { framePages, guideStyles } from "./guide_frame.mjs";
import { sections } from "./guide_pages.mjs";
import { addSearchWords } from "./guide_search.mjs";

const root = join(import.meta.dirname, "..", "..");
const docs = join(root, "docs");
/** Copies of the pages with titles and groups for TypeDoc. */
const copies = join(root, "build", "guide");

/** Styles for TypeDoc, written before it runs. */
const styles = join(copies, "guide.css");

/** Writes the guide into `folder`, which is in the folder of the built site. */
export async function writeGuide(folder) {
  const pages = await copyPages();
  await writeFile(styles, await guideStyles(join(folder, "..", "assets")));
  const application = await Application.bootstrapWithPlugins({
    options: join(root, "typedoc.json"),
    out: folder,
    name: "Ropewalk guide",
    readme: join(copies, "README.md"),
    projectDocuments: pages,
    groupOrder: [...new Set([...sections().values()].map(({ section }) => section)), "*"],
    navigation: { includeGroups: true, excludeReferences: true },
    customCss: styles,
    markdownItLoader: (parser) => parser.use(katex, { output: "mathml", mathFence: true, throwOnError: true }),
    searchInDocuments: true,
    searchGroupBoosts: Object.fromEntries([...sections().values()].map(({ section }) => [section, 4])),
    hideGenerator: true,
    favicon: join(root, "web", "site", "public", "icon.svg"),
    logLevel: "Warn",
  });
  const project = await application.convert();
  if (project === undefined) throw new Error("TypeDoc can't read the sources");
  const titles = new Map([...sections()].map(([file, { title }]) => [file, title]));
  addSearchWords(application, project, { titles, first: await readFile(join(copies, "README.md"), "utf8") });
  await application.generateOutputs(project);
  if (application.logger.hasErrors() || application.logger.hasWarnings()) throw new Error("TypeDoc has complaints");
  await framePages(folder);
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
