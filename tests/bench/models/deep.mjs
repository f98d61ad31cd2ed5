// `npm run bench -- deep`: a token over a long cache, in Chromium, beside native llama.cpp with each of its caches, and beside its bound.
//
//   --files smollm2-135m.q8_0,…    shapes to measure, of weights in Q8_0
//   --depths 4096,16384            tokens in the cache, multiples of 512
//   --threads 1,2                  of the contenders, for each a run
//   --caches f16,f32,q8_0          those of the package. Default f16, which is its own default
//   --peers f16,f16-flash,q8_0-flash    those of llama.cpp
//   --rounds N                     of one token each, alternating. Default 31
//
// A cache of N tokens has the keys and values of 512 several times (repeated_session.mjs), so that nobody reads a long prompt.
import { median } from "../measure.mjs";
import { SHAPES } from "../random_model/shapes.mjs";
import { hasPeer, inWorker, nativeLlama } from "./contenders.mjs";
import { modelFile } from "./model_file.mjs";

const FILES = "smollm2-135m.q8_0,qwen2.5-0.5b.q8_0,qwen3-0.6b.q8_0";
const ROOM = 256;
const READ = 512;
const BUILDS = ["relaxed", "simd"];

/** Measures the files. `inPage(name, use)` opens a page. Returns lines with goals. */
export async function benchDeep(inPage, args) {
  const option = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise).split(",");
  const [rounds] = option("--rounds", "31").map(Number);
  const caches = option("--caches", "f16");
  const peers = option("--peers", "f16,f16-flash,q8_0-flash");
  const depths = option("--depths", "4096,16384").map(Number);
  if (depths.some((depth) => !(depth > 0) || depth % READ !== 0))
    throw new Error(`--depths are multiples of ${READ} (got ${depths})`);
  const lines = [];
  await inPage("models/index.html", async (page, origin) => {
    for (const name of option("--files", FILES)) {
      const [, shape, type] = /^(.*)\.(\w+)$/.exec(name);
      if (type !== "q8_0") throw new Error(`--files are of q8_0, as the bound is (got ${name})`);
      const { path, address } = await modelFile(shape, type);
      const file = { path, address: origin + address };
      for (const depth of depths) {
        for (const threads of option("--threads", "1,2").map(Number))
          lines.push(...(await race(page, file, { name, shape, depth, threads, rounds, caches, peers })));
      }
    }
  });
  return lines;
}

async function race(page, file, { name, shape, depth, threads, rounds, caches, peers: ofLlama }) {
  const settings = { threads, context: depth + ROOM };
  const samples = new Map();
  const ours = caches.flatMap((cache) =>
    BUILDS.map((build) => {
      const worker = inWorker(page, `${build}, ${cache}`, "ropewalk_worker.mjs", { ...settings, build, cache });
      return { ...worker, build, cache };
    }),
  );
  const peers = (hasPeer.native() ? ofLlama : []).map((option) => {
    const [cache, flash] = option.split("-");
    return nativeLlama(`llama.cpp, ${option.replace("-", " ")}`, { ...settings, cache, flash: flash !== undefined });
  });
  const bounds = BUILDS.map((build) => boundOf(page, build, { shape, depth, threads }));
  const texts = [...ours, ...peers];
  try {
    let bytes;
    for (const contender of texts) {
      ({ bytes = bytes } = await contender.open(file));
      await contender.rewind(0);
      await contender.append(READ);
      await contender.repeat(depth / READ);
      await contender.append(1, 3); // warm-up
      process.stderr.write(`  ${name}: ${contender.name} has ${depth} tokens\n`);
    }
    for (const bound of bounds) {
      await bound.open({ bytes });
      await bound.append();
    }
    const contenders = [...texts, ...bounds];
    for (const contender of contenders) samples.set(contender, []);
    for (let round = 0; round < rounds; round++) {
      for (const contender of contenders) {
        await contender.rewind?.(depth);
        samples.get(contender).push(...(await contender.append(1)));
      }
    }
  } finally {
    for (const contender of [...texts, ...bounds]) await contender.close();
  }
  const times = (one, other) => median(samples.get(other).map((ms, round) => ms / samples.get(one)[round]));
  const title = `${name} after ${depth}, ${threads === 1 ? "1 thread" : `${threads} threads`}`;
  const lines = [...samples].map(([contender, ms]) => ({
    name: `${title}: ${contender.name}`,
    value: 1000 / median(ms),
    unit: "tokens/s",
  }));
  // The fastest of llama.cpp's caches, by their medians.
  const [fastest] = peers.toSorted((a, b) => median(samples.get(a)) - median(samples.get(b)));
  for (const own of ours) {
    const add = (what, value, target) => lines.push({ name: `${title}: ${what}`, value, unit: "×", target });
    if (fastest) add(`${own.name}, times ${fastest.name}`, times(own, fastest), own.cache === "f16" ? 1 : undefined);
    if (own.cache !== "f16") continue;
    const bound = bounds.find(({ build }) => build === own.build);
    if (fastest) add(`${bound.name}, times ${fastest.name}`, times(bound, fastest));
    add(`${own.name}, share of its bound`, times(own, bound), 0.9);
    add(`${bound.name}, share of attention in it`, median(bound.shares));
  }
  return lines;
}

/** Loops of nothing but the products and the attention of a token, on as many threads. */
function boundOf(page, build, { shape, depth, threads }) {
  const { layers, heads, kvHeads, headDim } = SHAPES[shape];
  const workers = Array.from(
    { length: threads },
    (_, thread) => (settings) =>
      inWorker(page, `bound, ${build}, ${thread}`, "deep_limits_worker.mjs", {
        ...{ build, threads, depth, layers, heads, kvHeads, headDim },
        ...settings,
      }),
  );
  let opened = [];
  const shares = []; // of attention in the time of the slowest thread
  return {
    name: `the bound of ${build}`,
    build,
    shares,
    async open(settings) {
      opened = workers.map((make) => make(settings));
      for (const worker of opened) await worker.open({});
    },
    async append() {
      const parts = await Promise.all(opened.map((worker) => worker.append(1)));
      const [[products, attention]] = parts.map(([part]) => part).toSorted((a, b) => b[0] + b[1] - a[0] - a[1]);
      shares.push(attention / (products + attention));
      return [products + attention];
    },
    async close() {
      for (const worker of opened) await worker.close();
    },
  };
}
