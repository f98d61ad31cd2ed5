// Benchmark cases of whole models: one token after 16, 512 and 4096, a prompt of 512, memory and loading. Compared with the limits of this
// run, and with wllama (llama.cpp in wasm) on the same file in the same page.
import { median } from "./measure.mjs";

const MB = 2 ** 20;
const PROMPT = 512;
const ROUNDS = 5;
const TOKENS_PER_ROUND = 8;
/** Multiply-adds in one step of integer_dot: 4 × 2 tiles of 32 bytes, or of 16 16-bit integers. */
const PRODUCTS_PER_STEP = { simd: 8 * 16, relaxed: 8 * 32 };
const DECODE_TARGETS = { q8_0: 0.55, q4_0: 0.3, q4_k: 0.3 };
const PROMPT_TARGETS = { q8_0: 0.45, q4_0: 0.4 };

const tokensOf = (count) => Array.from({ length: count }, (_, i) => 3 + ((i * 37) % 200));
/** A text of `count` tokens, one for each letter. */
export const textOf = (count) =>
  Array.from({ length: count }, (_, i) => String.fromCharCode(97 + ((i * 7) % 26))).join("");

/** Duration of an asynchronous call in milliseconds. */
async function timed(call) {
  const start = performance.now();
  await call();
  return performance.now() - start;
}

/**
 * @param source - URL or path of the model; `readFile` reads its bytes and discards them.
 * @param peer - `{ prompt, decode }` in tokens per second, from {@link measureWllama}; undefined to skip the comparison.
 */
export async function runModelCases({
  rw,
  module,
  build,
  source,
  readFile,
  shape,
  format,
  peer,
  depth = true,
  report,
}) {
  const name = `${shape} ${format}`;
  const line = (what, value, unit, target, better) =>
    report({
      name: `${name}: ${what}`,
      value,
      unit,
      ...(target !== undefined && { target }),
      ...(better && { better }),
    });

  await readFile(); // fills the system's file cache
  const memoryBefore = rw.memoryBytes;
  const reading = await timed(readFile);
  let model;
  const loading = await timed(async () => (model = await rw.model(source, { contextLength: 8192 })));
  const { weights } = model.info.memory;
  line("loading, time relative to reading the file", loading / reading, "×", 1.3, "less");

  const session = model.session();
  const bandwidth = bandwidthOf(rw, module, weights);
  const decode = async () => {
    const samples = [];
    for (let i = 0; i < TOKENS_PER_ROUND; i++) samples.push(await timed(() => session.append([40 + i])));
    return median(samples);
  };
  const after = async (length) => {
    const missing = length - session.length;
    if (missing > 0) await session.append(tokensOf(missing));
    session.rewind(length - 1);
    await session.append([40]);
    return decode();
  };

  await after(16);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    session.rewind(0);
    rounds.push({ early: await after(16), read: bandwidth.read(), late: await after(PROMPT) });
  }
  const early = median(rounds.map((round) => round.early));
  line("one token after 16", 1000 / early, "tokens/s");
  line(
    "one token after 16, share of the bound (reading the weights)",
    median(rounds.map(({ early: ms, read }) => read / ms)),
    "×",
    DECODE_TARGETS[format],
  );
  line(
    `one token after ${PROMPT}, speed relative to after 16`,
    median(rounds.map(({ early: a, late: b }) => a / b)),
    "×",
    0.85,
  );
  bandwidth.dispose();

  const peak = peakOf(rw, module, build);
  const products = productsOf(model.info, shape) * PROMPT;
  const prompts = [];
  for (let round = 0; round < 3; round++) {
    session.rewind(0);
    const ms = await timed(() => session.append(tokensOf(PROMPT)));
    prompts.push({ ms, share: products / peak.measure() / ms });
  }
  peak.dispose();
  const promptRate = (1000 * PROMPT) / median(prompts.map(({ ms }) => ms));
  line(`prompt of ${PROMPT}`, promptRate, "tokens/s");
  line(
    `prompt of ${PROMPT}, share of the integer peak`,
    median(prompts.map(({ share }) => share)),
    "×",
    PROMPT_TARGETS[format],
  );

  if (depth) line("one token after 4096, speed relative to after 16", early / (await after(4096)), "×", 0.4);
  const over = rw.memoryBytes - memoryBefore - weights - session.bytes;
  line("memory beyond weights and cache", over / MB, "MB", 64, "less");
  if (peer !== undefined) {
    line("one token after 16, compared with wllama", 1000 / early / peer.decode, "× faster", 8);
    line(`prompt of ${PROMPT}, compared with wllama`, promptRate / peer.prompt, "× faster", 5);
  }
  session.dispose();
  model.dispose();
}

/** Measures reading as many bytes as the weights have, in milliseconds. */
function bandwidthOf(rw, module, bytes) {
  const size = Math.min(bytes, 128 * MB);
  const memory = rw.tensor([size / 4]);
  const read = () => {
    const start = performance.now();
    module._read_bytes(memory.data.byteOffset, size, 2);
    return ((performance.now() - start) / 2) * (bytes / size);
  };
  read();
  return { read, dispose: () => memory.dispose() };
}

/** Measures integer multiply-adds per millisecond. */
function peakOf(rw, module, build) {
  const memory = rw.tensor([2048]);
  const steps = 2e6;
  const measure = () => {
    const start = performance.now();
    module._integer_dot(memory.data.byteOffset, memory.data.byteOffset + 4096, steps);
    return (steps * PRODUCTS_PER_STEP[build === "relaxed" ? "relaxed" : "simd"]) / (performance.now() - start);
  };
  measure();
  return { measure, dispose: () => memory.dispose() };
}

/** Multiply-adds with weights for one prompt token, without the output head. */
function productsOf({ parameters, vocabularySize, hiddenSize }) {
  return parameters - vocabularySize * hiddenSize;
}

/** wllama's own timings for the same file, with one thread and no GPU. */
export async function measureWllama({ Wllama, wasm, blob }) {
  const wllama = new Wllama(
    { default: wasm },
    { suppressNativeLog: true, logger: { debug() {}, log() {}, warn() {}, error: console.error } },
  );
  await wllama.loadModel([blob], { n_threads: 1, n_gpu_layers: 0, n_ctx: 1024 });
  const complete = async (prompt, max_tokens) =>
    (await wllama.createCompletion({ prompt, max_tokens, temperature: 0, cache_prompt: false, ignore_eos: true }))
      .timings;
  await complete(textOf(16), 4);
  const decodes = [];
  for (let i = 0; i < 3; i++) decodes.push((await complete(textOf(16), 16)).predicted_per_second);
  const prompts = [];
  for (let i = 0; i < 2; i++) prompts.push((await complete(`${i}${textOf(PROMPT - 1)}`, 1)).prompt_per_second);
  await wllama.exit();
  return { decode: median(decodes), prompt: median(prompts) };
}
