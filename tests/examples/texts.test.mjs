// What the texts say, run: a page's JavaScript is one program, and every link to a file leads somewhere.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "..", "..");
const read = (name) => readFile(join(root, name), "utf8");

/** All js blocks one after the other. A line `expression; // → text` becomes a check that the expression prints so. */
function programOf(markdown) {
  const blocks = [...markdown.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code);
  const checked = blocks.join("\n").replace(/^(.+); \/\/ → (.+)$/gm, (_, expression, expected) => `check(() => ${expression}, ${JSON.stringify(expected)});`);
  return { blocks, code: `export default async (check) => {\n${checked}\n};` };
}

for (const [name, least] of Object.entries({ "README.md": { blocks: 11, checks: 12 }, "docs/attention_and_caches.md": { blocks: 11, checks: 20 } })) {
  test(`the code of ${name} runs, and gives what it says`, async () => {
    const { blocks, code } = programOf(await read(name));
    assert.ok(blocks.length >= least.blocks, `${blocks.length} blocks`);
    // in a folder of this package, so that "ropewalk" means this package; imports go to the top
    const folder = join(root, "build", "texts");
    const file = join(folder, `${basename(name, ".md")}_${process.pid}.mjs`);
    const imports = [];
    const body = code.replace(/^import .*$/gm, (line) => (imports.push(line), ""));
    await mkdir(folder, { recursive: true });
    await writeFile(file, [...imports, body].join("\n"));
    let checks = 0;
    const check = (expression, expected) => {
      checks += 1;
      assert.equal(String(expression()), expected, String(expression));
    };
    try {
      const { default: run } = await import(pathToFileURL(file).href);
      await run(check);
    } finally {
      await rm(file);
    }
    assert.equal(checks, (code.match(/^check\(/gm) ?? []).length);
    assert.ok(checks >= least.checks, `${checks} checks`);
  });
}

/** What a page's headings are called in links. */
function anchorsOf(markdown) {
  const headings = markdown.replace(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, heading]) => heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-"));
}

for (const name of ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "examples/README.md", "docs/attention_and_caches.md"]) {
  test(`links of ${name} lead to files and headings`, async () => {
    const targets = [...(await read(name)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
    const missing = [];
    for (const target of targets.filter((target) => !/^https?:/.test(target))) {
      const [path, anchor] = target.split("#");
      const file = path === "" ? name : join(dirname(name), path);
      if (!existsSync(join(root, file))) missing.push(target);
      else if (anchor !== undefined && !anchorsOf(await read(file)).includes(anchor)) missing.push(target);
    }
    assert.deepEqual(missing, []);
  });
}
