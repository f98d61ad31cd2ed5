// Builds the C++ library and its tests for this machine, optimized and under the sanitizers, and runs them. Gives each fuzz target a short run,
// in the build under the sanitizers, which takes most of its time to compile the library.

import { mkdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runBuild } from "../progress.mjs";
import { capture } from "../run.mjs";
import { hasFuzzer } from "../setup/machine.mjs";
import { countTests, resultsFile, resultsFolder } from "./junit.mjs";

const root = join(import.meta.dirname, "..", "..");
const parallel = String(availableParallelism());

/** Each has a build folder of its own. */
export const nativeBuilds = [
  { name: "g++", preset: "native", folder: "native", compiler: "g++" },
  {
    name: "clang++, sanitizers",
    preset: "native-sanitize",
    folder: "native-sanitize",
    compiler: "clang++",
    fuzz: true,
  },
  { name: "clang++, ThreadSanitizer", preset: "native-threads", folder: "native-threads", compiler: "clang++" },
];

/** Configures one of `nativeBuilds`. Returns its folder. */
export async function configureNative({ preset, folder, compiler }, options = []) {
  const build = join(root, "build", folder);
  // The environment chooses the compiler of a new folder only. Setting the CMake variable on an old one makes CMake 3.25 write a wrong
  // list of tests.
  await capture("cmake", ["--preset", preset, "-B", build, ...options], { cwd: root, env: { CXX: compiler } });
  return build;
}

/** Configures, builds and tests. Returns the counts. Throws an error with the output, and with `counts` if tests failed. */
export async function checkNative(native) {
  const { name, fuzz = false } = native;
  const skipsFuzz = fuzz && !hasFuzzer();
  if (skipsFuzz) console.log("  fuzz targets are skipped: clang++ has no libFuzzer (Debian: libclang-rt-dev)");
  const results = resultsFile(name);
  const build = await configureNative(native, fuzz && !skipsFuzz ? ["-DROPEWALK_FUZZ=ON"] : []);
  await runBuild(`tests with ${name}`, "cmake", ["--build", build, "--parallel", parallel]);
  await mkdir(resultsFolder, { recursive: true });
  await rm(results, { force: true });
  const options = ["--output-on-failure", "--no-tests=error", "--output-junit", results, "--parallel", parallel];
  try {
    await capture("ctest", ["--test-dir", build, ...options]);
  } catch (error) {
    const failures = error.message.replace(/^ +Start .*\n|^.* Passed .*\n/gm, "");
    throw Object.assign(new Error(failures), { counts: await countTests(results).catch(() => undefined) });
  }
  const counts = await countTests(results);
  return skipsFuzz ? { ...counts, skipped: counts.skipped + 1 } : counts;
}
