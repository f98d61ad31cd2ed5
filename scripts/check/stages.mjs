// The stages of `npm test`. Each prints its steps with counts and times, and throws an error at the first failure.

import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { build } from "../build.mjs";
import { referencePython } from "../setup/python.mjs";
import { fetchReleased } from "../setup/released.mjs";
import { buildSite } from "../site.mjs";
import { drawingTests, endComparison, generate, startComparison, testsOf } from "./compare.mjs";
import { resultsFile, showCounts } from "./junit.mjs";
import { CACHED, checkClangFormat, checkCode, checkDocumentation, checkPrettier, checkSiteTypes } from "./lint.mjs";
import { checkNative, nativeBuilds } from "./native.mjs";
import { runNodeTests, testFiles } from "./node_tests.mjs";
import { checkPackage, flagsOf, install, installTests, pack } from "./package.mjs";
import {
  checkManifest,
  checkPublishing,
  checkResolution,
  compileUser,
  compileUserOfAiSdk,
  installUsers,
  userPrograms,
} from "./types.mjs";

const root = join(import.meta.dirname, "..", "..");

/** Counts of all steps so far. */
export const total = { passed: 0, failed: 0, skipped: 0 };

let tarball; // the package, as built in this run

export const stages = {
  async rules() {
    await nodeTests("rules");
  },

  async quick() {
    await step("build, TypeScript alone", () => build({ wasm: false }));
    await nodeTests("rules");
    // each of these runs in one thread
    await Promise.all([
      check("TypeScript of the site", checkSiteTypes).then(() => check("Prettier", () => checkPrettier(CACHED))),
      check("ESLint", () => checkCode(CACHED)),
    ]);
    await nodeTests("unit");
  },

  async native() {
    for (const native of nativeBuilds) await step(native.name, () => checkNative(native));
  },

  async package() {
    await buildPackage();
    await nodeTests("unit");
    await nodeTests("fuzz", { flags: await flagsOf("relaxed") });
    const folder = await installTests(tarball);
    for (const name of ["simd", "relaxed"]) {
      const title = `package, ${name}`;
      await step(title, () => checkPackage(folder, name, resultsFile(title)));
    }
    await nodeTests("cli", { env: { ROPEWALK_PROGRAM: join(folder, "node_modules", ".bin", "ropewalk") } });
    await rm(folder, { recursive: true, force: true }); // stays if a test fails, to look into
  },

  async browser() {
    await buildPackage();
    await step("site", buildSite);
    // Together, so that no processor waits for the last file of a folder. Browsers wait a lot, so one file more than there are processors.
    await nodeTests(["browser", "bundlers", "examples", "files", "site"], {
      concurrency: availableParallelism() + 1,
      env: { ROPEWALK_SITE_BROWSERS: "chromium" },
    });
  },

  async site() {
    await buildPackage();
    await step("site", buildSite);
    await nodeTests("site");
  },

  async types() {
    await buildPackage();
    await check("publint", () => checkManifest(tarball));
    await check("npm publish --dry-run", () => checkPublishing(tarball));
    await check("are the types wrong", () => checkResolution(tarball));
    const folder = await install(tarball);
    await installUsers(folder);
    for (const names of userPrograms)
      await Promise.all(names.map((name) => check(`a user's program, ${name}`, () => compileUser(folder, name))));
    await check("a user's program, the AI SDK", () => compileUserOfAiSdk(folder));
    await rm(folder, { recursive: true, force: true });
  },

  async lint() {
    await buildPackage(); // the site's types come from it
    // each of these runs in one thread
    await Promise.all([
      check("ESLint", () => checkCode()),
      check("TypeScript of the site", checkSiteTypes)
        .then(() => check("Prettier", () => checkPrettier()))
        .then(() => check("clang-format", checkClangFormat))
        .then(() => check("TypeDoc", checkDocumentation)),
    ]);
  },

  async frameworks() {
    await buildPackage();
    await nodeTests("frameworks", { concurrency: 1 }); // servers and bundlers use all processors
  },

  async released() {
    await buildPackage();
    await step("reference packages", async () => void referencePython());
    await step("released files", async () => fetchReleased());
    await step("site", buildSite);
    await nodeTests("released", { concurrency: 1 }); // models use all processors
  },

  async soak() {
    await step("build", () => build());
    const env = { ROPEWALK_REQUESTS: process.env.ROPEWALK_REQUESTS ?? "10000" };
    const file = join(root, "tests", "cli", "serve", "soak.test.mjs");
    await step("soak", () => runNodeTests([file], resultsFile("soak"), { cwd: root, env }));
  },

  async compare() {
    await buildPackage();
    await step("reference packages", async () => void referencePython());
    const comparison = await startComparison();
    console.log(`  ROPEWALK_SEED=${comparison.seed} repeats this run, ROPEWALK_SUBJECT=<name> a part of it`);
    const failures = [];
    for (const generator of comparison.generators)
      await step(`${generator.name} ${generator.options.join(" ")}`, () => generate(generator, comparison)).catch(
        (error) => failures.push(error.message),
      );
    const env = { ROPEWALK_TARBALL: tarball, ROPEWALK_RANDOM: comparison.folder };
    await step("tests", () =>
      runNodeTests(testsOf(comparison.generators), resultsFile("compare"), { cwd: root, env }),
    ).catch((error) => failures.push(error.message));
    if (process.env.ROPEWALK_SUBJECT === undefined)
      for (const { path, cases } of await drawingTests()) {
        const own = { ...env, ROPEWALK_CASES: cases, ROPEWALK_SEED: comparison.seed };
        const results = resultsFile(basename(path));
        await step(`${path} --cases ${cases}`, () =>
          runNodeTests([join(root, path)], results, { cwd: root, env: own }),
        ).catch((error) => failures.push(error.message));
      }
    if (failures.length > 0) throw new Error(`${failures.join("\n\n")}\n\nThe files are in ${comparison.folder}`);
    await endComparison(comparison);
  },
};

/** Runs a step, adds the counts that it returns to the total, and prints its name, counts and time. */
async function step(name, run) {
  const start = performance.now();
  const finish = (counts) => {
    for (const key of Object.keys(total)) total[key] += counts?.[key] ?? 0;
    const time = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    console.log(`  ${name}: ${counts ? `${showCounts(counts)}, ` : ""}${time}`);
  };
  try {
    finish(await run());
  } catch (error) {
    // a failure without a failed test case, such as a file that doesn't load, counts as one
    finish(error.counts?.failed ? error.counts : { passed: 0, skipped: 0, ...error.counts, failed: 1 });
    throw error;
  }
}

/** Runs a step that counts as one test. */
async function check(name, run) {
  await step(name, async () => {
    await run();
    return { passed: 1, failed: 0, skipped: 0 };
  });
}

/** Builds and packs the package, once per run. */
async function buildPackage() {
  if (tarball !== undefined) return;
  await step("build", async () => {
    await build();
    tarball = await pack();
  });
}

/** Runs the tests of a folder, or of several. They find the package in dist/ or in the tarball. */
async function nodeTests(names, { env, ...options } = {}) {
  const folders = [names].flat();
  const name = folders.join(", ");
  const files = await testFiles(...folders.map((folder) => join(root, "tests", folder)));
  const settings = { ...options, cwd: root, env: { ROPEWALK_TARBALL: tarball, ...env } };
  await step(name, () => runNodeTests(files, resultsFile(name), settings));
}
