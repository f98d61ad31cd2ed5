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
  const counts = [
    ...(tests ? await runParts(join(build, tests), name) : []),
    await runCtest(build, resultsFile(name), tests ? ["--label-exclude", "googletest"] : []),
    { passed: 0, failed: 0, skipped: skipsFuzz ? 1 : 0 },
  ];
  return sumOf(counts);
}

/** Runs a program of googletest in parts, as many at once as there are processors. Returns the counts of each. */
async function runParts(program, name) {
  const total = 8 * processors;
  const counts = [];
  const failures = [];
  const parts = Array(total).keys();
  const runNext = async () => {
    for (const part of parts) {
      const results = resultsFile(`${name} ${part + 1} of ${total}`);
      await rm(results, { force: true });
      const env = { GTEST_TOTAL_SHARDS: String(total), GTEST_SHARD_INDEX: String(part) };
      await capture(program, ["--gtest_brief=1", `--gtest_output=xml:${results}`], { env }).catch(({ message }) =>
        failures.push(message),
      );
      const counted = await countTests(results).catch(() => undefined);
      if (counted === undefined) failures.push(`part ${part + 1} of ${total} ended without results`);
      counts.push(counted ?? { passed: 0, failed: 1, skipped: 0 });
    }
  };
  await Promise.all(Array.from({ length: processors }, runNext));
  if (failures.length > 0) throw Object.assign(new Error(failures.join("\n\n")), { counts: sumOf(counts) });
  return counts;
}

/** Runs the tests that ctest knows. Returns the counts. */
async function runCtest(build, results, chosen) {
  await rm(results, { force: true });
  const options = ["--output-on-failure", "--no-tests=error", "--output-junit", results, ...chosen];
  try {
    await capture("ctest", ["--test-dir", build, ...options, "--parallel", String(processors)]);
  } catch (error) {
    const failures = error.message.replace(/^ +Start .*\n|^.* Passed .*\n/gm, "");
    throw Object.assign(new Error(failures), { counts: await countTests(results).catch(() => undefined) });
  }
  return countTests(results);
}

function sumOf(counts) {
  const sum = (key) => counts.reduce((total, one) => total + one[key], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}
