// The C++ library and its tests on this machine: optimised, and under the sanitizers by both compilers.

import { readFile, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { countsOfJunit } from "./check_counts.mjs";
import { capture } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const parallel = String(availableParallelism());

/** A preset, and a build folder and compiler of its own. */
export const nativeBuilds = [
  { name: "g++", preset: "native", folder: "native", compiler: "g++" },
  { name: "g++, sanitizers", preset: "native-sanitize", folder: "native-sanitize", compiler: "g++" },
  { name: "clang++, sanitizers", preset: "native-sanitize", folder: "native-sanitize-clang", compiler: "clang++" },
];

/** Configures, builds, runs ctest and returns its counts; throws, with what it printed, where a test fails. */
export async function checkNative({ preset, folder, compiler }) {
  const build = join(root, "build", folder);
  const results = join(build, "results.xml");
  const told = ({ stdout = "", stderr = "", message }) => stdout + stderr || message;
  const orTold = (error) => {
    throw new Error(told(error).slice(-20000));
  };
  // by environment, which counts when a folder is new: setting the variable on an old one makes CMake 3.25 write a wrong list of tests
  const env = { ...process.env, CXX: compiler };
  await capture("cmake", ["--preset", preset, "-B", build], { cwd: root, env }).catch(orTold);
  await capture("cmake", ["--build", build, "--parallel", parallel], { cwd: root }).catch(orTold);
  await rm(results, { force: true });
  const ctest = [
    "--test-dir",
    build,
    "--output-on-failure",
    "--no-tests=error",
    "--output-junit",
    results,
    "--parallel",
    parallel,
  ];
  const failure = await capture("ctest", ctest, { cwd: root }).then(
    () => undefined,
    (error) => error,
  );
  const counts = countsOfJunit(await readFile(results, "utf8").catch(() => ""));
  if (failure === undefined && counts !== null && counts.failed === 0 && counts.passed > 0) return counts;
  throw Object.assign(new Error(failure ? told(failure) : "ctest wrote no results"), counts?.failed ? { counts } : {});
}
