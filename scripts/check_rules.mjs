// The rules of this repository that no compiler knows. `node scripts/check_rules.mjs` prints what breaks them.
//
// Each rule is a function from a tree, { path: text }, to a list of complaints, so that tests/rules/ can show it a small bad tree.

import { readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { checkOutsidePaths } from "./check/outside_paths.mjs";
import { capture, runMain } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The folders of src/, first to last, each with the folders it may include from besides its own. A file needs no entry here: it belongs to
 * the folder it is in.
 */
const coreFolders = {
  base: [],
  rope: ["base"],
  attention: ["base", "rope"],
  cache: ["base", "rope", "attention"],
  matmul: ["base"],
  quantize: ["base", "matmul"],
  recurrence: ["base"],
  sampling: ["base"],
  vectors: ["base"],
  transformer: ["base", "rope", "attention", "cache", "matmul", "recurrence", "sampling", "vectors"],
};

/** The folders of web/src/, likewise. The entries are next to them and may import from all. */
const packageFolders = {
  base: [],
  config: ["base"],
  memory: ["base", "config"],
  wasm: ["memory"],
  rope: ["base", "config", "memory"],
  attention: ["base", "config", "memory", "rope"],
  cache: ["base", "config", "memory", "rope", "attention"],
  files: ["base"],
  text: ["base"],
  grammar: ["base", "text"],
  model: ["base", "config", "memory", "rope", "attention", "cache", "files", "text", "grammar"],
  load: ["base", "config", "memory", "rope", "attention", "cache", "files", "text", "model"],
  serving: ["base", "grammar", "text", "model"],
  openai: ["base", "grammar", "text", "model", "serving"],
  ai_sdk: ["base", "grammar", "text", "model", "serving"],
  worker: ["base", "config", "files", "text", "grammar", "model", "load"],
  doctor: ["base", "config", "files", "rope", "model", "load"],
  cli: [
    "base",
    "config",
    "memory",
    "rope",
    "attention",
    "cache",
    "files",
    "text",
    "grammar",
    "model",
    "load",
    "doctor",
    "serving",
    "openai",
    "entries",
  ],
};

/** The entries of the package: the only files of web/src/ outside a folder. */
const packageEntries =
  /^(api|index|inline|inline_helper|inline_platform|inline_wasm|own_helper|own_wasm|worker|worker_inline|worker_thread|worker_thread_inline|doctor|openai|ai_sdk|cli)(\.node|\.workerd)?\.ts$/;

/** Libraries that are bundled into the package: all but leven in files that are fetched only when they are used. */
const bundledLibraries = ["leven", "comlink", "comlink/dist/esm/node-adapter.mjs"];

/** And those of the command line. */
const commandLineLibraries = [
  "commander",
  "cli-progress",
  "linkedom",
  "@observablehq/plot",
  "hono",
  "hono/body-limit",
  "hono/cors",
  "hono/streaming",
  "@hono/node-server",
];

/** Libraries whose types an entry is for. Its users have them. Nothing of them is bundled. */
const typeLibraries = { ai_sdk: ["@ai-sdk/provider"] };

const longestFile = 400;
const largestFolder = 29;
const longestReadme = 250;
const handWritten = /\.(cpp|h|def|ts|mjs|js|cjs|py|cmake|html|css|sh)$|(^|\/)CMakeLists\.txt$/;

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

/** C++ includes follow coreFolders; the bindings include from all of them. */
export function checkIncludes(tree) {
  const complaints = [];
  for (const [path, text] of Object.entries(tree)) {
    const [, top, folder] = /^(src|bindings)\/(?:(\w+)\/)?.*\.(?:h|cpp)$/.exec(path) ?? [];
    if (top === undefined || folder === "simde") continue;
    const isCore = top === "src";
    if (isCore && !(folder in coreFolders))
      complaints.push(`${path}: its folder is not in coreFolders of scripts/check_rules.mjs`);
    const allowed = isCore ? [folder, ...(coreFolders[folder] ?? [])] : Object.keys(coreFolders);
    for (const { line, name, isSystem } of includesOf(text)) {
      const complain = (message) => complaints.push(`${path}:${line}: includes ${name}, ${message}`);
      const [target] = name.split("/");
      if (isSystem) {
        if (isCore && name.startsWith("emscripten")) complain("but only bindings may use Emscripten");
      } else if (!isCore && target === "bindings") {
        if (!(name in tree)) complain("which does not exist");
      } else if (!(target in coreFolders)) {
        complain(`but paths start at src: one of ${Object.keys(coreFolders).join("/, ")}/`);
      } else if (!(`src/${name}` in tree)) {
        complain("which does not exist in src");
      } else if (!allowed.includes(target)) {
        complain(`but ${folder} may not include from ${target}`);
      }
    }
  }
  return complaints;
}

/** No header or source of src/ includes itself through others. */
export function checkIncludeCycles(tree) {
  const graph = new Map();
  for (const [path, text] of Object.entries(tree)) {
    if (!/^src\/.*\.(h|cpp)$/.test(path)) continue;
    graph.set(
      path,
      includesOf(text).map(({ name }) => ({ target: `src/${name}` in tree ? `src/${name}` : undefined })),
    );
  }
  return cyclesOf(graph, "includes");
}

/** The modules that each module of web/src/ imports, exports from or names in a type. */
function importsOf(tree) {
  const graph = new Map();
  for (const [path, text] of Object.entries(tree)) {
    if (!/^web\/src\/.*\.ts$/.test(path)) continue;
    const imports = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName, pos }) => ({
      specifier: fileName,
      isType: /\b(import|export) type [^;]*$/.test(text.slice(0, pos)),
      line: lineAt(text, pos),
      target: fileName.startsWith(".") ? moduleAt(tree, posix.join(posix.dirname(path), fileName)) : undefined,
    }));
    graph.set(path, imports);
  }
  return graph;
}

const isCommandLine = (path) => path.startsWith("web/src/apps/cli/");

function moduleAt(tree, path) {
  const candidates = [
    path.replace(/\.js$/, ".ts"),
    path.replace(/\.js$/, ".d.ts"),
    path.replace(/\.wasm$/, ".d.wasm.ts"),
  ];
  return candidates.find((candidate) => candidate in tree);
}

/** TypeScript imports follow packageFolders, and only what runs in Node imports from Node. */
export function checkImports(tree) {
  const complaints = [];
  const folderOf = (path) => /^web\/src\/(?:(\w+)\/)?/.exec(path)[1] ?? "entries";
  for (const [path, imports] of importsOf(tree)) {
    const folder = folderOf(path);
    const isEntry = folder === "entries";
    if (isEntry && !packageEntries.test(path.slice("web/src/".length)))
      complaints.push(`${path}: is not an entry of the package; move it to a folder`);
    if (!isEntry && !(folder in packageFolders))
      complaints.push(`${path}: its folder is not in packageFolders of scripts/check_rules.mjs`);
    const allowed = isEntry ? [folder, ...Object.keys(packageFolders)] : [folder, ...(packageFolders[folder] ?? [])];
    for (const { specifier, line, target, isType } of imports) {
      const complain = (message) => complaints.push(`${path}:${line}: imports ${specifier}, ${message}`);
      if (target !== undefined) {
        if (!allowed.includes(folderOf(target))) complain(`but ${folder} may not import from ${folderOf(target)}`);
      } else if (specifier.startsWith(".")) {
        complain("which does not exist in web/src");
      } else if (
        bundledLibraries.includes(specifier) ||
        (isCommandLine(path) && commandLineLibraries.includes(specifier))
      ) {
        // ships inside the package
      } else if (typeLibraries[folder]?.includes(specifier)) {
        if (!isType) complain("of which only types may be imported");
      } else if (!specifier.startsWith("node:")) {
        complain("but the package has no dependencies");
      } else if (!/\.node\.ts$/.test(path) && !isCommandLine(path)) {
        complain("which browsers do not have");
      }
    }
  }
  return complaints;
}

/** No module of web/src/ imports itself through others, types included. */
export function checkCycles(tree) {
  return cyclesOf(importsOf(tree), "imports");
}

function cyclesOf(graph, verb) {
  const done = new Set();
  const cycles = [];
  const visit = (path, trail) => {
    if (trail.includes(path)) {
      cycles.push(`${[...trail.slice(trail.indexOf(path)), path].join(" → ")}: ${verb} in a circle`);
      return;
    }
    if (done.has(path)) return;
    for (const { target } of graph.get(path) ?? []) if (target !== undefined) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}

/** The README stays an introduction. Reference material belongs in docs/. */
export function checkReadmeLength(tree) {
  const lines = (tree["README.md"] ?? "").trimEnd().split("\n").length;
  return lines > longestReadme
    ? [`README.md: has ${lines} lines, more than ${longestReadme}; move reference material to docs/`]
    : [];
}

/** Folders stay small enough to read at a glance. */
export function checkFolders(tree) {
  const counts = new Map();
  for (const path of Object.keys(tree)) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > largestFolder)
    .map(([folder, count]) => `${folder}: has ${count} files, more than ${largestFolder}`);
}

/** Every folder of code says what it is for in a README. */
export function checkReadmes(tree) {
  const expected = [
    ...Object.keys(coreFolders).map((name) => `src/${name}`),
    ...Object.keys(packageFolders).map((name) => `web/src/${name}`),
  ];
  return expected.filter((folder) => !(`${folder}/README.md` in tree)).map((folder) => `${folder}: has no README.md`);
}

/** Sources that people write stay short. */
export function checkLengths(tree) {
  return Object.entries(tree)
    .filter(([path]) => handWritten.test(path))
    .map(([path, text]) => ({ path, lines: text.replace(/\n$/, "").split("\n").length }))
    .filter(({ lines }) => lines > longestFile)
    .map(({ path, lines }) => `${path}: has ${lines} lines, more than ${longestFile}`);
}

/** Text that is valid on one machine only: its folders, and the registries and archives that it uses. */
const machinePatterns = [
  { name: "a folder of one machine", pattern: /(?<![\w.:/*-])\/(?:work|root|home|Users|mnt|builds)\/[\w.-]+/ },
  { name: "a folder of one machine", pattern: /\b[A-Z]:\\\\?(?:Users|Documents)\b/ },
  {
    name: "the host of a package registry",
    pattern: /\b(?:registry|npm|pypi|files)\.[a-z-]+\.(?:org|com|net|io|dev)\b/,
  },
  {
    name: "the host of a package archive",
    pattern: /\b(?:deb|archive|security|ftp)\.(?:[a-z]+\.)?(?:debian|ubuntu)\.(?:org|com)\b/,
  },
  { name: "an address of one network", pattern: /\b(?:10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d+\.\d+\b/ },
];

/** Tracked files contain nothing that is valid on one machine only. */
export function checkMachine(tree) {
  return Object.entries(tree).flatMap(([path, text]) =>
    text
      .split("\n")
      .flatMap((line, index) =>
        machinePatterns
          .filter(({ pattern }) => pattern.test(line))
          .map(({ name, pattern }) => `${path}:${index + 1}: names ${name}: ${pattern.exec(line)[0]}`),
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
  "C++ has no include cycles": checkIncludeCycles,
  "TypeScript imports go one way": checkImports,
  "TypeScript has no import cycles": checkCycles,
  "files are short": checkLengths,
  "the README is short": checkReadmeLength,
  "folders are small": checkFolders,
  "folders have a README": checkReadmes,
  "no paths or hosts of one machine": checkMachine,
  "no paths that leave the repository": checkOutsidePaths,
  "no registry in the lock file": checkLockFile,
};

/** The repository as git sees it: what is tracked, and what is new and not ignored. */
export async function readTree(folder = root) {
  const listed = await capture("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: folder,
  });
  const read = async (path) => [path, await readFile(join(folder, path), "utf8").catch(() => undefined)];
  const files = await Promise.all(listed.split("\0").filter(Boolean).map(read));
  return Object.fromEntries(files.filter(([, text]) => text !== undefined && !text.includes("\0"))); // deleted, or not text
}

await runMain(import.meta.url, async () => {
  const tree = await readTree();
  const complaints = Object.values(rules).flatMap((rule) => rule(tree));
  if (complaints.length > 0)
    throw new Error(`${complaints.length} breaches of the rules:\n  ${complaints.join("\n  ")}`);
  console.log(`${Object.keys(rules).length} rules hold for ${Object.keys(tree).length} files`);
});
