// `npm run bench -- node`: the released all-MiniLM-L6-v2 in Node by this package and by two with native add-ons, each installed from the registry
// in an empty folder: size, time to the first vector, vectors a second. Starts and calls alternate, round by round. Prints `{ lines, table }`.
//
//   --rounds N       default 7
//   --threads N      of each; default: as many as the machine has cores
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fetchReleased, releasedFolders } from "../../../scripts/setup/released.mjs";
import { capture } from "../../../scripts/run.mjs";
import { median } from "../measure.mjs";
import { install, WITHOUT_DOWNLOADS } from "./installed.mjs";

const root = join(import.meta.dirname, "..", "..", "..");
const option = (name, otherwise) =>
  Number(process.argv[process.argv.indexOf(name) + 1 || process.argv.length] ?? otherwise);
const ROUNDS = option("--rounds", 7);
const THREADS = option("--threads", availableParallelism());
const [FEW, MANY] = [1, 32];
const SENTENCE =
  "A ropewalk is the long shed where yarn is twisted into rope, strand by strand, by people who walk backwards.";
const WEIGHTS = ["32 bits", "8 bits"];
/** The lowest cosine with this package's vectors of 32 bits. */
const MIN_COSINE = { "32 bits": 0.9999, "8 bits": 0.95 };
/** Packages with the settings that are fastest here. */
const CONTENDERS = [
  { name: "ropewalk", script: "ropewalk.mjs" },
  { name: "node-llama-cpp", script: "node_llama_cpp.mjs", spec: "node-llama-cpp@3.22.1" },
  { name: "@huggingface/transformers", script: "transformers_js.mjs", spec: "@huggingface/transformers@4.3.1" },
];

const converted = join(root, "build", "peers", "minilm");
fetchReleased();
const released = releasedFolders().minilm;
if (!existsSync(join(converted, "minilm-q8_0.gguf")))
  throw new Error(
    `the model isn't converted: run python tests/bench/peers/export_minilm.py ${released} build/peers/minilm`,
  );

/** The tarball that `npm pack` makes of the build in dist/. */
async function ownTarball() {
  const folder = join(root, "build");
  const [{ filename }] = JSON.parse(
    await capture("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: root }),
  );
  return join(folder, filename);
}

/** Starts a contender. Returns milliseconds from the start of its process to its first vector, and what asks it for more. */
async function start({ folder, script }, weights) {
  const options = { released, converted, weights, threads: THREADS };
  const begin = performance.now();
  const child = spawn(
    process.execPath,
    [...process.execArgv, "child.mjs", join(folder, script), JSON.stringify(options)],
    {
      cwd: folder,
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${script} ended`);
    return value;
  };
  await answer();
  const first = performance.now() - begin;
  return {
    first,
    embed: async (texts) => {
      child.stdin.write(`${JSON.stringify(texts)}\n`);
      return JSON.parse(await answer());
    },
    close: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
    },
  };
}

const texts = (count) => Array.from({ length: count }, (_, i) => `${i}. ${SENTENCE}`);
const cosine = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** Samples of each contender with some weights: milliseconds to the first vector, for one text and for many, and the vectors of many. */
async function race(contenders, weights) {
  const rows = contenders.map((contender) => ({ ...contender, weights, samples: { first: [], few: [], many: [] } }));
  for (let round = 0; round < ROUNDS; round++)
    for (const row of rows) {
      const started = await start(row, weights);
      row.samples.first.push(started.first);
      await started.close();
    }
  const running = [];
  for (const row of rows) running.push({ row, ...(await start(row, weights)) });
  for (const { row, embed } of running) row.vectors = (await embed(texts(MANY))).vectors; // warm-up
  for (let round = 0; round < ROUNDS; round++)
    for (const { row, embed } of running) {
      row.samples.few.push((await embed(texts(FEW))).ms / FEW);
      row.samples.many.push((await embed(texts(MANY))).ms / MANY);
    }
  for (const { close } of running) await close();
  return rows;
}

const installed = [];
for (const contender of CONTENDERS) {
  const facts = await install(contender.name, contender.spec ?? (await ownTarball()));
  for (const file of ["child.mjs", contender.script])
    await copyFile(join(import.meta.dirname, file), join(facts.folder, file));
  installed.push({ ...contender, ...facts });
}
const rows = [];
for (const weights of WEIGHTS) rows.push(...(await race(installed, weights)));
const [exact] = rows;
for (const row of rows) {
  row.cosine = Math.min(...row.vectors.map((vector, i) => cosine(vector, exact.vectors[i])));
  if (!(row.cosine >= MIN_COSINE[row.weights]))
    throw new Error(`${row.name}, ${row.weights}: the vectors differ, cosine ${row.cosine}`);
}

const tableOf = (head, body) =>
  [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
const installs = tableOf(
  ["package", "installed", "packages", "native add-ons", "scripts that npm runs"],
  installed.map(({ name, version, megabytes, packages, addOns, scripts }) => [
    `${name} ${version}`,
    `${megabytes.toFixed(0)} MB`,
    packages,
    addOns,
    scripts.join(", ") || "none",
  ]),
);
const failures = installed
  .filter(({ failure }) => failure !== undefined)
  .map(
    ({ name, failure }) =>
      `\`npm install ${name}\` failed with \`${failure}\`, and was repeated with \`${WITHOUT_DOWNLOADS}\`.`,
  );
const rate = (samples) => (1000 / median(samples)).toFixed(0);
const threads = THREADS === 1 ? "one thread" : `${THREADS} threads`;
const speeds = tableOf(
  ["weights", "package", "first vector", "one text, vectors/s", `${MANY} texts, vectors/s`, "lowest cosine"],
  rows.map(({ weights, name, samples, cosine: lowest }) => [
    weights,
    name,
    `${(median(samples.first) / 1000).toFixed(2)} s`,
    rate(samples.few),
    rate(samples.many),
    lowest.toFixed(4),
  ]),
);
const lines = rows
  .filter(({ name }) => name !== exact.name)
  .flatMap(({ name, weights, samples }) => {
    const ours = rows.find((row) => row.name === exact.name && row.weights === weights);
    const titles = { first: "first vector", few: "one text", many: `${MANY} texts` };
    return Object.entries(titles).map(([key, title]) => ({
      name: `${weights}, ${threads}, ${title}: ropewalk, times ${name}`,
      value: median(samples[key].map((ms, round) => ms / ours.samples[key][round])),
      unit: "×",
    }));
  });
console.log(JSON.stringify({ lines, table: [installs, ...failures, speeds].join("\n\n") }));
