// Debugging with the installed package: source maps, readable stacks, and declarations without internal members.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { inNewProcess } from "../helpers/processes.mjs";
import { rw } from "../helpers/runtime.mjs";
import { scriptsOf } from "./page_scripts.mjs";

const dist = join(dirname(fileURLToPath(import.meta.resolve("ropewalk/package.json"))), "dist");
const read = (name) => readFileSync(join(dist, name), "utf8");

/** The script of Workers and the minified entry contain what others contain, and nobody imports the command line. */
const PROGRAMS = ["worker_thread.js", "ropewalk.min.js", "cli.node.js"];

test("each script that apps import has a source map with sources, except the Emscripten glue and the wasm as base64", () => {
  const program = new Set(PROGRAMS.flatMap((name) => scriptsOf(dirname(dist), `dist/${name}`, () => true)));
  const imported = new Set(
    readdirSync(dist)
      .filter((name) => name.endsWith(".js") && !name.startsWith("shared-") && !PROGRAMS.includes(name))
      .flatMap((name) => scriptsOf(dirname(dist), `dist/${name}`, () => true)),
  );
  const mapless = (name) => !existsSync(join(dist, `${name}.map`));
  for (const name of [...program].filter((one) => !imported.has(one)).map((one) => one.replace(/^dist\//, ""))) {
    assert.ok(mapless(name), name);
    assert.doesNotMatch(read(name), /^\/\/# sourceMappingURL=(?!data:)/m, name);
  }
  const scripts = [...imported].map((name) => name.replace(/^dist\//, "")).filter((name) => dirname(name) !== "wasm");
  assert.ok(scripts.includes("index.js") && scripts.includes("index.node.js"));
  const sources = scripts.flatMap((name) => {
    assert.match(
      read(name),
      new RegExp(`//# sourceMappingURL=${basename(name).replaceAll(".", "\\.")}\\.map\n$`),
      name,
    );
    const map = JSON.parse(read(`${name}.map`));
    const ours = map.sources.filter((source) => /^(?:\.\.\/)+web\/src\//.test(source));
    // a script without our sources contains only a library or re-exports
    if (ours.length === 0) return [];
    assert.equal(map.sourcesContent.length, map.sources.length, name);
    map.sources.forEach((source, i) => {
      if (ours.includes(source)) assert.match(map.sourcesContent[i], /\b(?:import|export)\b/, `${name}: ${source}`);
    });
    return ours;
  });
  for (const path of [
    "core/rope/rotate.ts",
    "runtime/ropewalk/load.ts",
    "core/cache/cache.ts",
    "runtime/model/session/session.ts",
    "runtime/worker/rpc_client.ts",
  ])
    assert.ok(sources.includes(`../web/src/${path}`), path);
});

/** The names of the functions in a stack, up to the caller's. */
function framesOf(act) {
  try {
    act();
  } catch ({ stack }) {
    return [...stack.matchAll(/^ +at (?:new )?([\w.#]+) \(/gm)].map(([, name]) => name);
  }
  throw new Error("no error");
}

test("the stack of an error names our functions and classes", () => {
  const rope = rw.rope({ head_dim: 64, pairing: "half" });
  const rotate = () => rope.rotate(new Float32Array(3), { layout: "thd", shape: [1, 1, 64], positions: 0 });
  const frames = framesOf(rotate);
  assert.deepEqual(frames.slice(0, 4), ["openOperand", "openTensor", "rotate", "Rope.rotate"]);
  const frames2 = framesOf(() => rw.rope({ head_dim: 63, pairing: "half" }));
  for (const name of ["configure", "RopeCore", "Ropewalk.rope"])
    assert.ok(frames2.includes(name), `${name} in ${frames2}`);
  rope.dispose();
});

test("with --enable-source-maps the stack names our files and lines", async () => {
  const source = `
    import { load } from "ropewalk";
    const rw = await load({ build: process.env.ROPEWALK_BUILD });
    try { rw.tensor([-1]); } catch ({ stack }) { console.log(stack); }`;
  const stack = await inNewProcess(source, ["--enable-source-maps"]);
  assert.match(stack, /at .*checkShape \(.*web[\\/]src[\\/]core[\\/]memory[\\/]shape\.ts:\d+:\d+\)/);
});

/** The public classes, and the declaration files they are in. */
const classes = {
  Rope: "core/rope/rope",
  Tensor: "core/memory/tensor",
  Ropewalk: "runtime/ropewalk/ropewalk",
  KvCache: "core/cache/cache",
  LinearState: "core/attention/linear_state",
  Model: "runtime/model/model",
  Session: "runtime/model/session/session",
};

/** The members of a class in a declaration file, as [name, declaration]. */
function membersOf(name, path) {
  const code = read(`${path}.d.ts`).replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const [, body] = new RegExp(`export declare class ${name} [^{]*\\{\n([\\s\\S]*?)\n\\}`).exec(code);
  const pattern = /^ {4}((?:(?:private|protected|static|readonly|get|set) )*(#?\w+|\[\w+\])[\s\S]*?);$/gm;
  return [...body.matchAll(pattern)].map(([, declaration, member]) => [member, declaration]);
}

test("declarations of public classes have no internal members", () => {
  const internal = ["core", "heap", "address", "owned", "create", "connection"];
  for (const [name, path] of Object.entries(classes)) {
    const members = membersOf(name, path);
    assert.ok(members.length > 3, name);
    for (const [member, declaration] of members) {
      assert.ok(!internal.includes(member), `${name}.${member}`);
      const isHidden = /^(?:private|protected|static)\b/.test(declaration);
      assert.ok(!isHidden || declaration === "private constructor()", `${name}: ${declaration}`);
      assert.doesNotMatch(declaration, /\b(?:Heap|Owned|\w+Core|Connection|WasmModule)\b/, `${name}.${member}`);
    }
  }
});

test("every type in the declaration of a public class is exported", () => {
  const exported = ["api.d.ts", "index.d.ts", "runtime/worker/api.d.ts", "worker.d.ts"].map(read).join("\n");
  for (const [name, path] of Object.entries(classes)) {
    const code = read(`${path}.d.ts`);
    for (const [, names] of code.matchAll(/^import (?:type )?\{([^}]*)\}/gm)) {
      for (const imported of names.split(",").map((part) => part.replace("type ", "").trim())) {
        const isExported = new RegExp(`\\b${imported}\\b`).test(exported);
        assert.ok(isExported || imported === "disposeSymbol", `${name} uses ${imported}`);
      }
    }
  }
});
