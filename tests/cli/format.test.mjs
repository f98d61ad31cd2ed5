// What the text of `ropewalk generate` may look like: each flag holds, and errors name the flag or the file.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ropewalk, withFolder } from "./program.mjs";

const small = fileURLToPath(new URL("../../examples/small_model", import.meta.url));
/** Has a token for each byte. */
const bytes = fileURLToPath(new URL("../golden/tiny_models/rwkv7", import.meta.url));

async function generated(...flags) {
  const { status, stdout, stderr } = await ropewalk(["generate", bytes, "the", "--seed", "1", "-n", "60", ...flags]);
  assert.equal(status, 0, stderr);
  return stdout.trimEnd();
}

/** Runs `act` with the path of a file that has a text. */
const withFile = (name, text, act) =>
  withFolder(async (folder) => {
    const file = join(folder, name);
    await writeFile(file, text);
    await act(file);
  });

test("--choice and --regex", async () => {
  assert.match(await generated("--choice", "blue", "--choice", "red"), /^(blue|red)$/);
  assert.match(await generated("--regex", "[0-9]{3}-[a-c]+x"), /^[0-9]{3}-[a-c]+(x|$)/);
});

test("--json-object and --json-schema", () =>
  withFile("schema.json", '{ "enum": [{ "kind": "boat" }, [1, 2], null] }', async (file) => {
    const one = JSON.parse(await generated("--json-schema", file));
    assert.ok([{ kind: "boat" }, [1, 2], null].some((each) => JSON.stringify(each) === JSON.stringify(one)));
    assert.match(await generated("--json-object"), /^\{/);
  }));

test("--grammar", () =>
  withFile("list.gbnf", 'root ::= item ("," item){2}\nitem ::= [a-z]{2}', async (file) =>
    assert.match(await generated("--grammar", file), /^[a-z]{2},[a-z]{2},[a-z]{2}$/),
  ));

for (const [name, flags, status, message] of [
  ["two flags", ["--choice", "a", "--regex", "b"], 2, /^error: --choice: can't be used with --regex/],
  ["a pattern that can't be read", ["--regex", "("], 2, /^error: --regex: /],
  ["a pattern of nothing", ["--regex", "[^\\s\\S]"], 2, /^error: --regex: allows no text/],
  [
    "no end",
    ["--choice", "a", "--ignore-end"],
    2,
    /^error: --ignore-end: can't be set for a text with a format, after which the end token follows; leave out --choice/,
  ],
  ["a file without a name", ["--grammar", ""], 1, /^error: "": no such file/],
  ["only the empty text", ["--choice", ""], 2, /^error: --choice: allows only the empty text, /],
  ["a schema that isn't there", ["--json-schema", "nowhere.json"], 1, /^error: nowhere\.json: /],
]) {
  test(`refused: ${name}`, async () => {
    const result = await ropewalk(["generate", small, "the", ...flags]);
    assert.match(result.stderr, message);
    assert.deepEqual([result.status, result.stdout], [status, ""]);
  });
}

test("refused: files that have no schema, and no grammar", async () => {
  for (const [flag, name, text, status, message] of [
    ["--json-schema", "cut.json", "{", 1, /cut\.json: isn't valid JSON/],
    ["--json-schema", "wrong.json", '{ "type": 5 }', 2, /wrong\.json\.type: /],
    ["--json-schema", "none.json", "false", 2, /none\.json: allows no value/],
    ["--grammar", "cut.gbnf", "root ::= (", 2, /cut\.gbnf: /],
  ]) {
    await withFile(name, text, async (file) => {
      const result = await ropewalk(["generate", small, "the", flag, file]);
      assert.match(result.stderr, message);
      assert.equal(result.status, status, result.stderr);
    });
  }
});
