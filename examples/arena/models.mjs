// The models that the arena knows by name, and any other file, folder or name of the Hub.
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { english, story } from "./languages.mjs";

const small = join(import.meta.dirname, "..", "small_model");

/**
 * `weights`: sources for `rw.model()` by format, the first is the default. `tuned`: factor of a fine-tune under YaRN. `judge`: the model that says
 * which tokens need a long context (default: the model itself in windows of half its trained length). `inside`: length, as a share of the trained
 * one, of the texts that show what the model can do in its window (1). `tokens`: of all texts of a cell (4,096), one text at least. `plan`: what differs from the usual one (plan.mjs).
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
  // what two cores do in an hour
  smollm2: {
    title: "SmolLM2-135M-Instruct",
    released: "smollm2",
    format: "q4_1",
    language: english,
    inside: 1 / 8,
    tokens: 1024,
    plan: {
      multiples: [1 / 8, 1.25],
      beyond: ["perplexity"],
      judge: false,
      short: [1.25],
      seeds: 1,
      methods: ["none", "yarn", "ntk", "dynamic_yarn", "streaming"],
      others: { multiples: [1 / 8], methods: ["none"], tasks: ["perplexity"] },
    },
  },
};

/**
 * Describes a model.
 * @param name - a known one, or what `rw.model()` opens: a file, a folder, a URL, a name of the Hub.
 * @param options.trained - its trained length in tokens, if the file doesn't say.
 * @param options.quantize - further weight formats to measure, as the option `quantize` of `rw.model()`.
 */
export async function modelNamed(name, { trained, quantize = [] } = {}) {
  const entry = known[name] ?? { title: basename(name), weights: { "as is": name }, language: english };
  const weights = entry.weights ?? { [entry.format]: await releasedFile(entry.released) };
  const [source] = Object.values(weights);
  const variants = Object.entries(weights).map(([format, from]) => [format, { source: from, options: {} }]);
  const quantized = quantize.map((format) => [`to ${format}`, { source, options: { quantize: format } }]);
  return {
    inside: 1,
    tokens: 4096,
    ...entry,
    name: name in known ? name : basename(name),
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

/** The trained length of a model that says it in its config. */
export async function trainedLength(rw, { trained, weights, title }) {
  if (trained !== undefined) return trained;
  const [{ source, options }] = Object.values(weights);
  const model = await rw.model(source, { ...options, contextLength: 2 });
  const { rope_scaling, max_position_embeddings: max } = (await model.rope) ?? {};
  await model.dispose();
  const length = rope_scaling?.original_max_position_embeddings ?? max;
  if (length === undefined)
    throw new Error(`${title}: its config doesn't say the trained length: add --trained-length`);
  return length;
}
