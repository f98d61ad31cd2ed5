// The rules of this repository that no compiler knows. `node scripts/check_rules.mjs` prints what breaks them.
//
// Each rule is a function from a tree, { path: text }, to a list of complaints, so that tests/rules/ can show it a small bad tree.

import { readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { capture, runMain } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Stages of src/, first to last: a file includes headers of its own stage and of earlier ones. */
const coreStages = [
  { name: "base", files: ["status", "buffer", "storage", "storage_wasmsimd", "add_product", "touch", "reproducible_math", "sin_cos"].map(inRope) },
  { name: "config", files: ["config"].map(inRope) },
  { name: "plan", files: ["plan", "axis_map", "plans/"].map(inRope) },
  { name: "table", files: ["positions", "cos_sin_rows", "cos_sin_table"].map(inRope) },
  {
    name: "rotate",
    files: ["pair_layout", "rotate_kernels", "rotate_simd", "rotate_scalar", "rotate_wasmsimd", "rotate_relaxed", "fastest_kernels", "rotate"].map(inRope),
  },
  { name: "rerotate", files: ["difference_rows", "rerotate"].map(inRope) },
  { name: "rope", files: ["rope"].map(inRope) },
  { name: "analysis", files: ["pairing", "pair_analysis", "decay"].map(inRope) },
  { name: "rows and bytes", files: ["row_storage", "float_math", "float_math_wasmsimd", "tensor_strides", "checksum", "image"].map(inNn) },
  {
    name: "attention kernels",
    files: ["attention_kernels", "attention_simd", "attention_scalar", "attention_wasmsimd", "attention_relaxed", "fastest_attention_kernels"].map(inNn),
  },
  { name: "position schemes", files: ["position_scheme"].map(inNn) },
  { name: "attention", files: ["attention", "attention_mask", "attention_encoding", "attend_tensors"].map(inNn) },
  { name: "cache", files: ["kv_geometry", "kv_sequence", "kv_turn", "kv_cache", "kv_cache_append", "kv_cache_retune", "kv_image"].map(inNn) },
  { name: "linear attention", files: ["linear_attention", "linear_image"].map(inNn) },
  { name: "weight formats", files: ["weight_format", "dequantize", "packed_rows"].map(inNn) },
  {
    name: "matrix products",
    files: [
      ...["quantize_activations", "matmul_kernels", "matmul_unrolled", "matmul_read_ahead", "matmul_integer_dot", "matmul_formats_simd", "matmul_floats_simd", "matmul_simd"],
      ...["matmul_scalar", "matmul_wasmsimd", "matmul_relaxed", "matmul_fastest", "matmul"],
    ].map(inNn),
  },
  { name: "vectors", files: ["normalize", "activation"].map(inNn) },
  { name: "transformer", files: ["model_config", "weights", "router", "forward", "sampler", "loss"].map(inTransformer) },
];

function inRope(name) {
  return `rope/${name}`;
}

function inNn(name) {
  return `nn/${name}`;
}

function inTransformer(name) {
  return `transformer/${name}`;
}

/** Stages of web/src/, likewise: a module imports, types included, from its own stage and from earlier ones. */
const packageStages = [
  { name: "errors", files: ["errors", "dispose", "checks"] },
  { name: "config", files: ["config/"] },
  { name: "wasm module", files: ["wasm_module", "wasm/", "engine"] },
  { name: "heap", files: ["heap", "owned"] },
  { name: "tensors and positions", files: ["elements", "shape", "positions", "tensor"] },
  { name: "plan", files: ["plan"] },
  { name: "core", files: ["wasm_config", "rope_core"] },
  {
    name: "operations",
    files: ["operand", "lend", "pass_through", "rotate", "rerotate", "table", "pairing", "decay", "description", "warnings", "describe_text", "describe"],
  },
  { name: "rope", files: ["rope"] },
  {
    name: "attention",
    files: [
      ...["given_rope", "qkv", "position_scheme", "position_tables", "attention_options", "attention"],
      ...["kv_cache_options", "kv_cache_core", "kv_append", "kv_attend", "kv_read", "kv_retune", "kv_image", "kv_cache"],
      ...["linear_sums", "linear_attention", "linear_state"],
    ],
  },
  { name: "files and text", files: ["files/", "text/"] },
  { name: "model", files: ["model/"] },
  { name: "runtime", files: ["runtime"] },
  { name: "load", files: ["load", "platform_web", "describe_loaded"] },
  { name: "worker", files: ["worker/"] },
  { name: "entries", files: ["api", "index", "index.node", "inline", "worker", "worker.node", "worker_thread", "worker_thread.node"] },
  { name: "command line", files: ["cli/", "cli.node"] },
];

/** Libraries that are bundled into the package, in files that are fetched only when they are used. */
const bundledLibraries = ["@huggingface/jinja", "@huggingface/tokenizers", "comlink", "comlink/dist/esm/node-adapter.mjs"];

/** And those of the command line. */
const commandLineLibraries = ["commander", "cli-progress", "linkedom", "@observablehq/plot"];

const longestFile = 400;
const handWritten = /\.(cpp|h|ts|mjs|js|cjs|py|cmake|html|css|sh)$|(^|\/)CMakeLists\.txt$/;

/** The position of a file among the stages, or -1. `name` has neither folder prefix nor extension. */
function stageOf(stages, name) {
  return stages.findIndex(({ files }) => files.some((file) => (file.endsWith("/") ? name.startsWith(file) : name === file)));
}

const withoutExtension = (path) => path.replace(/\.(h|cpp|d\.ts|ts|js)$/, "");

/** Every #include of a source: { line, name, isSystem }. */
function includesOf(text) {
  return [...text.matchAll(/^[ \t]*#[ \t]*include[ \t]*(?:"([^"]*)"|<([^>]*)>)/gm)].map((match) => ({
    line: lineAt(text, match.index),
    name: match[1] ?? match[2],
    isSystem: match[2] !== undefined,
  }));
}

function lineAt(text, index) {
  return text.slice(0, index).split("\n").length;
}

/** C++ goes one way: base, config, plan … attention, cache, then the bindings. */
export function checkIncludes(tree) {
  const complaints = [];
  for (const [path, text] of Object.entries(tree)) {
    const [, folder] = /^(src\/rope|src\/nn|src\/transformer|src\/simde|bindings)\/.*\.(?:h|cpp)$/.exec(path) ?? [];
    if (folder === undefined) continue;
    const isCore = /^src\/(rope|nn|transformer)$/.test(folder);
    const ownStage = isCore ? stageOf(coreStages, withoutExtension(path.slice("src/".length))) : Infinity;
    if (ownStage < 0) complaints.push(`${path}: is in no stage; add it to coreStages in scripts/check_rules.mjs`);
    for (const { line, name, isSystem } of includesOf(text)) {
      const complain = (message) => complaints.push(`${path}:${line}: includes ${name}, ${message}`);
      if (isSystem) {
        if (folder !== "bindings" && name.startsWith("emscripten")) complain("but only bindings know Emscripten");
      } else if (folder === "bindings" && name.startsWith("bindings/")) {
        if (!(name in tree)) complain("which is not there");
      } else if (!/^(rope|nn|transformer)\//.test(name)) {
        complain('but what is not a system header is named from src on: "rope/…", "nn/…" or "transformer/…"');
      } else if (!(`src/${name}` in tree)) {
        complain("which is not in src");
      } else {
        const stage = stageOf(coreStages, withoutExtension(name));
        if (ownStage >= 0 && stage > ownStage) complain(`of the later stage ${coreStages[stage].name}`);
      }
    }
  }
  return complaints;
}

/** The modules that each module of web/src/ imports, exports from or names in a type. */
function importsOf(tree) {
  const graph = new Map();
  for (const [path, text] of Object.entries(tree)) {
    if (!/^web\/src\/.*\.ts$/.test(path)) continue;
    const imports = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName, pos }) => ({
      specifier: fileName,
      line: lineAt(text, pos),
      target: fileName.startsWith(".") ? moduleAt(tree, posix.join(posix.dirname(path), fileName)) : undefined,
    }));
    graph.set(path, imports);
  }
  return graph;
}

const isCommandLine = (path) => path.startsWith("web/src/cli/");

function moduleAt(tree, path) {
  return [path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".d.ts")].find((candidate) => candidate in tree);
}

/** TypeScript goes one way: errors, config, … load, the entries, the command line; and only what runs in Node imports from Node. */
export function checkImports(tree) {
  const complaints = [];
  const stage = (path) => stageOf(packageStages, withoutExtension(path.slice("web/src/".length)));
  for (const [path, imports] of importsOf(tree)) {
    if (stage(path) < 0) complaints.push(`${path}: is in no stage; add it to packageStages in scripts/check_rules.mjs`);
    for (const { specifier, line, target } of imports) {
      const complain = (message) => complaints.push(`${path}:${line}: imports ${specifier}, ${message}`);
      if (target !== undefined) {
        if (stage(path) >= 0 && stage(target) > stage(path)) complain(`of the later stage ${packageStages[stage(target)].name}`);
      } else if (specifier.startsWith(".")) {
        complain("which is not in web/src");
      } else if (bundledLibraries.includes(specifier) || (isCommandLine(path) && commandLineLibraries.includes(specifier))) {
        // ships inside the package
      } else if (!specifier.startsWith("node:")) {
        complain("but the package has no dependencies");
      } else if (!/(\.node|\/node_files)\.ts$/.test(path) && !isCommandLine(path)) {
        complain("which pages do not have");
      }
    }
  }
  return complaints;
}

/** No module of web/src/ reaches itself again, types included. */
export function checkCycles(tree) {
  const graph = importsOf(tree);
  const done = new Set();
  const cycles = [];
  const visit = (path, trail) => {
    if (trail.includes(path)) {
      cycles.push(`${[...trail.slice(trail.indexOf(path)), path].join(" → ")}: imports in a circle`);
      return;
    }
    if (done.has(path)) return;
    for (const { target } of graph.get(path) ?? []) if (target !== undefined) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}

/** Sources that people write stay short. */
export function checkLengths(tree) {
  return Object.entries(tree)
    .filter(([path]) => handWritten.test(path))
    .map(([path, text]) => ({ path, lines: text.replace(/\n$/, "").split("\n").length }))
    .filter(({ lines }) => lines > longestFile)
    .map(({ path, lines }) => `${path}: has ${lines} lines, more than ${longestFile}`);
}

/** What holds on one machine only: its folders, and the registries and archives it happens to use. */
const machinePatterns = [
  { what: "a folder of one machine", pattern: /(?<![\w.:/*-])\/(?:work|root|home|Users|mnt|builds)\/[\w.-]+/ },
  { what: "a folder of one machine", pattern: /\b[A-Z]:\\\\?(?:Users|Documents)\b/ },
  { what: "the host of a package registry", pattern: /\b(?:registry|npm|pypi|files)\.[a-z-]+\.(?:org|com|net|io|dev)\b/ },
  { what: "the host of a package archive", pattern: /\b(?:deb|archive|security|ftp)\.(?:[a-z]+\.)?(?:debian|ubuntu)\.(?:org|com)\b/ },
  { what: "an address of one network", pattern: /\b(?:10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d+\.\d+\b/ },
];

/** Tracked files hold on every machine. */
export function checkMachine(tree) {
  return Object.entries(tree).flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) =>
      machinePatterns
        .filter(({ pattern }) => pattern.test(line))
        .map(({ what, pattern }) => `${path}:${index + 1}: names ${what}: ${pattern.exec(line)[0]}`),
    ),
  );
}

/** The lock file names versions and checksums, and not where one machine fetched them. */
export function checkLockFile(tree) {
  const lock = tree["package-lock.json"];
  if (lock === undefined) return ["package-lock.json: is missing"];
  return Object.entries(JSON.parse(lock).packages ?? {}).flatMap(([name, { resolved, integrity, link, version }]) => {
    if (!name.includes("node_modules/") || link) return [];
    if (resolved !== undefined) return [`package-lock.json: ${name} is resolved to ${resolved}`];
    return integrity === undefined ? [`package-lock.json: ${name} ${version} has no checksum`] : [];
  });
}

export const rules = {
  "C++ includes go one way": checkIncludes,
  "TypeScript imports go one way": checkImports,
  "TypeScript has no import cycles": checkCycles,
  "files are short": checkLengths,
  "nothing holds on one machine only": checkMachine,
  "the lock file names no registry": checkLockFile,
};

/** The repository as git sees it: what is tracked, and what is new and not ignored. */
export async function readTree(folder = root) {
  const listed = await capture("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: folder });
  const read = async (path) => [path, await readFile(join(folder, path), "utf8").catch(() => undefined)];
  const files = await Promise.all(listed.split("\0").filter(Boolean).map(read));
  return Object.fromEntries(files.filter(([, text]) => text !== undefined && !text.includes("\0"))); // deleted, or not text
}

await runMain(import.meta.url, async () => {
  const tree = await readTree();
  const complaints = Object.values(rules).flatMap((rule) => rule(tree));
  if (complaints.length > 0) throw new Error(`${complaints.length} breaches of the rules:\n  ${complaints.join("\n  ")}`);
  console.log(`${Object.keys(rules).length} rules hold for ${Object.keys(tree).length} files`);
});
