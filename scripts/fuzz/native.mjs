// Fuzz targets in C++ (tests/fuzz/native/): programs of libFuzzer, built by clang++ with the address and undefined-behavior sanitizers.

import { mkdir, readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runBuild } from "../progress.mjs";
import { capture } from "../run.mjs";
import { hasFuzzer } from "../setup/machine.mjs";

const root = join(import.meta.dirname, "..", "..");
const sources = join(root, "tests", "fuzz", "native");
const corpora = join(root, "tests", "fuzz", "corpus");
const built = join(root, "build", "fuzz", "tests", "fuzz", "native");
const results = join(root, "build", "fuzz-results");

/** An input that takes longer hangs. */
const INPUT_SECONDS = 20;

async function nativeTargetNames() {
  const names = await readdir(sources);
  return names.filter((name) => name.endsWith("_fuzzer.cpp")).map((name) => name.slice(0, -".cpp".length));
}

/** Builds all targets. */
async function buildNativeTargets() {
  await capture("cmake", ["--preset", "fuzz"], { cwd: root, env: { CXX: "clang++" } });
  const build = ["--build", "--preset", "fuzz", "--parallel", String(availableParallelism())];
  await runBuild("fuzz targets", "cmake", build, { cwd: root });
}

/** The targets, built unless `wanted` names others. None if clang++ has no libFuzzer. */
export async function nativeTargets(wanted) {
  if (!hasFuzzer()) {
    console.log("fuzz targets in C++ are skipped: clang++ has no libFuzzer (Debian: libclang-rt-dev)");
    return [];
  }
  const names = await nativeTargetNames();
  if (names.some((name) => wanted?.includes(name) ?? true)) await buildNativeTargets();
  return names.map((name) => ({ name, run: (limits) => runTarget(name, limits) }));
}

/**
 * Gives a target its corpus, then inputs made from it: `end` of them, or for `seconds`. libFuzzer has no iterations: it saves an input that
 * fails. Returns a summary. Throws an error that says how to repeat a failure.
 */
async function runTarget(name, { seed, seconds, end }) {
  const found = join(results, "corpus", name);
  await mkdir(found, { recursive: true });
  const flags = [
    end === undefined ? `-max_total_time=${Math.ceil(seconds)}` : `-runs=${end}`,
    `-seed=${(seed % (2 ** 32 - 1)) + 1}`,
    `-artifact_prefix=${join(results, `${name}-`)}`,
    `-timeout=${INPUT_SECONDS}`,
    "-print_final_stats=1",
  ];
  const { default: spawn } = await import("nano-spawn");
  try {
    const { stderr } = await spawn(join(built, name), [...flags, found, join(corpora, name)], { stdin: "ignore" });
    const [, inputs] = /stat::number_of_executed_units:\s*(\d+)/.exec(stderr);
    return `${Number(inputs).toLocaleString("en")} inputs`;
  } catch (error) {
    const output = error.stderr ?? error.message;
    const [, saved] = /Test unit written to (\S+)/.exec(output) ?? [];
    const repeat = saved === undefined ? "" : `To repeat: ${join(built, name)} ${saved}\n`;
    throw new Error(`target ${name} failed. ${repeat}${output.slice(-6000)}`, { cause: error });
  }
}
