// The rules of TypeScript imports: wings, folders and layers go one way, and what ships has no dependencies.
import { posix } from "node:path";
import ts from "typescript";
import { cyclesOf, lineAt } from "./cycles.mjs";

const before = (wing, ...folders) => folders.map((folder) => `${wing}/${folder}`);
const allOfCore = before("core", "base", "memory", "wasm", "quantize", "config", "rope", "attention", "cache", "load");

/**
 * The folders of web/src/, each with those that it may import from besides its own. core is for those who bring their own model, runtime has
 * models, apps is what people call. The entries are next to the wings and may import from all.
 */
export const packageFolders = {
  "core/base": [],
  "core/memory": before("core", "base", "config"),
  "core/wasm": before("core", "memory"),
  "core/quantize": before("core", "base", "memory"),
  "core/config": before("core", "base"),
  "core/rope": before("core", "base", "memory", "config"),
  "core/attention": before("core", "base", "memory", "config", "rope"),
  "core/cache": before("core", "base", "memory", "config", "rope", "attention"),
  "core/load": before("core", "base", "memory", "quantize"),
  "runtime/files": before("core", "base", "quantize"),
  "runtime/text": before("core", "base"),
  "runtime/grammar": [...before("core", "base"), ...before("runtime", "text")],
  "runtime/model": [...allOfCore, ...before("runtime", "files", "text", "grammar")],
  "runtime/ropewalk": [...allOfCore, ...before("runtime", "files", "text", "model")],
  "runtime/worker": [...allOfCore, ...before("runtime", "files", "text", "grammar", "model", "ropewalk")],
  platform: [...allOfCore, ...before("runtime", "files", "ropewalk")],
  "apps/serving": [...before("core", "base"), ...before("runtime", "grammar", "text", "model")],
  "apps/decisions": [...before("core", "base"), ...before("runtime", "model"), "apps/serving"],
  "apps/openai": [
    ...before("core", "base"),
    ...before("runtime", "grammar", "text", "model"),
    ...before("apps", "serving", "decisions"),
  ],
  "apps/ai_sdk": [...before("core", "base"), ...before("runtime", "grammar", "text", "model"), "apps/serving"],
  "apps/search": [...allOfCore, ...before("runtime", "model", "ropewalk")],
  "apps/doctor": [...allOfCore, ...before("runtime", "files", "model", "ropewalk")],
  // a program that uses the package as others do
  "apps/cli": [
    ...allOfCore,
    ...before("runtime", "files", "text", "grammar", "model", "ropewalk"),
    ...before("apps", "doctor", "serving", "decisions", "openai", "search"),
    "entries",
  ],
};

/** The folders inside a folder, first to last: a file may import from its own and from those before. Files beside them are on top. */
const layers = {
  "web/src/runtime/model": [
    "config",
    "architectures",
    "plan",
    "weights",
    "run",
    "adapters",
    "embed",
    "session",
    "decide",
  ],
};

/** The entries of the package: the only files of web/src/ outside a folder. */
const packageEntries =
  /^(api|index|inline|worker|worker_inline|worker_thread|worker_thread_inline|doctor|openai|search|ai_sdk|cli)(\.node|\.workerd)?\.ts$/;

/** Libraries that are bundled into the package: all but leven in files that are fetched only when they are used. */
const bundledLibraries = ["leven", "comlink", "comlink/dist/esm/node-adapter.mjs"];

/** And those of the command line. */
const commandLineLibraries = [
  "commander",
  "cli-progress",
  "linkedom",
  "@observablehq/plot",
  "hono",
  "hono/cors",
  "@hono/node-server",
];

/** Libraries whose types an entry is for. Its users have them. Nothing of them is bundled. */
const typeLibraries = { "apps/ai_sdk": ["@ai-sdk/provider"] };

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
  const folderOf = (path) => /^web\/src\/(platform|\w+\/\w+|\w+)\//.exec(path)?.[1] ?? "entries";
  for (const [path, imports] of importsOf(tree)) {
    const folder = folderOf(path);
    const isEntry = folder === "entries";
    if (isEntry && !packageEntries.test(path.slice("web/src/".length)))
      complaints.push(`${path}: is not an entry of the package; move it to a folder`);
    if (!isEntry && !(folder in packageFolders))
      complaints.push(`${path}: its folder is not in packageFolders of scripts/check/imports.mjs`);
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

/** The layers of a folder import from those before them only. */
export function checkLayers(tree) {
  const complaints = [];
  for (const [path, imports] of importsOf(tree)) {
    const [folder, names] = Object.entries(layers).find(([folder]) => path.startsWith(`${folder}/`)) ?? [];
    if (folder === undefined) continue;
    const layerOf = (file) => childOf(folder, file)?.replace(/^.*\.ts$/, "");
    const layer = layerOf(path);
    if (layer !== "" && !names.includes(layer))
      complaints.push(`${path}: its folder is not in layers of scripts/check/imports.mjs`);
    const allowed = layer === "" ? ["", ...names] : names.slice(0, names.indexOf(layer) + 1);
    for (const { specifier, line, target } of imports) {
      const other = target === undefined ? undefined : layerOf(target);
      if (other !== undefined && !allowed.includes(other))
        complaints.push(
          `${path}:${line}: imports ${specifier}, but ${layer} may not import from ${other || "the top of its folder"}`,
        );
    }
  }
  return complaints;
}

/** What of a folder a path is, or is in: the name of a file or of a folder there. */
function childOf(folder, path) {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/")[0] : undefined;
}

/** In each folder of web/src/, the files and folders in it import from each other in one direction, types included. */
export function checkFolderCycles(tree) {
  const imports = [...importsOf(tree)];
  const folders = new Set(imports.flatMap(([path]) => foldersAbove(path)));
  const cycles = [...folders].flatMap((folder) => {
    const graph = new Map();
    for (const [path, targets] of imports) {
      const child = childOf(folder, path);
      if (child === undefined) continue;
      const others = targets
        .map(({ target }) => target && childOf(folder, target))
        .filter((other) => other && other !== child);
      graph.set(child, [...(graph.get(child) ?? []), ...others.map((target) => ({ target }))]);
    }
    return cyclesOf(graph, "imports").map((cycle) => `${folder}: ${cycle}`);
  });
  return [...new Set(cycles)];
}

/** The folders of web/src/ that a file is in, without web/src/ itself, where the command line imports the entries. */
function foldersAbove(path) {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/")).filter((folder) => folder.startsWith("web/src/"));
}
