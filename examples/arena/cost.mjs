// What methods and caches cost the small model: tokens a second, and memory. Setups take turns, so that another program's work hits all alike.
//
//   node examples/arena/cost.mjs [--out FOLDER] [--rounds 5]      some minutes; writes cost.json there (build/arena)
import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { load } from "ropewalk";
import { textOf } from "../small_model/texts.mjs";
import { caches, methods } from "./methods.mjs";
import { Setup } from "./reading.mjs";
import { openEntry } from "./run.mjs";
import { runMain, UsageError } from "../../scripts/run.mjs";

/** Tokens that are read at once, and tokens that are then read one by one. */
const [PROMPT, SINGLE] = [2048, 64];
const MULTIPLE = 16;

/** Every method of the model's own weights with an f16 cache, and none and YaRN with every cache. */
const setups = [
  ...Object.keys(methods)
    .filter((method) => methods[method].weights === undefined)
    .map((method) => ({ method, cache: "f16" })),
  ...Object.keys(caches)
    .filter((cache) => cache !== "f16")
    .flatMap((cache) => ["none", "yarn"].map((method) => ({ method, cache }))),
];

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** One round of a setup: milliseconds of the prompt and of the single tokens, and the bytes of the cache. */
async function round({ setup, tokens }) {
  const session = await setup.session();
  const begun = performance.now();
  await setup.append(session, tokens.slice(0, PROMPT));
  const read = performance.now();
  const { bytes } = session;
  for (const token of tokens.slice(PROMPT)) await setup.append(session, [token]);
  const done = performance.now();
  await session.dispose();
  return { prompt: read - begun, single: done - read, bytes };
}

/**
 * Measures all setups in turns.
 * @returns `{ machine, rounds, prompt, single, rows }`: tokens a second of plain RoPE with f16, and for each setup its share of that speed and its
 *   bytes.
 */
export async function measureCost(rounds) {
  const rw = await load({ build: "simd", threads: 1 });
  const entry = await openEntry(rw, "small", {});
  const length = PROMPT + SINGLE;
  const { text } = textOf({ seed: 6_000_000, length });
  const opened = [];
  for (const { method, cache } of setups) {
    const setup = await Setup.open(rw, entry, { weights: "f16", cache, method, multiple: MULTIPLE }, length);
    opened.push({ setup, tokens: [...setup.model.tokenizer.encode(text)].slice(0, length) });
  }
  for (const one of opened) await round(one);
  const times = [];
  for (let i = 0; i < rounds; i++) {
    const turn = [];
    for (const one of opened) turn.push(await round(one));
    times.push(turn);
  }
  for (const { setup } of opened) setup.dispose();
  const shareOf = (i, part) => median(times.map((turn) => turn[0][part] / turn[i][part]));
  return {
    machine: `${cpus()[0]?.model.trim() ?? "an unknown processor"}, Node ${process.versions.node.split(".")[0]}`,
    rounds,
    prompt: Math.round((1000 * PROMPT) / median(times.map(([first]) => first.prompt))),
    single: Math.round((1000 * SINGLE) / median(times.map(([first]) => first.single))),
    rows: setups.map((setup, i) => ({
      ...setup,
      prompt: Number(shareOf(i, "prompt").toFixed(2)),
      single: Number(shareOf(i, "single").toFixed(2)),
      bytes: times[0][i].bytes,
    })),
  };
}

await runMain(import.meta.url, async (args) => {
  const { values } = parseArgs({
    args,
    options: { out: { type: "string" }, rounds: { type: "string", default: "5" } },
  });
  const rounds = Number(values.rounds);
  if (!(Number.isSafeInteger(rounds) && rounds > 0))
    throw new UsageError(`--rounds must be a whole number above 0 (got "${values.rounds}")`);
  const out = values.out ?? join("build", "arena");
  await mkdir(out, { recursive: true }); // a folder that can't be made is an error before anything is measured
  const cost = await measureCost(rounds);
  console.log(cost);
  await writeFile(join(out, "cost.json"), `${JSON.stringify(cost)}\n`);
  console.log(join(out, "cost.json"));
});
