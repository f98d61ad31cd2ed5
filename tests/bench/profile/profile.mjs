// `npm run bench -- profile`: where the time of a token and of a prompt goes, in Node with the relaxed build and one thread.
//
//   --file PATH                     a model file, or:
//   --shape smollm2-135m --type q8_0    a random model (random_model/)
//
// The stages are timed inside of a whole pass. "everything else" is the rest of the call: JavaScript, logits, the loop over layers.
import { runMain } from "../../../scripts/run.mjs";
import { tokensAt } from "../models/tokens.mjs";
import { openProfile, profileLink, STAGES } from "./stages.mjs";

/** What scripts/bench.mjs builds first. */
export const needs = [profileLink];

const ROUNDS = 5;
const TOKENS = 8;

/** Milliseconds of each stage, of everything else, and of all, for what `act` does. The shortest of the rounds: other programs only add time. */
async function measureStages({ measure }, prepare, act, rounds) {
  const samples = [];
  for (let round = 0; round < rounds; round++) {
    await prepare();
    const { ms, stages } = await measure(act);
    samples.push([...stages, ms - stages.reduce((a, b) => a + b, 0), ms]);
  }
  return samples[0].map((_, i) => Math.min(...samples.map((sample) => sample[i])));
}

/** Milliseconds that choosing a token adds to appending it, greedily and with the usual settings. */
async function measureSampling({ session, goTo }) {
  const ways = {
    alone: async () => {
      for (let t = 0; t < TOKENS; t++) await session.append([40 + t]);
    },
    greedy: async () => {
      for await (const _ of session.generate({ maxTokens: TOKENS, temperature: 0 }));
    },
    usual: async () => {
      for await (const _ of session.generate({ maxTokens: TOKENS, temperature: 0.8, topP: 0.95 }));
    },
  };
  const samples = { alone: [], greedy: [], usual: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, way] of Object.entries(ways)) {
      await goTo(15);
      await session.append(tokensAt(15, 1)); // rewound sessions have no logits
      const start = performance.now();
      await way();
      samples[name].push((performance.now() - start) / TOKENS);
    }
  }
  const added = (name) => Math.min(...samples[name]) - Math.min(...samples.alone);
  return { greedy: added("greedy"), usual: added("usual") };
}

async function main(args) {
  const profile = await openProfile(args);
  const { session, goTo } = profile;
  const columns = {};
  const at = (length, count) => [() => goTo(length), () => session.append(tokensAt(length, count))];
  await goTo(528); // warm-up
  for (const length of [16, 512, 4096]) {
    await goTo(length + TOKENS);
    columns[`token after ${length}`] = await measureStages(profile, ...at(length, 1), ROUNDS * TOKENS);
  }
  columns["prompt of 512"] = await measureStages(profile, ...at(0, 512), ROUNDS);

  const names = Object.keys(columns);
  console.log(`\n${profile.name}, relaxed build in Node ${process.version}, one thread; % of the time\n`);
  console.log(`| | ${names.join(" | ")} |\n|---|${"---|".repeat(names.length)}`);
  const sums = names.map((name) => columns[name].slice(0, -1).reduce((a, b) => a + b, 0));
  [...STAGES, "everything else"].forEach((stage, i) => {
    const cells = names.map((name, column) => ((100 * columns[name][i]) / sums[column]).toFixed(1));
    console.log(`| ${stage} | ${cells.join(" | ")} |`);
  });
  console.log(`| milliseconds | ${sums.map((ms) => ms.toFixed(2)).join(" | ")} |`);
  const coverage = names.map((name, column) => `${((100 * sums[column]) / columns[name].at(-1)).toFixed(0)}%`);
  console.log(`| that sum, of the fastest whole call | ${coverage.join(" | ")} |`);
  const { greedy, usual } = await measureSampling(profile);
  const percent = (ms) => `${ms.toFixed(2)} ms, ${((100 * ms) / sums[0]).toFixed(1)}% of a token`;
  console.log(
    `\nOn top of that, generate() adds for each token: ${percent(greedy)} at temperature 0; ${percent(usual)} with topP.`,
  );
}

await runMain(import.meta.url, main);
