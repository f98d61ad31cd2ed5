// `npm run bench -- deep`: a token over a long cache, in Chromium, beside native llama.cpp with each of its caches.
//
//   --files smollm2-135m.q8_0,…    shapes and types to measure
//   --depths 4096,16384            tokens in the cache. Reading them takes most of the time
//   --threads 1,2                  of the contenders, for each a run
//   --rounds N                     of one token each, alternating. Default 31
import { median } from "../measure.mjs";
import { hasPeer, inWorker, nativeLlama } from "./contenders.mjs";
import { modelFile } from "./model_file.mjs";

const FILES = "smollm2-135m.q8_0,qwen2.5-0.5b.q8_0,qwen3-0.6b.q8_0";
const ROOM = 256;
/** Tokens that ropewalk_worker.mjs reads when it opens a model. */
const READ_FIRST = 512;

/** What is measured: the package's builds with its default cache and one of 8 bits, and llama.cpp's caches that have been fastest somewhere. */
const OURS = [{ build: "relaxed" }, { build: "simd" }, { build: "relaxed", cache: "q8_0" }];
const PEERS = [
  { cache: "f16", flash: false },
  { cache: "f16", flash: true },
  { cache: "q8_0", flash: true },
];

/** Measures the files. `inPage(name, use)` opens a page. Returns lines with goals. */
export async function benchDeep(inPage, args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise).split(",");
  const [rounds] = option("--rounds", "31").map(Number);
  const lines = [];
  await inPage("models/index.html", async (page, origin) => {
    for (const name of option("--files", FILES)) {
      const [, shape, type] = /^(.*)\.(\w+)$/.exec(name);
      const { path, address } = await modelFile(shape, type);
      const file = { path, address: origin + address };
      for (const depth of option("--depths", "4096").map(Number)) {
        for (const threads of option("--threads", "1,2").map(Number))
          lines.push(...(await race(page, file, { name, depth, threads, rounds })));
      }
    }
  });
  return lines;
}

async function race(page, file, { name, depth, threads, rounds }) {
  const settings = { threads, context: Math.max(depth, READ_FIRST) + ROOM };
  const ours = OURS.map((options) =>
    inWorker(page, `${options.build}, ${options.cache ?? "f16"}`, "ropewalk_worker.mjs", { ...settings, ...options }),
  );
  const peers = hasPeer.native()
    ? PEERS.map((options) =>
        nativeLlama(`llama.cpp, ${options.cache}${options.flash ? " flash" : ""}`, { ...settings, ...options }),
      )
    : [];
  const contenders = [...ours, ...peers];
  const samples = new Map(contenders.map((contender) => [contender, []]));
  try {
    for (const contender of contenders) {
      await contender.open(file);
      await contender.rewind(0);
      await contender.append(depth);
      await contender.append(1, 3); // warm-up
      process.stderr.write(`  ${name}: ${contender.name} has read ${depth} tokens\n`);
    }
    for (let round = 0; round < rounds; round++) {
      for (const contender of contenders) {
        await contender.rewind(depth);
        samples.get(contender).push(...(await contender.append(1)));
      }
    }
  } finally {
    for (const contender of contenders) await contender.close();
  }
  const title = `${name} after ${depth}, ${threads === 1 ? "1 thread" : `${threads} threads`}`;
  const lines = contenders.map((contender) => ({
    name: `${title}: ${contender.name}`,
    value: 1000 / median(samples.get(contender)),
    unit: "tokens/s",
  }));
  // The fastest of llama.cpp's caches, by their medians.
  const fastest = peers.toSorted((a, b) => median(samples.get(a)) - median(samples.get(b)))[0];
  for (const own of fastest ? ours : []) {
    lines.push({
      name: `${title}: ${own.name}, times ${fastest.name}`,
      value: median(samples.get(fastest).map((ms, round) => ms / samples.get(own)[round])),
      unit: "×",
      target: 1,
    });
  }
  return lines;
}
