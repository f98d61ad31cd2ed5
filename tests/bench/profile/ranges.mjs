// `npm run bench -- ranges`: how well a token and a prompt would use more threads than this machine has.
//
// The pool is told of T threads, so that it divides each job as for T, but computes all parts on one thread and keeps their times. From
// these, a schedule is predicted.
import { cpus } from "node:os";
import { join } from "node:path";
import { capture, runMain } from "../../../scripts/run.mjs";
import { tokensAt } from "../models/tokens.mjs";
import { openProfile, profileLink } from "./stages.mjs";

/** What scripts/bench.mjs builds first. */
export const needs = [
  profileLink,
  {
    preset: "native",
    folder: "bench-native",
    options: ["-DROPEWALK_TESTS=OFF"],
    targets: ["pool_costs"],
  },
];

const root = join(import.meta.dirname, "..", "..", "..");
const ROUNDS = 15;
const THREADS = [2, 4, 8, 16];

const ASSUMPTIONS = `
Assumptions: each core is as fast as the one that was measured, and its caches are its own. A thread without parts takes the next one of
the others, at once. A job costs what it does on this machine with two threads ("best"), or that for each helper ("worst"). What isn't a job of the pool is serial. Memory is as fast for each core as for one: compare "reading", the rate at which the
weights would be read, with what a machine has.

The columns from "serial" on are shares of the predicted time, best case. Uneven parts: threads wait for the last part of a job.`;

/** When the last of the parts ends, if each goes to the thread that is free first. */
function makespan(parts, threads) {
  const ends = new Float64Array(threads);
  for (const ms of parts) ends[ends.indexOf(Math.min(...ends))] += ms;
  return Math.max(...ends);
}

/** Parts by job, in milliseconds, of the last measurement. */
function jobsOf(module) {
  const count = module._profile_part_count();
  const at = (address, Type) => new Type(module.HEAPU8.buffer, address, count);
  const jobs = Array.from({ length: module._profile_job_count() }, () => []);
  const ms = at(module._profile_part_ms(), Float64Array);
  at(module._profile_part_jobs(), Int32Array).forEach((job, i) => jobs[job].push(ms[i]));
  return jobs;
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

/** Predicts the time of a measured call with `threads`. All in milliseconds. */
function predict({ serial, jobs }, threads, jobMs) {
  const work = sum(jobs.flat());
  const spans = sum(jobs.map((parts) => makespan(parts, threads)));
  const barriers = jobs.length * jobMs;
  return { total: serial + spans + barriers, serial, barriers, uneven: spans - work / threads };
}

/**
 * Measures a call several times, with jobs divided as for `threads`. Each part's time is the shortest of all rounds, because other programs of the
 * machine only add time.
 */
async function measureWith({ session, module, goTo, measure }, threads, length, count) {
  module._profile_use_threads(threads);
  const shortest = { serial: Infinity, jobs: undefined };
  for (let round = 0; round < ROUNDS; round++) {
    await goTo(length);
    const { ms } = await measure(() => session.append(tokensAt(length, count)));
    const jobs = jobsOf(module);
    shortest.serial = Math.min(shortest.serial, ms - sum(jobs.flat()));
    shortest.jobs = (shortest.jobs ?? jobs).map((parts, job) => parts.map((time, i) => Math.min(time, jobs[job][i])));
  }
  module._profile_use_threads(1);
  return shortest;
}

async function main(args) {
  const cores = cpus().length;
  const program = join(root, "build", "bench-native", "pool_costs");
  const costs = JSON.parse(await capture(program, [String(Math.min(cores, 8))]));
  const jobMs = (costs[1]?.job_us ?? 1) / 1000;
  const profile = await openProfile(args);
  const bytes = profile.model.info.memory.weights;
  await profile.goTo(528);

  console.log(`\n${profile.name}: predictions for the relaxed build in Node, from one thread of ${cpus()[0]?.model}`);
  for (const { threads, job_us, read_gb_per_s } of costs)
    console.log(
      `  native, ${threads} threads: ${job_us.toFixed(2)} µs for a job beyond its parts, reading ${read_gb_per_s.toFixed(1)} GB/s`,
    );
  for (const [what, length, count] of [
    ["a token after 16", 16, 1],
    ["a token after 512", 512, 1],
    ["a prompt of 128", 0, 128],
  ]) {
    const divided = new Map();
    for (const threads of THREADS) divided.set(threads, await measureWith(profile, threads, length, count));
    // All have the same work. With few threads it has the fewest parts.
    const [{ serial, jobs }] = divided.values();
    const alone = serial + sum(jobs.flat());
    console.log(`\n${what}: ${alone.toFixed(2)} ms with one thread\n`);
    console.log("| threads | jobs | parts | efficiency, best | worst | serial | barriers | uneven parts | reading |");
    console.log("|---|---|---|---|---|---|---|---|---|");
    for (const [threads, measured] of divided) {
      const best = predict(measured, threads, jobMs);
      const worst = predict(measured, threads, jobMs * (threads - 1));
      const efficiency = ({ total }) => (alone / (threads * total)).toFixed(2);
      const share = (ms) => `${((100 * ms) / best.total).toFixed(0)}%`;
      const counts = [measured.jobs.length, measured.jobs.flat().length];
      const shares = [best.serial, best.barriers, best.uneven].map(share);
      const rate = `${(bytes / best.total / 1e6).toFixed(1)} GB/s`;
      console.log(`| ${[threads, ...counts, efficiency(best), efficiency(worst), ...shares, rate].join(" | ")} |`);
    }
  }
  console.log(ASSUMPTIONS);
}

await runMain(import.meta.url, main);
