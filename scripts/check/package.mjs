// Tests the package as its users get it: packed, installed in a folder outside the repository, in both wasm builds.

import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { relaxedFlags } from "../relaxed_flags.mjs";
import { capture } from "../run.mjs";
import { runNodeTests, testFiles } from "./node_tests.mjs";

const root = join(import.meta.dirname, "..", "..");
const npmOptions = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

/**
 * Tests whose results can't depend on the build, because builds differ in their kernels alone: of configs, errors, memory, saved bytes and Workers.
 * They run in the simd build only.
 */
const WITHOUT_KERNELS =
  /\b(config|doctor|serving)\b|errors|hostile|memory|mutations|one_file|options|restore|sources|worker/;

/** Packs the package as `npm publish` does. Returns the path of the tarball. */
export async function pack() {
  const folder = join(root, "build", "packed");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await capture("npm", ["pack", "--pack-destination", folder, "--ignore-scripts", "--loglevel=error"], { cwd: root });
  const [name] = await readdir(folder);
  return join(folder, name);
}

/** Installs only the tarball in a new folder outside the repository. Returns the folder. */
export async function install(tarball) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-installed-"));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  await capture("npm", ["install", ...npmOptions, tarball], { cwd: folder });
  return folder;
}

/** Installs the package together with tests/package/ and the files those tests read. Returns the folder. */
export async function installTests(tarball) {
  const folder = await install(tarball);
  for (const name of ["package", "golden", "files"])
    await cp(join(root, "tests", name), join(folder, "tests", name), { recursive: true });
  await symlink(join(root, "node_modules", "fast-check"), join(folder, "node_modules", "fast-check"), "junction");
  return folder;
}

/** Runs tests/package/ in a folder of `installTests` with one wasm build. Returns the counts. */
export async function checkPackage(folder, build, results) {
  const tests = join(folder, "tests", "package");
  const all = await testFiles(tests);
  const files = build === "simd" ? all : all.filter((file) => !WITHOUT_KERNELS.test(relative(tests, file)));
  return runNodeTests(files, results, { cwd: folder, flags: await flagsOf(build), env: { ROPEWALK_BUILD: build } });
}

/** Flags for a Node without eval, and with relaxed SIMD if the build needs it. */
export async function flagsOf(build) {
  const relaxed = build === "relaxed" ? await relaxedFlags() : [];
  return ["--disallow-code-generation-from-strings", "--no-warnings", ...relaxed];
}
