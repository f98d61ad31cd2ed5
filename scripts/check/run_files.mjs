// Runs test files in the order in which they are given, as `node --test` doesn't: it sorts them.
//
//   node scripts/check/run_files.mjs CONCURRENCY RESULTS.xml FILE …
import { createWriteStream } from "node:fs";
import { run } from "node:test";
import { junit, spec } from "node:test/reporters";

const [concurrency, results, ...files] = process.argv.slice(2);
const tests = run({ files, concurrency: Number(concurrency) });
tests.on("test:fail", () => (process.exitCode = 1));
tests.compose(junit).pipe(createWriteStream(results));
tests.compose(new spec()).pipe(process.stdout);
