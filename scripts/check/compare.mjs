// Random comparisons at length: what `npm test -- compare` runs.
//
// A generator in tests/golden/generate/random/ draws inputs and asks a reference. `npm test` reads the small file that it wrote last. Here each
// writes a larger one with a new seed, and the same tests read that. Two lines of its header say how: `# compare: --cases N`, and
// `# test: PATH…`, relative to the repository. A test that draws its own cases draws more of them.

import { randomInt } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { capture } from "../run.mjs";
import { referenceEnvironment, referencePython } from "../setup/python.mjs";

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, "tests", "golden", "generate", "random");

/** `{ name, path, options, tests }` of each generator, by name. Throws an error for a header that lacks a line. */
export async function readGenerators() {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".py")).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { name: name.slice(0, -".py".length), path, ...readHeader(name, await readFile(path, "utf8")) };
    }),
  );
}

/** What a generator's header says: `{ options, tests }`. */
export function readHeader(name, text) {
  const line = (key, form) => {
    const [, value] = new RegExp(`^# ${key}: *(.*)$`, "m").exec(text) ?? [];
    if (value === undefined) throw new Error(`${name}: has no line "# ${key}: ${form}"`);
    return value.trim().split(/\s+/);
  };
  return { options: line("compare", "--cases N"), tests: line("test", "tests/….test.mjs") };
}

/**
 * The generators to run, the folder that they write to, and the seed: `ROPEWALK_SEED`, or a new one. `ROPEWALK_SUBJECT` names the generators to
 * run, separated by commas.
 */
export async function startComparison() {
  const subjects = process.env.ROPEWALK_SUBJECT?.split(",");
  const all = await readGenerators();
  const unknown = subjects?.filter((subject) => !all.some(({ name }) => name === subject)) ?? [];
  if (unknown.length > 0)
    throw new Error(`the subjects are ${all.map(({ name }) => name).join(", ")} (got ${unknown.join(", ")})`);
  return {
    generators: all.filter(({ name }) => subjects === undefined || subjects.includes(name)),
    folder: await mkdtemp(join(tmpdir(), "ropewalk-random-")),
    seed: process.env.ROPEWALK_SEED ?? String(randomInt(2 ** 31)),
  };
}

/** Lets a generator write its file. */
export async function generate({ name, path, options }, { folder: output, seed }) {
  const target = ["--seed", seed, "--output", join(output, `${name}.json`)];
  await capture(referencePython(), [path, ...options, ...target], { cwd: root, env: referenceEnvironment });
}

/** The tests of some generators, each once. */
export function testsOf(generators) {
  return [...new Set(generators.flatMap(({ tests }) => tests))].map((path) => join(root, path));
}

/**
 * `{ path, cases }` of the tests that draw their own cases, such as those that compare two ways of this package: a line of their header is
 * `// compare: --cases N`. They read `ROPEWALK_CASES` and `ROPEWALK_SEED`.
 */
export async function drawingTests() {
  const listed = await capture("git", ["ls-files", "tests/**/*.test.mjs"], { cwd: root });
  const read = listed
    .trim()
    .split("\n")
    .map(async (path) => {
      const [, cases] = /^\/\/ compare: --cases (\d+)$/m.exec(await readFile(join(root, path), "utf8")) ?? [];
      return cases === undefined ? [] : [{ path, cases }];
    });
  return (await Promise.all(read)).flat();
}

/** Deletes the files of a comparison that found nothing. */
export async function endComparison({ folder: output }) {
  await rm(output, { recursive: true, force: true });
}
