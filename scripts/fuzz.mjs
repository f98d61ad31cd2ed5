// `npm run fuzz`: gives random and damaged input to the package (tests/fuzz/targets/) and to the C++ core (tests/fuzz/native/, with libFuzzer).
//
//   npm run fuzz -- --minutes 30                       all targets, in 30 minutes together
//   npm run fuzz -- --minutes 5 --target gguf          one target; --target may be repeated
//   npm run fuzz -- --cases 100000 --target gguf       a number of cases instead
//   npm run fuzz -- --target gguf --seed 7 --iteration 42    one case again
//
// The seed is a new one each time unless --seed names it. --no-build uses the package in dist/ as it is. A failure says how to repeat it.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";

const USAGE = `npm run fuzz -- [options]
  --minutes <n>      for all targets together (10)
  --cases <n>        a number of cases for each target instead
  --target <name>    only this target; repeatable
  --seed <n>         the same cases as in another run
  --iteration <n>    one case again; needs --target and --seed
  --no-build         use dist/ as it is`;

const options = {
  minutes: { type: "string", default: "10" },
  cases: { type: "string" },
  target: { type: "string", multiple: true },
  seed: { type: "string" },
  iteration: { type: "string" },
  "no-build": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};

function numberOf(text, name) {
  const number = Number(text);
  if (!(number >= 0)) throw new Error(`--${name} must be a number (got ${text})`);
  return number;
}

async function fuzz(args) {
  const { values } = parseArgs({ args, options });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : numberOf(values.seed, "seed");
  await setUp(["native"]);
  if (!values["no-build"]) await build();
  const { javascriptTargets } = await import("./fuzz/javascript.mjs");
  const { nativeTargets } = await import("./fuzz/native.mjs");
  // libFuzzer has no iterations: it saves an input that fails
  const all = [...javascriptTargets, ...(values.iteration === undefined ? await nativeTargets(values.target) : [])];
  const chosen = all.filter(({ name }) => values.target?.includes(name) ?? true);
  if (chosen.length === 0) throw new Error(`the targets are ${all.map(({ name }) => name).join(", ")}`);

  const lanes = Math.min(chosen.length, availableParallelism());
  const limits = { seed, seconds: (numberOf(values.minutes, "minutes") * 60 * lanes) / chosen.length };
  if (values.cases !== undefined) Object.assign(limits, { seconds: 1e6, end: numberOf(values.cases, "cases") });
  if (values.iteration !== undefined) {
    const first = numberOf(values.iteration, "iteration");
    Object.assign(limits, { first, end: first + 1 });
  }
  console.log(`seed ${seed}, ${chosen.length} targets`);
  const waiting = [...chosen];
  const failures = [];
  const work = async () => {
    for (let target = waiting.shift(); target; target = waiting.shift()) {
      const start = performance.now();
      try {
        const summary = await target.run(limits);
        console.log(`  ${target.name}: ${summary}, ${((performance.now() - start) / 1000).toFixed(1)} s`);
      } catch (error) {
        console.log(`  ${target.name}: FAILED`);
        failures.push(error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  if (failures.length > 0) throw new Error(failures.join("\n\n"));
}

await runMain(import.meta.url, fuzz);
