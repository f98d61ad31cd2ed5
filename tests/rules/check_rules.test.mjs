// Each rule of scripts/check_rules.mjs finds the mistake in a small bad tree, and accepts a good tree and this repository.
import assert from "node:assert/strict";
import test from "node:test";
import { checkCycles, checkFolderCycles, checkImports, checkLayers } from "../../scripts/check/imports.mjs";
import { checkIncludeCycles, checkIncludes } from "../../scripts/check/includes.mjs";
import { checkInstructionSets } from "../../scripts/check/instruction_sets.mjs";
import {
  checkFolders,
  checkLengths,
  checkLockFile,
  checkMachine,
  checkReadmeLength,
  checkReadmes,
  readTree,
  rules,
} from "../../scripts/check_rules.mjs";

const repository = await readTree();

for (const [name, rule] of Object.entries(rules)) {
  test(`this repository: ${name}`, () => assert.deepEqual(rule(repository), []));
}

test("the files of this repository are read", () => {
  for (const path of [
    "src/rope/rope.h",
    "web/src/index.ts",
    "bindings/rope.cpp",
    "scripts/build.mjs",
    "package-lock.json",
  ])
    assert.ok(path in repository, path);
});

/** Expects exactly one complaint of a rule, which matches the pattern. */
function expectOne(rule, tree, pattern) {
  const complaints = rule(tree);
  assert.equal(complaints.length, 1, `one complaint: ${JSON.stringify(complaints)}`);
  assert.match(complaints[0], pattern);
}

const core = {
  "src/base/status.h": "#include <cstdint>\n",
  "src/rope/plan.h": '#pragma once\n\n#include "base/status.h"\n',
  "src/rope/plan.cpp": '#include "rope/plan.h"\n',
  "src/rope/plans/yarn.cpp": '#include <cmath>\n#include "rope/plan.h"\n',
  "src/attention/attention.h": '#include "rope/plan.h"\n',
  "bindings/embind.h": "#include <emscripten/bind.h>\n",
  "bindings/rope.cpp": '#include "bindings/embind.h"\n#include "attention/attention.h"\n',
};

test("includes in a good tree", () => {
  assert.deepEqual(checkIncludes(core), []);
  assert.deepEqual(checkIncludeCycles(core), []);
});

test("a header that includes from a later folder", () => {
  expectOne(
    checkIncludes,
    { ...core, "src/base/status.h": '\n\n#include "rope/plan.h"\n' },
    /^src\/base\/status\.h:3: includes rope\/plan\.h, but base may not include from rope$/,
  );
});

test("a source that includes from a later folder", () => {
  expectOne(
    checkIncludes,
    { ...core, "src/rope/plan.cpp": '#include "attention/attention.h"\n' },
    /rope may not include from attention/,
  );
  expectOne(
    checkIncludes,
    { ...core, "src/rope/plans/yarn.cpp": '  #  include "attention/attention.h"\n' },
    /rope may not include from attention/,
  );
});

test("a core file that includes bindings or Emscripten", () => {
  expectOne(checkIncludes, { ...core, "src/rope/plan.cpp": '#include "bindings/embind.h"\n' }, /paths start at src/);
  expectOne(
    checkIncludes,
    { ...core, "src/rope/plan.cpp": "#include <emscripten.h>\n" },
    /only bindings may use Emscripten/,
  );
});

test("a relative include, and an include of a missing file", () => {
  expectOne(checkIncludes, { ...core, "src/rope/plan.cpp": '#include "plan.h"\n' }, /paths start at src/);
  expectOne(checkIncludes, { ...core, "bindings/rope.cpp": '#include "rope/absent.h"\n' }, /does not exist in src/);
  expectOne(checkIncludes, { ...core, "bindings/rope.cpp": '#include "bindings/absent.h"\n' }, /does not exist/);
});

test("a core file in an unknown folder, and outside any folder", () => {
  expectOne(
    checkIncludes,
    { ...core, "src/misc/attention.h": "" },
    /^src\/misc\/attention\.h: its folder is not in coreFolders/,
  );
  expectOne(checkIncludes, { ...core, "src/attention.h": "" }, /^src\/attention\.h: its folder is not in coreFolders/);
});

test("a new file in a known folder is fine", () => {
  assert.deepEqual(checkIncludes({ ...core, "src/rope/plans/new.cpp": '#include "rope/plan.h"\n' }), []);
  assert.deepEqual(checkImports({ ...modules, "web/src/core/config/new.ts": 'import "../base/errors.js";' }), []);
});

test("headers that include each other", () => {
  expectOne(
    checkIncludeCycles,
    { "src/rope/a.h": '#include "rope/b.h"\n', "src/rope/b.h": '#include "rope/a.h"\n' },
    /a\.h → src\/rope\/b\.h → src\/rope\/a\.h: includes in a circle/,
  );
});

test("a source that depends on the instruction set and isn't listed, and one that is listed and doesn't", () => {
  const kernels = {
    "CMakeLists.txt": "set(ROPEWALK_KERNELS\n  src/rope/kernels/rotate_fastest.cpp)\n",
    "src/rope/kernels/rotate_fastest.cpp": '#include "rope/kernels/table.h"\n',
    "src/rope/kernels/rotate_relaxed.cpp": '#include "rope/kernels/table.h"\n',
    "src/rope/kernels/table.h": '#include "base/set.h"\n',
    "src/base/set.h": "#ifdef __wasm_relaxed_simd__\n",
    "src/rope/plan.cpp": "",
  };
  assert.deepEqual(checkInstructionSets(kernels), []);
  const notListed = { ...kernels, "src/rope/plan.cpp": '#include "rope/kernels/table.h"\n' };
  expectOne(checkInstructionSets, notListed, /^src\/rope\/plan\.cpp: depends on .*, but isn't in ROPEWALK_KERNELS/);
  expectOne(
    checkInstructionSets,
    { ...kernels, "src/base/set.h": "" },
    /^src\/rope\/.*_fastest\.cpp: doesn't depend on/,
  );
});

const modules = {
  "web/src/core/base/errors.ts": "export class RopewalkError {}\n",
  "web/src/core/memory/heap.ts":
    'import { RopewalkError } from "../base/errors.js";\nimport type { WasmModule } from "./wasm_module.js";\n',
  "web/src/core/memory/wasm_module.ts": "export interface WasmModule {}\n",
  "web/src/core/wasm/ropewalk.d.ts": 'import type { WasmModule } from "../memory/wasm_module.js";\n',
  "web/src/core/config/types.ts": 'import { RopewalkError } from "../base/errors.js";\n',
  "web/src/runtime/ropewalk/load.ts": 'import { Heap } from "../../core/memory/heap.js";\n',
  "web/src/index.ts":
    'export * from "./runtime/ropewalk/load.js";\nexport const glue = () => import("./core/wasm/ropewalk.js");\n',
  "web/src/index.node.ts":
    'import { readFile } from "node:fs/promises";\nexport * from "./runtime/ropewalk/load.js";\n',
};

test("imports in a good tree", () => {
  assert.deepEqual(checkImports(modules), []);
  assert.deepEqual(checkCycles(modules), []);
});

test("a module that imports from a later folder, in every syntax", () => {
  for (const text of [
    'import { load } from "../../runtime/ropewalk/load.js";',
    'import type { Load } from "../../runtime/ropewalk/load.js";',
    'import "../../runtime/ropewalk/load.js";',
    'export { load } from "../../runtime/ropewalk/load.js";',
    'const later = () => import("../../runtime/ropewalk/load.js");',
    'export type Loaded = import("../../runtime/ropewalk/load.js").Loaded;',
  ]) {
    expectOne(
      checkImports,
      { ...modules, "web/src/core/base/errors.ts": `\n${text}\n` },
      /^web\/src\/core\/base\/errors\.ts:2: imports \S+load\.js, but core\/base may not import from runtime\/ropewalk$/,
    );
  }
});

test("an import in a comment doesn't count", () => {
  assert.deepEqual(
    checkImports({
      ...modules,
      "web/src/core/base/errors.ts":
        '// import "../../runtime/ropewalk/load.js";\n/** import { load } from "../../runtime/ropewalk/load.js" */\n',
    }),
    [],
  );
});

test("imports of missing files, of packages, and of Node modules in browser code", () => {
  expectOne(
    checkImports,
    { ...modules, "web/src/runtime/ropewalk/load.ts": 'import "./absent.js";\n' },
    /does not exist in web\/src/,
  );
  expectOne(checkImports, { ...modules, "web/src/runtime/ropewalk/load.ts": 'import "lodash";\n' }, /no dependencies/);
  expectOne(
    checkImports,
    { ...modules, "web/src/runtime/ropewalk/load.ts": 'import "node:fs";\n' },
    /browsers do not have/,
  );
});

test("the AI SDK's types may be imported where its provider is, and nothing else of it", () => {
  const importing = (path, statement) => ({ ...modules, [path]: `${statement} from "@ai-sdk/provider";\n` });
  const provider = "web/src/apps/ai_sdk/provider.ts";
  assert.deepEqual(checkImports(importing(provider, "import type { ProviderV4 }")), []);
  expectOne(checkImports, importing(provider, "import { NoSuchModelError }"), /only types may be/);
  expectOne(
    checkImports,
    importing("web/src/runtime/ropewalk/load.ts", "import type { ProviderV4 }"),
    /no dependencies/,
  );
});

test("the command line may import from Node and from its own libraries, and only its entry imports it", () => {
  const command = {
    "web/src/apps/cli/plot/plot.ts":
      'import "node:fs";\nimport "commander";\nimport { load } from "../../../index.node.js";\n',
    "web/src/cli.node.ts": 'import "./apps/cli/plot/plot.js";\n',
  };
  assert.deepEqual(checkImports({ ...modules, ...command }), []);
  expectOne(
    checkImports,
    { ...modules, "web/src/runtime/ropewalk/load.ts": 'import "commander";\n' },
    /no dependencies/,
  );
  expectOne(
    checkImports,
    { ...modules, ...command, "web/src/runtime/ropewalk/load.ts": 'import "../../apps/cli/plot/plot.js";\n' },
    /ropewalk may not import from apps\/cli/,
  );
});

test("a module outside any folder, and one in an unknown folder", () => {
  expectOne(checkImports, { ...modules, "web/src/misc.ts": "" }, /^web\/src\/misc\.ts: is not an entry of the package/);
  expectOne(
    checkImports,
    { ...modules, "web/src/misc/misc.ts": "" },
    /^web\/src\/misc\/misc\.ts: its folder is not in packageFolders/,
  );
});

test("import cycles of one, two and three modules, with types", () => {
  const config = (name) => `web/src/core/config/${name}.ts`;
  expectOne(
    checkCycles,
    { [config("a")]: 'import type { A } from "./a.js";' },
    /a\.ts → web\/src\/core\/config\/a\.ts: imports in a circle/,
  );
  expectOne(
    checkCycles,
    { [config("a")]: 'import "./b.js";', [config("b")]: 'export type A = import("./a.js").A;' },
    /a\.ts → .*b\.ts → .*a\.ts/,
  );
  const three = {
    [config("a")]: 'import "./b.js";',
    [config("b")]: 'import "./c.js";',
    [config("c")]: 'import "./a.js";',
  };
  expectOne(checkCycles, three, /a\.ts → .*b\.ts → .*c\.ts → .*a\.ts/);
  assert.deepEqual(checkCycles({ ...three, [config("c")]: "" }), []);
});

test("a layer that imports from a later one, and one that isn't listed", () => {
  const model = (path) => `web/src/runtime/model/${path}.ts`;
  const good = {
    [model("model")]: 'import "./session/session.js";\nimport "./prompt.js";',
    [model("prompt")]: "",
    [model("session/session")]: 'import "../plan/model_plan.js";',
    [model("plan/model_plan")]: "",
  };
  assert.deepEqual(checkLayers(good), []);
  expectOne(
    checkLayers,
    { ...good, [model("plan/model_plan")]: 'import type { S } from "../session/session.js";' },
    /model_plan\.ts:1: imports \.\.\/session\/session\.js, but plan may not import from session$/,
  );
  expectOne(
    checkLayers,
    { ...good, [model("session/session")]: 'import "../prompt.js";' },
    /session may not import from the top of its folder$/,
  );
  expectOne(checkLayers, { ...good, [model("misc/a")]: "" }, /its folder is not in layers/);
});

test("folders, and files beside them, that import from each other", () => {
  const files = (path) => `web/src/runtime/files/${path}.ts`;
  const good = {
    [files("open")]: 'import "./hub/a.js";',
    [files("hub/a")]: "",
    [files("cache/a")]: 'import "../hub/a.js";',
  };
  assert.deepEqual(checkFolderCycles(good), []);
  expectOne(
    checkFolderCycles,
    { ...good, [files("hub/b")]: 'import type { A } from "../cache/a.js";' },
    /^web\/src\/runtime\/files: (hub → cache → hub|cache → hub → cache): imports in a circle$/,
  );
  expectOne(
    checkFolderCycles,
    { ...good, [files("hub/b")]: 'import "../open.js";' },
    /^web\/src\/runtime\/files: (open\.ts → hub → open\.ts|hub → open\.ts → hub): imports in a circle$/,
  );
});

test("files that are too long, and files that may be long", () => {
  const lines = (count) => "x\n".repeat(count);
  expectOne(checkLengths, { "src/rope/plan.cpp": lines(401) }, /^src\/rope\/plan\.cpp: has 401 lines, more than 400$/);
  for (const path of ["a.h", "a.ts", "a.mjs", "a.py", "a.cmake", "CMakeLists.txt", "tests/native/CMakeLists.txt"]) {
    expectOne(checkLengths, { [path]: lines(401) }, /401 lines/);
    assert.deepEqual(checkLengths({ [path]: lines(400) }), []);
  }
  assert.deepEqual(checkLengths({ "package-lock.json": lines(9000), "README.md": lines(500) }), []);
});

test("folders with too many files", () => {
  const folder = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`src/rope/${i}.h`, ""]));
  expectOne(checkFolders, folder(30), /^src\/rope: has 30 files, more than 29$/);
  assert.deepEqual(checkFolders(folder(29)), []);
});

test("a README that is too long", () => {
  expectOne(checkReadmeLength, { "README.md": "x\n".repeat(251) }, /^README\.md: has 251 lines, more than 250/);
  assert.deepEqual(checkReadmeLength({ "README.md": "x\n".repeat(250) }), []);
});

test("folders without a README", () => {
  const { "src/rope/README.md": _, ...rest } = repository;
  expectOne(checkReadmes, rest, /^src\/rope: has no README\.md$/);
});

test("paths and hosts of one machine", () => {
  const slash = "/"; // kept apart so that this file doesn't break the rule
  for (const [text, pattern] of [
    [`cd ${slash}work/main`, /:1: names a folder of one machine: \/work\/main/],
    [`"${slash}home/ann/ropewalk"`, /\/home\/ann/],
    [`(${slash}Users/ann)`, /\/Users\/ann/],
    [`${slash}root/.npmrc`, /\/root\/\.npmrc/],
    ["C:" + "\\Users\\ann", /a folder of one machine/],
    [["https://registry", "npmjs", "org/pure-rand"].join("."), /the host of a package registry/],
    [["registry", "yarnpkg", "com"].join("."), /the host of a package registry/],
    [["http://deb", "debian", "org/debian"].join("."), /the host of a package archive/],
    [["http://192", "168", "0", "7:4873"].join("."), /an address of one network/],
  ]) {
    expectOne(checkMachine, { "scripts/build.mjs": `${text}\n` }, pattern);
  }
});

test("paths and words that only look like those of one machine", () => {
  const fine = [
    "/usr/lib/llvm-14",
    "web/src/work/x",
    "https://example.org/home/x",
    "./root/x",
    "127.0.0.1",
    "a/work/b",
    "1/root",
    "registry.register(x)",
    "sources/*/home/x",
  ];
  assert.deepEqual(checkMachine({ "README.md": fine.join("\n") }), []);
});

test("lock files", () => {
  const lock = (entry) => ({
    "package-lock.json": JSON.stringify({ packages: { "": { version: "1.0.0" }, "node_modules/a": entry } }),
  });
  assert.deepEqual(checkLockFile(lock({ version: "1.2.3", integrity: "sha512-x" })), []);
  expectOne(
    checkLockFile,
    lock({ version: "1.2.3", integrity: "sha512-x", resolved: "https://host/a.tgz" }),
    /is resolved to https:\/\/host/,
  );
  expectOne(checkLockFile, lock({ version: "1.2.3" }), /a 1\.2\.3 has no checksum/);
  expectOne(checkLockFile, {}, /is missing/);
});
