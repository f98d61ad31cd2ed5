// What the texts say, run: the README's JavaScript is one program, and every link to a file leads somewhere.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

test("the README's code runs, and gives what it says", async () => {
  const { blocks, code } = programOf(await read("README.md"));
  assert.ok(blocks.length >= 8, `${blocks.length} blocks`);
  // in a folder of this package, so that "ropewalk" means this package; imports go to the top
  const folder = join(root, "build", "readme");
  const file = join(folder, `readme_${process.pid}.mjs`);
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
  assert.ok(checks >= 7, `${checks} checks`);
});

for (const name of ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]) {
  test(`links of ${name} lead to files`, async () => {
    const targets = [...(await read(name)).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target]) => target);
    const missing = targets.filter((target) => !/^https?:/.test(target) && !existsSync(join(root, target)));
    assert.deepEqual(missing, []);
  });
}
