// Runs packages in Workers of one page, in turn, round by round.
import { readFile } from "node:fs/promises";
import { PACKAGES } from "./packages.mjs";

/** Opens a contender in a Worker of the page, uses it, and ends the Worker. */
async function withContender(page, { kind, ...options }, purpose, use) {
  const id = JSON.stringify({ kind, ...options, purpose });
  const { worker, [purpose]: source } = PACKAGES[kind];
  await page.evaluate((...args) => globalThis.openContender(...args), id, worker, { [purpose]: source }, options);
  const call = (method, ...args) => page.evaluate((...all) => globalThis.callContender(...all), id, method, ...args);
  try {
    return await use(call);
  } finally {
    await page.evaluate((id) => globalThis.closeContender(id), id);
  }
}

/** Opens several contenders at once. */
async function withContenders(page, contenders, purpose, use, calls = []) {
  const [next, ...rest] = contenders;
  if (next === undefined) return use(calls);
  return withContender(page, next, purpose, (call) => withContenders(page, rest, purpose, use, [...calls, call]));
}

const promptFor = (page, seed, length) =>
  page.evaluate(async (...args) => (await import("../page/texts.mjs")).promptOf(...args), seed, length);

/** The contender that takes least time, of several settings of one package. `measure` returns milliseconds. */
async function fastest(page, contenders, purpose, measure, report) {
  const times = [];
  for (const contender of contenders) {
    const ms = await withContender(page, contender, purpose, measure);
    report(`${contender.title ?? contender.kind}: ${ms.toFixed(1)} ms`);
    times.push(ms);
  }
  return contenders[times.indexOf(Math.min(...times))];
}

/** Of settings of a package that writes: the ones with which a token after a prompt takes least time. */
export const fastestWriter = (page, contenders, length, report) =>
  fastest(
    page,
    contenders,
    "text",
    async (call) => {
      await call("read", await promptFor(page, 1, length));
      await call("write"); // warm-up
      return call("write");
    },
    report,
  );

/** Of settings of a package that embeds: the ones with which all texts take least time. */
export const fastestEmbedder = (page, contenders, texts, report) =>
  fastest(
    page,
    contenders,
    "vectors",
    async (call) => {
      await call("embed", texts);
      return call("embed", texts);
    },
    report,
  );

/** The texts that are embedded. */
export const sentencesFor = (page, count) =>
  page.evaluate(async (count) => (await import("../page/texts.mjs")).sentences(count), count);

// Threads of onnxruntime-web wait for their next job for a moment, and would take the processors from the next package.
const pause = () => new Promise((resolve) => setTimeout(resolve, 300));

/** What `task(call, round)` gives for each contender: lists over the rounds. */
async function inTurn(calls, rounds, task) {
  const samples = calls.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, call] of calls.entries()) {
      await pause();
      samples[i].push(await task(call, round));
    }
  return samples;
}

/**
 * Milliseconds of prompts, all new, and of each token after a prompt, which is read once. For each contender: `prompts`, and `tokens` with a list
 * for each length.
 */
export async function raceText(page, contenders, { rounds, promptRounds, promptLength, lengths, report }) {
  return withContenders(page, contenders, "text", async (calls) => {
    await inTurn(calls, 1, async (call) => call("read", await promptFor(page, 1, 16))); // warm-up
    const prompts = await inTurn(calls, promptRounds, async (call, round) =>
      call("read", await promptFor(page, 10 + round, promptLength)),
    );
    report("prompts are measured");
    const tokens = {};
    for (const length of lengths) {
      await inTurn(calls, 1, async (call) => call("read", await promptFor(page, 2, length)));
      await inTurn(calls, 1, (call) => call("write")); // warm-up
      tokens[length] = await inTurn(calls, rounds, (call) => call("write"));
      report(`tokens after ${length} are measured`);
    }
    return contenders.map((_, i) => ({
      prompts: prompts[i],
      tokens: Object.fromEntries(lengths.map((length) => [length, tokens[length][i]])),
    }));
  });
}

/** Milliseconds for the texts of a batch: for each contender a list over the rounds. */
export async function raceVectors(page, contenders, { rounds, texts }) {
  return withContenders(page, contenders, "vectors", async (calls) => {
    const embed = (call) => call("embed", texts);
    await inTurn(calls, 1, embed); // warm-up
    return inTurn(calls, rounds, embed);
  });
}

/** Bytes that Chromium's processes hold once a contender has read 512 tokens, beyond those of the page without it. */
export async function memoryOf(inPage, contender) {
  return inPage("page/index.html", async (page) => {
    const session = await page.browser().target().createCDPSession();
    const resident = async () => {
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      const statuses = await Promise.all(
        processInfo.map(({ id }) => readFile(`/proc/${id}/status`, "utf8").catch(() => "")),
      );
      return statuses.reduce((sum, status) => sum + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024, 0);
    };
    const before = await resident();
    return withContender(page, contender, "text", async (call) => {
      await call("read", await promptFor(page, 1, 512));
      return (await resident()) - before;
    });
  });
}
