// Importing the package expands no table of character classes, which only some tokenizers need.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { capture } from "../../scripts/run.mjs";

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));

// The characters of a class come from texts of thousands of characters (runs.ts), which takes 4 to 20 ms in an engine that has just started.
const LONGEST = 1000;

const program = (names) => `
  const { matchAll, replace } = String.prototype;
  let importing = "";
  const found = new Set();
  for (const [name, method] of Object.entries({ matchAll, replace }))
    String.prototype[name] = function (...values) {
      if (importing !== "" && this.length > ${LONGEST}) found.add(importing + ": " + this.slice(0, 40));
      return method.apply(this, values);
    };
  for (const name of ${JSON.stringify(names)}) {
    importing = name;
    await import(new URL(name, ${JSON.stringify(pathToFileURL(dist).href)}));
  }
  importing = "";
  console.log(JSON.stringify([...found]));`;

test("no module looks for matches in a long text when it is imported", async () => {
  // index.workerd.js imports wasm, which Node can't do
  const names = readdirSync(dist).filter((name) =>
    /^shared-.*\.js$|^(index|index\.node|doctor\.node|search|openai|ai_sdk)\.js$/.test(name),
  );
  assert.ok(names.length > 100);
  const found = await capture(process.execPath, ["--input-type=module", "-e", program(names)]);
  assert.deepEqual(JSON.parse(found), []);
});
