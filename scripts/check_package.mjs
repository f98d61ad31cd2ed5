// The package as users get it: packed, installed in a folder outside the repository, and tested there in both builds.

import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { countsOfNode } from "./check_counts.mjs";
import { capture } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const npmOptions = ["--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];

/** Packs the package as `npm publish` would, and returns the path of the tarball. */
export async function pack() {
  const folder = join(root, "build", "packed");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await capture("npm", ["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: root });
  const [name] = await readdir(folder);
  return join(folder, name);
}

/** Installs the tarball, and nothing else, in a new folder outside the repository. */
export async function install(tarball) {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-installed-"));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  await capture("npm", ["install", ...npmOptions, tarball], { cwd: folder });
  return folder;
}

/** The test files below a folder, sorted. */
export async function testFiles(folder) {
  const names = await readdir(folder, { recursive: true });
  return names
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .map((name) => join(folder, name));
}

/** Runs node:test on files and returns its counts; throws what it said of the failures where one fails. */
export async function runNodeTests(files, { flags = [], concurrency = availableParallelism(), ...options } = {}) {
  const args = [...flags, "--test", "--test-reporter=spec", `--test-concurrency=${concurrency}`, ...files];
  const failure = {};
  const output = await capture(process.execPath, args, options).catch((error) => {
    Object.assign(failure, { message: error.stderr || error.message });
    return error.stdout ?? "";
  });
  const counts = countsOfNode(output);
  if (failure.message === undefined && counts?.failed === 0 && counts.passed > 0) return counts;
  const failing = output.indexOf("✖ failing tests:");
  const told = failing < 0 ? `${output.slice(-5000)}\n${failure.message ?? ""}` : output.slice(failing);
  throw Object.assign(new Error(told.trim()), counts?.failed ? { counts } : {});
}

/** Flags of a Node without eval, and with relaxed SIMD where that is asked for and Node does not have it anyway. */
async function flagsOf(build) {
  const common = ["--disallow-code-generation-from-strings", "--no-warnings"];
  const relaxed = "--experimental-wasm-relaxed-simd";
  if (build !== "relaxed") return common;
  const isKnown = await capture(process.execPath, [relaxed, "--eval", "0"]).then(
    () => true,
    () => false,
  );
  // Node 20's first wasm compiler gets a relaxed dot wrong (web/src/load/engine.ts)
  return isKnown ? [...common, relaxed, "--no-liftoff"] : common;
}

/** Installs the package with tests/package/ and what that reads beside it; returns the folder. */
export async function installTests(tarball) {
  const folder = await install(tarball);
  for (const name of ["package", "golden"])
    await cp(join(root, "tests", name), join(folder, "tests", name), { recursive: true });
  await symlink(join(root, "node_modules", "fast-check"), join(folder, "node_modules", "fast-check"), "junction");
  return folder;
}

/** Runs tests/package/ in a folder of `installTests`, in one build. */
export async function checkPackage(folder, build) {
  const files = await testFiles(join(folder, "tests", "package"));
  return runNodeTests(files, {
    cwd: folder,
    flags: await flagsOf(build),
    env: { ...process.env, ROPEWALK_BUILD: build },
  });
}
