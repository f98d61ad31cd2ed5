// The rules of this repository that no compiler knows. `node scripts/check_rules.mjs` prints what breaks them.
//
// Each rule is a function from a tree, { path: text }, to a list of complaints, so that tests/rules/ can show it a small bad tree.

import { readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { checkCycles, checkFolderCycles, checkImports, checkLayers, packageFolders } from "./check/imports.mjs";
import { checkIncludeCycles, checkIncludes, coreFolders } from "./check/includes.mjs";
import { checkInstructionSets } from "./check/instruction_sets.mjs";
import { checkOutsidePaths } from "./check/outside_paths.mjs";
import { capture, runMain } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const longestFile = 400;
const largestFolder = 29;
const longestReadme = 250;
const handWritten = /\.(cpp|h|def|ts|mjs|js|cjs|py|cmake|html|css|sh)$|(^|\/)CMakeLists\.txt$/;

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
  "CMake knows what depends on the instruction set": checkInstructionSets,
  "TypeScript imports go one way": checkImports,
  "TypeScript has no import cycles": checkCycles,
  "layers of a folder go one way": checkLayers,
  "folders have no import cycles": checkFolderCycles,
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
