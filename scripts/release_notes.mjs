// Prints the part of CHANGELOG.md for a version: the notes of its release.
//
//   node scripts/release_notes.mjs 0.2.0
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runMain } from "./run.mjs";

/** The text under the heading `## [version]`, up to the next heading of that level. */
export function notesOf(changelog, version) {
  const lines = changelog.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`## [${version}]`));
  if (start < 0) throw new Error(`CHANGELOG.md has no section ## [${version}]: name the changes of the version there`);
  const length = lines.slice(start + 1).findIndex((line) => /^## |^\[[^\]]+\]: /.test(line));
  const notes = lines
    .slice(start + 1, length < 0 ? undefined : start + 1 + length)
    .join("\n")
    .trim();
  if (notes === "") throw new Error(`the section ## [${version}] of CHANGELOG.md is empty`);
  return notes;
}

await runMain(import.meta.url, async ([version = "Unreleased"]) => {
  console.log(notesOf(await readFile(join(import.meta.dirname, "..", "CHANGELOG.md"), "utf8"), version));
});
