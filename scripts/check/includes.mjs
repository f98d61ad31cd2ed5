// The rules of C++ includes: folders of src/ go one way, and only bindings know Emscripten.
import { cyclesOf, lineAt } from "./cycles.mjs";

/**
 * The folders of src/, first to last, each with the folders it may include from besides its own. A file needs no entry here: it belongs to
 * the folder it is in.
 */
export const coreFolders = {
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

/** Every #include of a source: { line, name, isSystem }. */
export function includesOf(text) {
  return [...text.matchAll(/^[ \t]*#[ \t]*include[ \t]*(?:"([^"]*)"|<([^>]*)>)/gm)].map((match) => ({
    line: lineAt(text, match.index),
    name: match[1] ?? match[2],
    isSystem: match[2] !== undefined,
  }));
}

/** C++ includes follow coreFolders; the bindings include from all of them. */
export function checkIncludes(tree) {
  const complaints = [];
  for (const [path, text] of Object.entries(tree)) {
    const [, top, folder] = /^(src|bindings)\/(?:(\w+)\/)?.*\.(?:h|cpp)$/.exec(path) ?? [];
    if (top === undefined || folder === "simde") continue;
    const isCore = top === "src";
    if (isCore && !(folder in coreFolders))
      complaints.push(`${path}: its folder is not in coreFolders of scripts/check/includes.mjs`);
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
