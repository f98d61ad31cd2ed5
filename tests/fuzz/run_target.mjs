// Runs one target in a process of its own, for scripts/fuzz.mjs: `run_target.mjs '{ name, seed, first, end, seconds, progress }'`.
//
// The file `progress` holds the number of the current case, so that the script can name the case that ended the process or that hangs.
// Prints the result of runCases() as JSON.
import { openSync, writeSync } from "node:fs";
import { loadTarget, runCases } from "./target.mjs";

const { name, seed, first, end, seconds, progress } = JSON.parse(process.argv[2]);
const file = openSync(progress, "w");
const deadline = performance.now() + seconds * 1000;
try {
  const result = await runCases(await loadTarget(name), {
    seed,
    first,
    end: end ?? Infinity,
    isOver: () => performance.now() > deadline,
    onCase: (iteration) => writeSync(file, String(iteration), 0),
  });
  console.log(JSON.stringify(result));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
process.exit(0); // a case may have left a Worker or a timer behind
