// A rule of scripts/check_rules.mjs: tests, scripts and docs name no path that leaves the repository. A clone has nothing beside it.
//
// Depth is how many folders a path is below the repository. It is counted through relative paths in text, `import.meta`, `join` and `resolve`
// in JavaScript, and `parents` and `parent` in Python.

import { posix } from "node:path";

const checked = /^((tests|scripts|docs)\/.*|[^/]*\.md)$/;

/** What references wrote, whose paths are theirs, and the examples in tests of rules. */
const leftOut = /^tests\/(golden\/.*\.json|rules\/(outside_paths|check_rules)\.test\.mjs)$/;

/** Names that hold the repository's path wherever they come from. */
const rootNames = /^(root|ROOT|repository|REPOSITORY)$/;

/** The depth at the end of a path from a depth, or a negative number if it ever leaves the repository. */
function depthAfter(depth, path) {
  for (const part of path.split("/")) {
    if (depth < 0) break;
    if (part === "..") depth--;
    else if (part !== "" && part !== ".") depth++;
  }
  return depth;
}

/** Tests, scripts and docs name no path outside the repository. */
export function checkOutsidePaths(tree) {
  return Object.entries(tree)
    .filter(([path]) => checked.test(path) && !leftOut.test(path))
    .flatMap(([path, text]) =>
      [...new Set(outsidePaths(path, text))].map((found) => `${path}: ${found} is outside the repository`),
    );
}

function outsidePaths(path, text) {
  const depth = path.split("/").length - 1;
  const climbs = Array.from(text.matchAll(/(?<![\w./~])(?:\.\.\/)+[\w.-]*/g), ([climb]) => climb);
  const isOutside = (climb) => depthAfter(depth, posix.dirname(`${climb}x`)) < 0 || isBeside(climb);
  return [
    ...climbs.filter(isOutside),
    ...(/\.(mjs|cjs|js|ts)$/.test(path) ? inJavaScript(depth, text) : []),
    ...(path.endsWith(".py") ? inPython(depth, text) : []),
  ];
}

/** Whether a path is that of a folder `shared` beside a clone, as seen from the repository. */
const isBeside = (climb) => /^(\.\.\/)+shared$/.test(climb);

const FILE_FOLDER = String.raw`import\.meta\.dirname|dirname\(fileURLToPath\(import\.meta\.url\)\)`;
const PARTS = String.raw`((?:,\s*(?:"[^"\n]*"|[\w.]+))*)`;
const JOINED = new RegExp(
  String.raw`(?:const\s+(\w+)\s*=\s*)?(?:\w+\.)?(?:join|resolve)\(\s*(${FILE_FOLDER}|\w+)\s*${PARTS}`,
  "g",
);

function inJavaScript(depth, text) {
  const known = new Map();
  const depthOf = (base) => (/^\w+$/.test(base) ? (known.get(base) ?? (rootNames.test(base) ? 0 : undefined)) : depth);
  const found = [];
  for (const [whole, name, base, rest] of text.matchAll(JOINED)) {
    const start = depthOf(base);
    if (start === undefined) continue;
    const parts = Array.from(rest.matchAll(/"([^"\n]*)"|[\w.]+/g), ([, part]) => part ?? "name");
    const end = depthAfter(start, parts.join("/"));
    if (end < 0) found.push(`${whole.replace(/\s+/g, " ")})`);
    else if (name !== undefined) known.set(name, end);
  }
  return found;
}

const PARENTS = /(?:(\w+)\s*=\s*)?Path\(__file__\)(?:\.resolve\(\))?\.parents\[(\d+)\]((?:\.parent\b)*)/g;
const FROM_NAME = /\b(\w+)((?:\.parent\b)*)(?:\s*\/\s*["']([^"'\n]*)["'])?/g;

function inPython(depth, text) {
  const countParents = (calls) => calls.split(".parent").length - 1;
  const known = new Map();
  const found = [];
  for (const [whole, name, index, more] of text.matchAll(PARENTS)) {
    const end = depth - Number(index) - countParents(more);
    if (end < 0) found.push(whole);
    else if (name !== undefined) known.set(name, end);
  }
  for (const [whole, name, more, path = ""] of text.matchAll(FROM_NAME))
    if (known.has(name) && depthAfter(known.get(name) - countParents(more), path) < 0) found.push(whole);
  return found;
}
