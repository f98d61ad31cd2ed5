// The models that the arena knows by name, and any other file, folder or name of the Hub.
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { english, story } from "./languages.mjs";
import { methods } from "./methods.mjs";

const small = join(import.meta.dirname, "..", "small_model");
const tuned = join(import.meta.dirname, "..", "..", "build", "small_model_tuned");
/** The methods of which each has its own weights. */
const fineTuned = Object.keys(methods).filter((method) => methods[method].weights !== undefined);

/**
 * `weights`: sources for `rw.model()` by format, the first is the default. `tuned`: factor of a fine-tune under YaRN. `judge`: the model that says
 * which tokens need a long context (default: the model itself in windows of half its trained length). `inside`: length, as a share of the trained
 * one, of the texts that show what the model can do in its window (1). `tokens`: of all texts of a cell (4,096), one text at least. `plan`: what differs from the usual one (plan.mjs).
 * `fineTunes`: folders of the methods' own weights. `name`: of the model in cells, if another.
 */
export const known = {
  small: {
    title: "the small model",
    weights: { f16: small, q8_0: join(small, "model.q8_0.gguf") },
    language: story,
    judge: "small-yarn",
  },
  "small-yarn": {
    title: "the small model, fine-tuned under YaRN × 4",
    weights: { f16: join(small, "yarn") },
    language: story,
    tuned: 4,
    trained: 256,
    judge: "small-yarn",
  },
  // the small model again, under methods that have their own weights
  "small-tuned": {
    title: "the small model, fine-tuned once with each method",
    name: "small",
    weights: { f16: small },
    fineTunes: Object.fromEntries(
      fineTuned.map((method) => methods[method].weights).map((name) => [name, join(tuned, name)]),
    ),
    language: story,
    trained: 256,
    judge: "small-yarn",
    plan: { methods: fineTuned, tasks: ["perplexity", "passkey", "multi_key"], short: [], caches: ["f16"] },
  },
  // a reading of one and a half windows takes five minutes of a core, so the order is that of what matters most
  smollm2: {
    title: "SmolLM2-135M-Instruct",
    released: "smollm2",
    format: "q4_1",
    language: english,
    inside: 1 / 8,
    tokens: 1024,
    plan: {
      multiples: [1 / 8, 1.5],
      beyond: ["perplexity", "passkey"],
      judge: false,
      short: [2, 4],
      seeds: 2,
      methods: [
        "none",
        "rerope",
        "yarn",
        "ntk",
        "dynamic_yarn",
        "self_extend",
        "dual_chunk",
        "streaming",
        "lm_infinite",
        "ntk_by_parts",
        "dynamic_ntk",
        "pi",
      ],
      others: { multiples: [1 / 8], methods: ["none"], tasks: ["perplexity"] },
    },
  },
};

/** A model of one's own. What it does in its window is shown by the longest texts that were asked for and fit into it. */
function ownModel(source, lengths) {
  const title = basename(existsSync(source) ? resolve(source) : source.split(/[?#]/)[0]);
  const within = lengths.filter((length) => length <= 1);
  return { title, weights: { "as is": source }, language: english, inside: Math.max(...within, within.length ? 0 : 1) };
}

/**
 * Describes a model.
 * @param name - a known one, or what `rw.model()` opens: a file, a folder, a URL, a name of the Hub.
 * @param options.trained - its trained length in tokens, if the file doesn't say.
 * @param options.quantize - further weight formats to measure, as the option `quantize` of `rw.model()`.
 * @param options.lengths - lengths of texts that were asked for, as multiples of the trained one.
 */
export async function modelNamed(name, { trained, quantize = [], lengths = [] } = {}) {
  const isKnown = Object.hasOwn(known, name);
  const entry = isKnown ? known[name] : ownModel(name, lengths);
  const weights = entry.weights ?? { [entry.format]: await releasedFile(entry.released) };
  const [source] = Object.values(weights);
  const variants = Object.entries(weights).map(([format, from]) => [format, { source: from, options: {} }]);
  const quantized = quantize.map((format) => [`to ${format}`, { source, options: { quantize: format } }]);
  return {
    inside: 1,
    tokens: 4096,
    ...entry,
    known: isKnown ? name : undefined,
    name: isKnown ? (entry.name ?? name) : entry.title.replace(/[^\w.+-]+/g, "_"),
    trained: trained ?? entry.trained,
    weights: Object.fromEntries([...variants, ...quantized]),
  };
}

/** A released model that the tests fetch by checksum. */
async function releasedFile(package_) {
  const { releasedFolders } = await import("../../scripts/setup/released.mjs");
  const folder = releasedFolders()[package_];
  if (!existsSync(folder)) throw new Error(`${package_} isn't here: node scripts/setup/released.mjs fetches it`);
  return join(
    folder,
    readdirSync(folder).find((file) => file.endsWith(".gguf")),
  );
}

/** Tokens that are read to measure the speed. */
const PROBE = 64;

/**
 * Adds to a model's entry what only the opened model says: its trained length, how many seconds a token takes, and the tokens of a text of one's own.
 * @param options - as of {@link modelNamed}, and `prose`: the text.
 */
export async function opened(rw, entry, { trained, prose } = {}) {
  const [{ source, options }] = Object.values(entry.weights);
  const model = await rw.model(source, { ...options, contextLength: PROBE });
  try {
    const rope = (await model.rope) ?? {};
    const length = entry.trained ?? rope.rope_scaling?.original_max_position_embeddings ?? rope.max_position_embeddings;
    if (length === undefined)
      throw new Error(`${entry.title}: its config doesn't say the trained length: add --trained-length`);
    const { seconds, losses } = await probed(model);
    const own = entry.known === undefined;
    const marks = { ...(own && { losses, rope, inside: entry.inside }), ...((own || trained) && { length }), prose };
    const isMarked = own || trained !== undefined || prose !== undefined;
    return {
      ...entry,
      name: isMarked ? `${entry.name}-${hashOf(marks)}` : entry.name,
      trained: length,
      secondsPerToken: seconds,
      textTokens: prose === undefined ? undefined : (await model.tokenizer.encode(prose)).length,
    };
  } finally {
    await model.dispose();
  }
}

/** How fast a model reads, and losses that no other weights have. */
async function probed(model) {
  const tokens = [...(await model.tokenizer.encode("The grass is green. ".repeat(PROBE)))].slice(0, PROBE);
  const read = () => model.perplexity(tokens, { window: PROBE });
  const { losses } = await read(); // the first time is slower
  const begun = performance.now();
  await read();
  return { seconds: (performance.now() - begun) / 1000 / PROBE, losses: [...losses] };
}

/** Tells apart what cells are measured of: the same weights, trained length, window and text give the same eight digits. */
const hashOf = (marks) => createHash("sha256").update(JSON.stringify(marks)).digest("hex").slice(0, 8);
