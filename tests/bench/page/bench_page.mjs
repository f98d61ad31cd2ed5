// `npm run bench -- page`: this package beside others in one page of Chromium, as people install them, on the same released models.
//
//   npm test -- released                                                   fetches the models
//   python tests/bench/peers/export_page.py SMOLLM2.gguf MINILM_FOLDER     once: their formats for each package
//   npm run bench -- page           --rounds N (default 15), --threads N (default 2), --lengths 16,512,4096, --write for README.md
//
// All packages run in Workers of the page and alternate, round by round. Each gets the same texts through the functions that its users call.
import { cpus } from "node:os";
import { join } from "node:path";
import { median } from "../measure.mjs";
import { writeBetween } from "../models/report.mjs";
import { bytesOf, PACKAGES, preparePackages } from "./packages.mjs";
import { fastestEmbedder, fastestWriter, memoryOf, raceText, raceVectors, sentencesFor } from "./race.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const PROMPT = 512;
/** Tokens of the prompt with which the fastest settings are found. */
const TRIAL = 128;
const SENTENCES = 64;
const MB = 2 ** 20;

/** Caches of llama.cpp that wllama offers. */
const CACHES = [
  { type: "f16", flash: false },
  { type: "f16", flash: true },
  { type: "q8_0", flash: true },
].map((cache) => ({ cache, title: `a cache of ${cache.type}${cache.flash ? " and flash attention" : ""}` }));

/** Formats of weights that transformers.js has for wasm. */
const FORMATS = ["q4", "q8"].map((dtype) => ({ dtype, title: `weights of ${dtype}` }));

/** Texts that transformers.js embeds at once. It pads all of them to the longest. */
const BATCHES = [1, 8, 64].map((batch) => ({
  dtype: "q8",
  batch,
  title: batch === 1 ? "batches of one" : `batches of ${batch}`,
}));

/** Runs everything that is timed. Returns the contenders with their lists of milliseconds. */
async function race(page, { rounds, lengths, settings, report }) {
  const settingsOf = (kind, choices) => choices.map((own) => ({ kind, ...settings, ...own }));
  const writers = [
    { kind: "ropewalk", ...settings },
    await fastestWriter(page, settingsOf("wllama", CACHES), TRIAL, report),
    await fastestWriter(page, settingsOf("transformers", FORMATS), TRIAL, report),
  ];
  const written = await raceText(page, writers, {
    rounds,
    promptRounds: Math.ceil(rounds / 3),
    promptLength: PROMPT,
    lengths,
    report,
  });
  const texts = await sentencesFor(page, SENTENCES);
  const embedder = await fastestEmbedder(page, settingsOf("transformers", BATCHES), texts, report);
  const [ours, theirs] = await raceVectors(page, [{ kind: "ropewalk", ...settings }, embedder], { rounds, texts });
  return { writers, written, embedder, vectors: { ropewalk: ours, transformers: theirs } };
}

/** Tokens and texts per second, lists over the rounds. */
function ratesOf({ prompts, tokens }, vectors) {
  return {
    [`tokens of a prompt of ${PROMPT}`]: prompts.map((ms) => (PROMPT * 1000) / ms),
    ...Object.fromEntries(
      Object.entries(tokens).map(([length, each]) => [titleOf(length), each.map((ms) => 1000 / ms)]),
    ),
    "texts embedded": vectors?.map((ms) => (SENTENCES * 1000) / ms),
  };
}

const titleOf = (length) => `tokens after ${Number(length).toLocaleString("en")}`;

const shown = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** One row: a package's numbers, and in parentheses how many times as fast ours is in the same rounds. */
function row(title, ours, theirs) {
  const cells = Object.entries(theirs.rates).map(([key, numbers]) => {
    if (numbers === undefined) return "";
    const times = median(numbers.map((rate, i) => ours.rates[key][i] / rate)).toFixed(1);
    return theirs === ours ? shown(median(numbers)) : `${shown(median(numbers))} (${times}×)`;
  });
  return [title, ...cells, (theirs.bytes / MB).toFixed(2), Math.round(theirs.memory / MB).toString()];
}

/** Measures all packages and prints the table. Returns how many times as fast as each package this one is after the longest prompt. */
export async function benchPage(inPage, args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
  const rounds = Number(option("--rounds", 15));
  const lengths = option("--lengths", "16,512,4096").split(",").map(Number);
  const longest = lengths.at(-1);
  const settings = { threads: Number(option("--threads", 2)), contextLength: Math.max(longest, PROMPT) + 256 };
  const report = (text) => process.stderr.write(`  ${text}\n`);
  await preparePackages();

  const [raced, version] = await inPage("page/index.html", async (page) => [
    await race(page, { rounds, lengths, settings, report }),
    await page.browser().version(),
  ]);
  const results = {};
  for (const [i, writer] of raced.writers.entries()) {
    const { kind } = writer;
    const rates = ratesOf(raced.written[i], raced.vectors[kind]);
    results[kind] = { rates, bytes: await bytesOf(PACKAGES[kind]), memory: await memoryOf(inPage, writer) };
  }

  const [, wllama, transformers] = raced.writers;
  const ours = results.ropewalk;
  const head = ["per second", ...Object.keys(ours.rates), "MB to download", "MB of memory"];
  const rows = Object.entries(results).map(([kind, result]) => row(PACKAGES[kind].title, ours, result));
  const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  const date = new Date().toLocaleDateString("en", { year: "numeric", month: "long", day: "numeric" });
  const browser = version.replace(/.*Chrome\/(\d+).*/, "Chromium $1");
  const text =
    `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${settings.threads} threads, ${browser}, ${date}: medians of ${rounds} rounds (prompts: ${Math.ceil(rounds / 3)}). ` +
    `In parentheses: how many times as fast ropewalk is. wllama has ${wllama.title}, transformers.js ${transformers.title} and ` +
    `${raced.embedder.title} for embeddings, their fastest here.\n\n${table}`;
  console.log(`\n${text}`);
  if (args.includes("--write")) await writeBetween(join(root, "README.md"), "page", text);
  const key = titleOf(longest);
  return Object.entries(results)
    .filter(([kind]) => kind !== "ropewalk")
    .map(([kind, { rates }]) => ({
      name: `${key}, times ${PACKAGES[kind].title}`,
      value: median(rates[key].map((rate, i) => ours.rates[key][i] / rate)),
      unit: "×",
    }));
}
