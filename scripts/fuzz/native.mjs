// Fuzz targets in C++ (tests/fuzz/native/): programs of libFuzzer, built by clang++ with the address and undefined-behavior sanitizers.

import { mkdir, readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runBuild } from "../progress.mjs";
import { capture } from "../run.mjs";

const root = join(import.meta.dirname, "..", "..");
const sources = join(root, "tests", "fuzz", "native");
const corpora = join(root, "tests", "fuzz", "corpus");
const built = join(root, "build", "fuzz", "tests", "fuzz", "native");
const results = join(root, "build", "fuzz-results");

/** An input that takes longer hangs. */
const INPUT_SECONDS = 20;

export async function nativeTargetNames() {
  const names = await readdir(sources);
  return names.filter((name) => name.endsWith("_fuzzer.cpp")).map((name) => name.slice(0, -".cpp".length));
}

/** Builds all targets. */
export async function buildNativeTargets() {
  await capture("cmake", ["--preset", "fuzz"], { cwd: root, env: { CXX: "clang++" } });
  await runBuild(
    "fuzz targets",
    "cmake",
    ["--build", "--preset", "fuzz", "--parallel", String(availableParallelism())],
    {
      cwd: root,
    },
  );
}

/** The targets, built unless `wanted` names others. */
export async function nativeTargets(wanted) {
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
  const limits = end === undefined ? `-max_total_time=${Math.ceil(seconds)}` : `-runs=${end}`;
  return runFuzzer(name, [limits, `-seed=${(seed % (2 ** 32 - 1)) + 1}`], [found]);
}

/** The short run of `npm test`: the corpus and `runs` inputs, the same each time. New inputs aren't kept. */
export function runBriefly(name, runs) {
  return runFuzzer(name, [`-runs=${runs}`, "-seed=1"]);
}

async function runFuzzer(name, flags, folders = []) {
  await mkdir(results, { recursive: true });
  const artifacts = join(results, `${name}-`);
  const common = [
    `-artifact_prefix=${artifacts}`,
    `-timeout=${INPUT_SECONDS}`,
    "-rss_limit_mb=2048",
    "-print_final_stats=1",
  ];
  const { default: spawn } = await import("nano-spawn");
  try {
    const program = join(built, name);
    const { stderr } = await spawn(program, [...common, ...flags, ...folders, join(corpora, name)], {
      stdin: "ignore",
    });
    const [, inputs] = /stat::number_of_executed_units:\s*(\d+)/.exec(stderr) ?? [];
    return { inputs: Number(inputs) };
  } catch (error) {
    const output = error.stderr ?? error.message;
    const [, saved] = /Test unit written to (\S+)/.exec(output) ?? [];
    const repeat = saved === undefined ? "" : `To repeat: ${join(built, name)} ${saved}\n`;
    throw new Error(`target ${name} failed. ${repeat}${output.slice(-6000)}`, { cause: error });
  }
}
