// `ropewalk rank`: documents from arguments, a file and stdin, ordered as model.rank() orders them.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { ropewalk, withFolder } from "./program.mjs";

const model = fileURLToPath(new URL("../../examples/small_ranker/", import.meta.url));
const query = "The red ball is in the cellar.";
const documents = [
  "Anna likes red. The red ball is in the hall.",
  "The blue ball is in the cellar. Ben sings.",
  "The gold key is in the attic. The red ball is in the cellar.",
];
const lines = `${documents.join("\n")}\n`;

async function rankedInCode(options) {
  const opened = await (await load()).model(model);
  try {
    return (await opened.rank(query, documents, options)).map((ranked) => ({
      ...ranked,
      text: documents[ranked.index],
    }));
  } finally {
    opened.dispose();
  }
}

const ranked = async (words, options) => {
  const { status, stdout, stderr } = await ropewalk(["rank", model, query, ...words, "--json"], options);
  assert.equal(status, 0, stdout + stderr);
  return JSON.parse(stdout);
};

test("documents from arguments, a file and stdin have the order and the scores of model.rank()", () =>
  withFolder(async (folder) => {
    const expected = await rankedInCode();
    assert.deepEqual(await ranked(documents), { model: "model.safetensors", query, documents: expected });
    const file = join(folder, "lines.txt");
    await writeFile(file, lines);
    assert.deepEqual((await ranked(["--documents", file])).documents, expected);
    assert.deepEqual((await ranked(["-"], { input: lines })).documents, expected);
    assert.deepEqual((await ranked(["-", "--top", "1"], { input: lines })).documents, expected.slice(0, 1));
  }));

test("a table with the best document first, and its place in the list", async () => {
  const { status, stdout, stderr } = await ropewalk(["rank", model, query, ...documents]);
  assert.deepEqual([status, stderr], [0, ""]);
  const [head, , best, ...others] = stdout.trimEnd().split("\n");
  assert.equal(head, " score  place  document");
  assert.match(best, /^[01]\.\d{4} {6}3 {2}The gold key is in the attic\. The red ball is in the cellar\.$/);
  assert.equal(others.length, 2);
});

test("a long document is refused, or cut with --truncate", async () => {
  const long = `${documents[2]} `.repeat(20);
  assert.match((await ropewalk(["rank", model, query, long])).stderr, /^error: document 1: has \d+ tokens/);
  assert.equal((await ranked([long, "--truncate"])).documents.length, 1);
});
