// Builds the C++ library and its tests for this machine, optimized and under the sanitizers, and runs them. Gives each fuzz target a short run,
// in the build under the sanitizers, which takes most of its time to compile the library.

import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runBuild } from "../progress.mjs";
import { capture } from "../run.mjs";
import { hasFuzzer } from "../setup/machine.mjs";
import { countTests, resultsFile, resultsFolder } from "./junit.mjs";

const root = join(import.meta.dirname, "..", "..");
const processors = availableParallelism();

/** Each has a build folder of its own. `tests` is its program of googletest if that has too many tests for a process each, as ctest runs them. */
export const nativeBuilds = [
  { name: "g++", preset: "native", folder: "native", compiler: "g++", tests: "tests/native/ropewalk_tests" },
  {
    name: "clang++, sanitizers",
    preset: "native-sanitize",
    folder: "native-sanitize",
    compiler: "clang++",
    tests: "tests/native/ropewalk_tests",
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
  const { name, tests, fuzz = false } = native;
  const skipsFuzz = fuzz && !hasFuzzer();
  if (skipsFuzz) console.log("  fuzz targets are skipped: clang++ has no libFuzzer (Debian: libclang-rt-dev)");
  const build = await configureNative(native, fuzz && !skipsFuzz ? ["-DROPEWALK_FUZZ=ON"] : []);
  await runBuild(`tests with ${name}`, "cmake", ["--build", build, "--parallel", String(processors)]);
  await mkdir(resultsFolder, { recursive: true });
  const parts = tests ? partsOf(name) : [];
  const results = [...parts, resultsFile(name)];
  for (const file of results) await rm(file, { force: true });
  try {
    if (tests) await runParts(join(build, tests), parts);
    await runCtest(build, resultsFile(name), tests ? ["--label-exclude", "googletest"] : []);
  } catch (error) {
    throw Object.assign(error, { counts: await countTests(...results.filter(existsSync)) });
  }
  const counts = await countTests(...results);
  return skipsFuzz ? { ...counts, skipped: counts.skipped + 1 } : counts;
}

/** The files for the results of the parts in which tests run. There are more than processors, because some take longer. */
function partsOf(name) {
  const count = 8 * processors;
  return Array.from({ length: count }, (_, part) => resultsFile(`${name} ${part + 1} of ${count}`));
}

/** Runs a program of googletest in parts, as many at once as there are processors. Throws an error with the failures of all. */
async function runParts(program, parts) {
  const failures = [];
  const left = parts.entries();
  const runNext = async () => {
    for (const [part, results] of left) {
      const env = { GTEST_TOTAL_SHARDS: String(parts.length), GTEST_SHARD_INDEX: String(part) };
      await capture(program, ["--gtest_brief=1", `--gtest_output=xml:${results}`], { env }).catch(({ message }) =>
        failures.push(message),
      );
      if (!existsSync(results)) failures.push(`part ${part + 1} of ${parts.length} ended without results`);
    }
  };
  await Promise.all(Array.from({ length: processors }, runNext));
  if (failures.length > 0) throw new Error(failures.join("\n\n"));
}

/** Runs the tests that ctest knows. */
async function runCtest(build, results, chosen) {
  const options = ["--output-on-failure", "--no-tests=error", "--output-junit", results, ...chosen];
  try {
    await capture("ctest", ["--test-dir", build, ...options, "--parallel", String(processors)]);
  } catch (error) {
    error.message = error.message.replace(/^ +Start .*\n|^.* Passed .*\n/gm, "");
    throw error;
  }
}
