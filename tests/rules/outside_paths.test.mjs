// Paths that leave the repository are found, in text, JavaScript and Python. The rule leaves out this file, which is full of them.
import assert from "node:assert/strict";
import test from "node:test";
import { checkOutsidePaths } from "../../scripts/check/outside_paths.mjs";

test("paths within the repository", () => {
  const tree = {
    "tests/unit/text/a.test.mjs": [
      `import { rw } from "../../../build/package/load.js";`,
      `const root = join(import.meta.dirname, "..", "..", "..");`,
      `const models = join(root, "tests", "golden");`,
      `const other = join(models, "..", "text");`,
      `const url = new URL("../../text/", import.meta.url);`,
    ].join("\n"),
    "tests/golden/generate/a.py": 'ROOT = Path(__file__).parents[3]\nout = ROOT.joinpath("a") / "b"\n',
    "docs/apps/a.md": `See [the code](../../src/rope/plan.cpp).\n`,
    "tests/golden/hub.json": `"../../../blobs"`,
    "src/rope/a.cpp": `// ../../../../../../../../../is not checked`,
  };
  assert.deepEqual(checkOutsidePaths(tree), []);
});

test("paths that leave the repository", () => {
  for (const [path, text] of [
    ["tests/unit/text/a.test.mjs", `new URL("../../../../shared/data/", import.meta.url)`],
    ["tests/a.test.mjs", `readFileSync(\`../../data/a.json\`)`],
    ["tests/a.test.mjs", `// real files are in ../shared`],
    ["tests/files/a.mjs", 'const folder = join(import.meta.dirname, "..", "..", "..", "data");'],
    ["tests/files/a.mjs", 'const folder = path.join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");'],
    ["tests/files/a.mjs", 'const folder = join(root, "..", "data");'],
    ["scripts/a.mjs", 'const top = join(import.meta.dirname, "..");\nconst folder = resolve(top, "..", "data");'],
    ["tests/golden/generate/a.py", 'DATA = Path(__file__).parents[4] / "data"'],
    ["tests/golden/generate/a.py", "DATA = Path(__file__).parents[3].parent"],
    ["tests/golden/generate/a.py", 'ROOT = Path(__file__).resolve().parents[3]\nread(ROOT.parent / "data")'],
    ["tests/golden/generate/a.py", `ROOT = Path(__file__).parents[3]\nread(ROOT / "../data")`],
    ["docs/a.md", `the folder \`../../data\``],
    ["CONTRIBUTING.md", `the folder ../data`],
  ])
    assert.ok(checkOutsidePaths({ [path]: text }).length > 0, text);
});
