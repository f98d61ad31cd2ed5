// Fuzz targets: the modules in targets/. Each exports
//
//   name                      the same as the name of its file
//   run(random, iteration)    one case, may be async. Throws if the package does something wrong. May return a short outcome, which is counted
//   setUp(), tearDown()       optional: before the first and after the last case. tearDown() throws if earlier cases left damage behind
//   cases                     optional: how many cases `npm test` runs (300)
//
// A case depends only on the seed and its iteration, so that it can be repeated alone.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { randomOf } from "./random.mjs";

const folder = join(import.meta.dirname, "targets");

export const targetNames = readdirSync(folder)
  .filter((name) => name.endsWith(".mjs"))
  .map((name) => name.slice(0, -".mjs".length))
  .sort();

export async function loadTarget(name) {
  const target = await import(pathToFileURL(join(folder, `${name}.mjs`)));
  if (target.name !== name) throw new Error(`tests/fuzz/targets/${name}.mjs exports the name ${target.name}`);
  return target;
}

/**
 * Runs the cases `first` to `end` of a target, until the first failure, or until `isOver()`. Calls `onCase(iteration)` before each.
 * Returns the number of cases and how often each outcome occurred. Throws an Error that says how to repeat the case that failed.
 */
export async function runCases(target, { seed, first = 0, end = Infinity, isOver = () => false, onCase = () => {} }) {
  const outcomes = {};
  let iteration = first;
  await target.setUp?.();
  for (; iteration < end && !isOver(); iteration++) {
    onCase(iteration);
    try {
      const outcome = await target.run(randomOf(seed, iteration), iteration);
      if (typeof outcome === "string") outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    } catch (error) {
      throw new Error(`${howToRepeat(target.name, seed, iteration)}\n${error?.stack ?? error}`, { cause: error });
    }
  }
  await target.tearDown?.();
  return { cases: iteration - first, outcomes };
}

export function howToRepeat(name, seed, iteration) {
  const command = `npm run fuzz -- --target ${name} --seed ${seed} --iteration ${iteration}`;
  return `target ${name}, seed ${seed}, iteration ${iteration} failed. To repeat: ${command}`;
}
