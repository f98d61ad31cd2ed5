// Reads the lists that C++ and TypeScript share (.def).
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

/** The text of a source of the core. */
export const readSource = (path) => readFile(join(root, path), "utf8");

/** Names that can't be an identifier in C++. */
const SPELLED = { default_: "default", llama_cpp: "llama.cpp" };
const spelled = (name) => SPELLED[name] ?? name;

/** The arguments of a row; those in parentheses are lists. */
function argumentsOf(text) {
  const parts = [];
  let depth = 0;
  let start = 0;
  for (const [i, letter] of [...text, ","].entries()) {
    if ("({".includes(letter)) depth++;
    if (")}".includes(letter)) depth--;
    if (letter === "," && depth === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  return parts;
}

/** The rows of a list: the kind of each, its arguments, the lines of comment above it, and the comment behind it. */
export function rowsOf(text) {
  const rows = [];
  let comment = [];
  const joined = text.replace(/^(ROPEWALK_\w+\([^\n]*?,)\n\s+(?=\S)/gm, "$1 ");
  if (joined !== text) return rowsOf(joined);
  for (const line of text.split("\n")) {
    const row = line.match(/^ROPEWALK_(\w+?)(?:\((.*?)\))?(?:\s+\/\/ (.*))?$/);
    if (row === null) {
      comment = line.startsWith("// ") && line !== "// clang-format off" ? [...comment, line.slice(3)] : [];
      continue;
    }
    const [, kind, inside = "", note] = row;
    rows.push({ kind, values: argumentsOf(inside), comment, note });
    comment = [];
  }
  return rows;
}

const listOf = (text) => text.match(/\w+/g) ?? [];

/** Names of several keys, and the keys; a name may stand in a later list. */
export async function keyGroups() {
  const rows = rowsOf(await readSource("src/rope/config_fields.def")).filter(({ kind }) => kind === "KEYS");
  return new Map(rows.map(({ values: [name, keys] }) => [name, listOf(keys)]));
}

/** A list of keys without names of several. */
export const ungrouped = (keys, groups) =>
  keys.flatMap((key) => (groups.has(key) ? ungrouped(groups.get(key), groups) : [key]));

/** The scaling types: name, systems, keys (some by the name of a group), traits, and what each does to pair j. */
export async function scalingTypes() {
  const rows = rowsOf(await readSource("src/rope/config_fields.def")).filter(({ kind }) => kind === "SCALING_TYPE");
  return rows.map(({ values: [name, systems, required, optional, traits], comment }) => ({
    name: spelled(name),
    systems: listOf(systems).map(spelled),
    required: listOf(required),
    optional: listOf(optional),
    traits: listOf(traits),
    does: comment.join(" "),
  }));
}
