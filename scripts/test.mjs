// All tests. `npm test` runs every stage, `npm test -- native lint` those named; the first failure ends it.
//
//   rules     one-way includes and imports, short files, nothing of one machine (check_rules.mjs)
//   native    the C++ tests: optimised, and under sanitizers with g++ and clang++
//   package   the packed package in Node without eval, in the simd and the relaxed build; the program it installs
//   browser   Chromium and Firefox under a strict policy, bundlers, the examples
//   types     publint, are-the-types-wrong, programs compiled against the packed package
//   lint      typescript-eslint, clang-format, TypeDoc
//
// On a machine that has little more than Node it first installs what is missing. The last line sums up all runners.

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { add, none, onePassed, show } from "./check_counts.mjs";
import { checkDocumentation, checkFormat, checkTypeScript } from "./check_lint.mjs";
import { checkNative, nativeBuilds } from "./check_native.mjs";
import { checkPackage, install, installTests, pack, runNodeTests, testFiles } from "./check_package.mjs";
import { checkManifest, checkResolution, compileUser, userPrograms } from "./check_types.mjs";
import { ensureBrowsers, ensureNative, ensurePackages } from "./machine.mjs";
import { ensureNodeModules } from "./npm_install.mjs";
import { runMain } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tests = (name) => join(root, "tests", name);

let total = none;
let tarball; // of the package as built for this run

const stages = {
  async rules() {
    await step("rules", async () => runNodeTests(await testFiles(tests("rules"))));
  },

  async native() {
    await step("compilers and libraries", ensureNative);
    for (const nativeBuild of nativeBuilds) await step(nativeBuild.name, () => checkNative(nativeBuild));
  },

  async package() {
    await buildPackage();
    await nodeTests("unit");
    const folder = await installTests(tarball);
    for (const name of ["simd", "relaxed"]) await step(`package, ${name}`, () => checkPackage(folder, name));
    await nodeTests("cli", { environment: { ROPEWALK_PROGRAM: join(folder, "node_modules", ".bin", "ropewalk") } });
    await rm(folder, { recursive: true, force: true }); // left where a test has failed
  },

  async browser() {
    await buildPackage();
    await step("browsers, compilers and libraries", () => ensureBrowsers().then(ensureNative));
    // browsers take all the processors there are
    for (const name of ["browser", "bundlers", "examples", "files"]) await nodeTests(name, { concurrency: 1 });
  },

  async types() {
    await buildPackage();
    await step("publint", () => checkManifest(tarball).then(() => onePassed));
    await step("are the types wrong", () => checkResolution(tarball).then(() => onePassed));
    const folder = await install(tarball);
    for (const name of userPrograms)
      await step(`a user's program, ${name}`, () => compileUser(folder, name).then(() => onePassed));
    await rm(folder, { recursive: true, force: true });
  },

  async lint() {
    await step("typescript-eslint", () => checkTypeScript().then(() => onePassed));
    await ensurePackages(["clang-format"]);
    await step("clang-format", () => checkFormat().then(() => onePassed));
    await step("TypeDoc", () => checkDocumentation().then(() => onePassed));
  },
};

/** Runs a part of a stage, and prints its name, counts and time. */
async function step(name, run) {
  const start = performance.now();
  const shown = (counts) => {
    const time = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    console.log(`  ${name}: ${counts === undefined ? "" : `${show(counts)}, `}${time}`);
  };
  try {
    const counts = await run();
    total = add(total, counts ?? none);
    shown(counts);
  } catch (error) {
    const counts = error.counts ?? { ...none, failed: 1 };
    total = add(total, counts);
    shown(counts);
    throw error;
  }
}

/** Builds and packs the package, once in a run. */
async function buildPackage() {
  if (tarball !== undefined) return;
  await step("build", async () => {
    await build();
    tarball = await pack();
  });
}

/** The tests of a folder that look at the repository, dist/ or the tarball themselves. */
async function nodeTests(name, { environment = {}, ...options } = {}) {
  if (!existsSync(tests(name))) return;
  const env = { ...process.env, ROPEWALK_TARBALL: tarball, ...environment };
  await step(name, async () => runNodeTests(await testFiles(tests(name)), { ...options, env, cwd: root }));
}

await runMain(import.meta.url, async (named) => {
  const unknown = named.filter((name) => !(name in stages));
  if (unknown.length > 0)
    throw new Error(`no stage is called ${unknown.join(", ")}; there are ${Object.keys(stages).join(", ")}`);
  const start = performance.now();
  try {
    await ensureNodeModules(root);
    for (const [name, stage] of Object.entries(stages)) {
      if (named.length > 0 && !named.includes(name)) continue;
      const begun = performance.now();
      console.log(`\n${name}`);
      await stage();
      console.log(`  ${((performance.now() - begun) / 1000).toFixed(1)} s in all`);
    }
  } catch (error) {
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  }
  console.log(`\n${((performance.now() - start) / 1000).toFixed(0)} s`);
  console.log(show(total));
});
