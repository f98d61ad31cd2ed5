// Measures a model file with all contenders, in Chromium and natively. They alternate, round by round.
import { median } from "../measure.mjs";
import { hasPeer, inWorker, nativeLlama } from "./contenders.mjs";
import { CONTEXT } from "./tokens.mjs";

export const PROMPT = 512;
const EARLY = 16;
const DEEP = 4096;
const TOKENS = 8;
/** Lengths of two texts whose next tokens are compared, and how many. */
export const LENGTHS = [100, 32_000];
const LENGTH_TOKENS = 100;

/** What is measured: a key, and its heading in tables. */
export const MEASURES = {
  prompt: `prompt of ${PROMPT}`,
  early: `after ${EARLY}`,
  late: `after ${PROMPT}`,
  deep: `after ${DEEP}`,
};

/** Settings of llama.cpp's cache that are tried. The fastest is compared. */
const CACHES = [
  { cache: "f16", flash: false },
  { cache: "f16", flash: true },
  { cache: "f32", flash: false },
  { cache: "q8_0", flash: true },
];

const titleOf = ({ threads, cache, flash }) =>
  `${threads} ${threads === 1 ? "thread" : "threads"}${cache ? `, ${cache} cache${flash ? ", flash attention" : ""}` : ""}`;

const ropewalk = (page, build, threads, { isLong }) =>
  inWorker(page, `Ropewalk ${build}, ${titleOf({ threads })}`, "ropewalk_worker.mjs", {
    build,
    threads,
    context: isLong ? LENGTHS[1] + LENGTH_TOKENS : CONTEXT,
  });

/** Reading thousands of tokens takes it minutes, so it isn't measured after {@link DEEP}. */
const llamaInWasm = (page, settings) => ({
  ...inWorker(page, `llama.cpp wasm, ${titleOf(settings)}`, "llama_worker.mjs", settings),
  isSlowPrompt: true,
});

const llamaNative = (settings) => nativeLlama(`llama.cpp native, ${titleOf(settings)}`, settings);

/** Measures a prompt, and tokens after few and many. `isShort`: only tokens after few. */
async function measureRound(contender, isShort = false) {
  await contender.rewind(0);
  await contender.append(EARLY);
  const early = median(await contender.append(1, TOKENS));
  if (isShort) return { early };
  await contender.rewind(0);
  const [prompt] = await contender.append(PROMPT);
  const late = median(await contender.append(1, TOKENS));
  return { prompt, early, late };
}

/** Runs llama.cpp with each setting on a file. Returns the fastest settings by kind, `{ native, wasm }`, of those that are built. */
export async function fastestPeers(page, file, report) {
  const kinds = {
    ...(hasPeer.native() && { native: llamaNative }),
    ...(hasPeer.wasm(1) && { wasm: (settings) => llamaInWasm(page, settings) }),
  };
  const fastest = {};
  for (const [kind, contender] of Object.entries(kinds)) {
    let best = Infinity;
    for (const settings of CACHES) {
      const peer = contender({ threads: 1, ...settings });
      await peer.open(file);
      const { prompt, late } = await measureRound(peer);
      await peer.close();
      report(`${peer.name}: ${prompt.toFixed(0)} ms, ${late.toFixed(1)} ms`);
      if (prompt * late < best) [best, fastest[kind]] = [prompt * late, settings];
    }
  }
  return fastest;
}

/**
 * Measures a file with the package, the peers that are built, and the limits of this machine.
 *
 * @param page - Chromium's page, models/index.html
 * @param file - `{ path, address, isDeep, isHard, isLong }`; `isDeep` is whether to measure after 4096 tokens, too, `isHard` whether a
 *   prompt takes llama.cpp in wasm minutes, and `isLong` whether to compare a token after {@link LENGTHS}
 * @param peers - of {@link fastestPeers}
 * @returns for each contender `{ name, build, threads, facts, samples, lengths }`, where samples are milliseconds by key of {@link MEASURES},
 * a prompt's for all its tokens, and `lengths` pairs of milliseconds of a token after {@link LENGTHS}. The first is the one that the others
 * are compared with.
 */
export async function raceModel(page, file, peers, { rounds, threads, report = () => {} }) {
  const counts = [...new Set([1, threads])];
  const contenders = [
    ...counts.map((count) => ropewalk(page, "relaxed", count, file)),
    ...counts.map((count) => ropewalk(page, "simd", count, file)),
    ...counts
      .filter((count) => peers.wasm && hasPeer.wasm(count))
      .map((count) => llamaInWasm(page, { threads: count, ...peers.wasm })),
    ...counts.filter(() => peers.native).map((count) => llamaNative({ threads: count, ...peers.native })),
  ];
  const results = [];
  const open = async (contender) => {
    const facts = await contender.open(file);
    if (facts === undefined) return contender.close();
    const { build, threads } = contender.options;
    results.push({ name: contender.name, build, threads, facts, contender, samples: {} });
  };
  try {
    for (const contender of contenders) await open(contender);
    const { bytes, products } = results[0].facts;
    for (const build of ["relaxed", "simd"])
      await open(inWorker(page, `limits, ${build}`, "limits_worker.mjs", { build, bytes, products }));

    const add = ({ samples }, measured) => {
      for (const [key, ms] of Object.entries(measured)) (samples[key] ??= []).push(ms);
    };
    const measure = (contender) => measureRound(contender, file.isHard && contender.isSlowPrompt);
    for (const { contender } of results) {
      await measure(contender); // warm-up
      report(`${contender.name} is ready`);
    }
    for (let round = 0; round < rounds; round++) {
      for (const result of results) add(result, await measure(result.contender));
      report(`round ${round + 1} of ${rounds}`);
    }
    if (file.isDeep) {
      const fast = results.filter(({ contender }) => !contender.isSlowPrompt);
      for (const { contender } of fast) await contender.append(DEEP - PROMPT - TOKENS);
      for (let round = 0; round < rounds; round++) {
        for (const result of fast) {
          await result.contender.rewind(DEEP);
          add(result, { deep: median(await result.contender.append(1, TOKENS)) });
        }
      }
    }
    if (file.isLong) {
      for (const result of results.filter(
        ({ contender }) => contender.compareLengths && contender.options.threads === 1,
      )) {
        result.lengths = await result.contender.compareLengths(LENGTHS, LENGTH_TOKENS);
        report(`${result.name} read ${LENGTHS[1]} tokens`);
      }
    }
    return results.map(({ contender: _, ...result }) => result);
  } finally {
    for (const contender of contenders) await contender.close();
    for (const build of ["relaxed", "simd"])
      await page.evaluate((id) => globalThis.closeContender(id), `limits, ${build}`);
  }
}

/** Tokens per second of a result, or undefined if it wasn't measured. */
export function rateOf({ samples }, key) {
  const ms = samples[key];
  return ms && (1000 * (key === "prompt" ? PROMPT : 1)) / median(ms);
}

/** The median of the rounds' ratios: how many times as fast `result` is as `reference`. */
export const speedOver = (result, reference, key) =>
  median(reference.samples[key].map((ms, round) => ms / result.samples[key][round]));
