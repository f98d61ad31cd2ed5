// Released models (scripts/setup/released.mjs) in Node with one thread: SmolLM2-135M-Instruct in Q4_1 beside native llama.cpp, and all-MiniLM-L6-v2
// beside sentence-transformers. All alternate, round by round. Prints `{ lines, table }`.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { load } from "../../../dist/index.node.js";
import { fetchReleased, releasedFolders } from "../../../scripts/setup/released.mjs";
import { referenceEnvironment, referencePython } from "../../../scripts/setup/python.mjs";
import { median, timed } from "../measure.mjs";
import { tokensAt } from "../models/tokens.mjs";

const ROUNDS = Number(process.argv[2] ?? 7);
const [PROMPT, EARLY, TOKENS] = [512, 16, 8];
/** Two sentences for a search, and as many as a page of results has. */
const [FEW, MANY] = [1, 32];
const SENTENCE =
  "A ropewalk is the long shed where yarn is twisted into rope, strand by strand, by people who walk backwards.";

fetchReleased();
const released = releasedFolders();
const smollm2 = join(released.smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf");
const builds = ["relaxed", "simd"];
const runtimes = await Promise.all(builds.map((build) => load({ build, threads: 1 })));

/** A program that answers each line with numbers. */
async function program(script, ...args) {
  const child = spawn(referencePython(), [join(import.meta.dirname, script), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...referenceEnvironment },
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${script} ended`);
    return value;
  };
  await answer(); // ready
  return {
    ask: async (line) => {
      child.stdin.write(`${line}\n`);
      return (await answer()).trim().split(" ").map(Number);
    },
    close: () => child.stdin.end(),
  };
}

async function ropewalkText(rw) {
  const model = await rw.model(smollm2, { contextLength: 1024 });
  const session = model.session();
  return {
    append: async (count, times = 1) => {
      const samples = [];
      for (; times > 0; times--) {
        const tokens = tokensAt(session.length, count);
        samples.push(await timed(async () => (await session.append(tokens), session.logits())));
      }
      return samples;
    },
    rewind: (length) => session.rewind(length),
    close: () => model.dispose(),
  };
}

async function llamaText() {
  const { ask, close } = await program("llama_cpp_driver.py", smollm2, "1");
  return {
    append: (count, times = 1) => ask(`append ${count} ${times}`),
    rewind: (length) => ask(`rewind ${length} 1`),
    close,
  };
}

async function measureText(contender) {
  await contender.rewind(0);
  await contender.append(EARLY);
  const early = median(await contender.append(1, TOKENS));
  await contender.rewind(0);
  const [prompt] = await contender.append(PROMPT);
  return { prompt: prompt / PROMPT, early, late: median(await contender.append(1, TOKENS)) };
}

async function ropewalkVectors(rw) {
  const model = await rw.model(released.minilm);
  return { embed: (texts) => timed(() => model.embed(texts)), close: () => model.dispose() };
}

async function theirVectors() {
  const { ask, close } = await program("sentence_transformers_driver.py", released.minilm);
  return { embed: async (texts) => (await ask(JSON.stringify(texts)))[0], close };
}

async function measureVectors({ embed }) {
  const texts = (count) => Array.from({ length: count }, (_, i) => `${i}. ${SENTENCE}`);
  return { few: (await embed(texts(FEW))) / FEW, many: (await embed(texts(MANY))) / MANY };
}

/** Milliseconds of each contender by key and round. */
async function race(contenders, measure) {
  const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (const contender of Object.values(contenders)) await measure(contender); // warm-up
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, contender] of Object.entries(contenders)) samples[name].push(await measure(contender));
  for (const { close } of Object.values(contenders)) await close();
  return samples;
}

/** Rows of a table: how many times as fast as the peer, which is the last contender and has rates. */
function rowsOf(samples, titles) {
  const names = Object.keys(samples);
  const peer = samples[names.at(-1)];
  const cell = (name, key) => {
    const rate = 1000 / median(samples[name].map((round) => round[key]));
    const ratio = median(samples[name].map((round, i) => peer[i][key] / round[key]));
    return { rate, ratio };
  };
  return names.map((name) => ({ name, cells: Object.keys(titles).map((key) => cell(name, key)) }));
}

function tableOf(unit, rows, titles) {
  const shown = ({ rate, ratio }, isPeer) =>
    `${rate.toFixed(rate >= 100 ? 0 : 1)}${isPeer ? "" : ` (${ratio.toFixed(2)}×)`}`;
  const lines = [
    [unit, ...Object.values(titles)],
    ["---", ...Object.values(titles).map(() => "---")],
    ...rows.map(({ name, cells }, i) => [name, ...cells.map((cell) => shown(cell, i === rows.length - 1))]),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const contendersOf = async (open, peerName, openPeer) => {
  const own = await Promise.all(runtimes.map(open));
  return {
    ...Object.fromEntries(builds.map((build, i) => [`Ropewalk ${build}`, own[i]])),
    [peerName]: await openPeer(),
  };
};
const lines = [];
const tables = [];
for (const [model, unit, titles, measure, ...contenders] of [
  [
    "SmolLM2-135M-Instruct, Q4_1",
    "tokens/s",
    { prompt: `prompt of ${PROMPT}`, early: `after ${EARLY}`, late: `after ${PROMPT}` },
    measureText,
    ropewalkText,
    "llama.cpp native",
    llamaText,
  ],
  [
    "all-MiniLM-L6-v2, F32",
    "texts/s",
    { few: "one text", many: `${MANY} texts` },
    measureVectors,
    ropewalkVectors,
    "sentence-transformers",
    theirVectors,
  ],
]) {
  const rows = rowsOf(await race(await contendersOf(...contenders), measure), titles);
  tables.push(`**${model}**\n\n${tableOf(unit, rows, titles)}`);
  const peer = rows.at(-1).name;
  for (const { name, cells } of rows.slice(0, -1))
    Object.values(titles).forEach((title, i) =>
      lines.push({ name: `${model}, ${name}: ${title}, times ${peer}`, value: cells[i].ratio, unit: "×" }),
    );
}
console.log(JSON.stringify({ lines, table: tables.join("\n\n") }));
